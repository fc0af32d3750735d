"""A query against an index: its terms with their statistics, what features read of candidates, and the searches for
candidates."""
