"""Vectors of posts by a bi-encoder: written in blocks that survive a kill, kept beside the terms."""
