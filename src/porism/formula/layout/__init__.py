"""The layout tree of a formula: which symbol is next to, above or below which."""
