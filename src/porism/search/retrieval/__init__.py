"""A query against an index: its terms with statistics, candidates, and what features read of them."""
