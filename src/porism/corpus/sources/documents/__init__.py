"""Readers of documents: each section becomes a post."""
