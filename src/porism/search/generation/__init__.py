"""Answers written by a language model: the endpoint, the text, its citations."""
