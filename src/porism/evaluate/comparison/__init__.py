"""Comparison of runs: significance tests, correlations, coverage by the judgments, subsets of topics."""
