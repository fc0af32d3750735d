"""The inverted index: dictionaries of terms, posting lists, and search with any weighting."""
