"""Vectors of posts by a bi-encoder: written in blocks that survive a kill, kept as mapped files, searched exactly or by a vector index."""
