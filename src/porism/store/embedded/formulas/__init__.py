"""The index of distinct formulas."""
