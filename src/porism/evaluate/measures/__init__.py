"""Measures: their definitions, the prime filter, and the scores of a run by trec_eval."""
