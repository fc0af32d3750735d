"""Concepts are learned here, from the occurrences of names and formulas in posts."""
