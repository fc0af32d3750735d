"""A query becomes a ranking, with reasons."""
