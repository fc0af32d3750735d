"""Which terms a text or a formula has, and what is learned from a collection."""
