"""Measures, the prime filter, and the scores of a run."""
