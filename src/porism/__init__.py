"""Porism: a math-aware search engine and the lab that measures it."""

__version__ = "0.1.0"
