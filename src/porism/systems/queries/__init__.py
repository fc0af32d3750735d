"""What systems read of a topic: its text and formulas, and queries that people wrote by hand."""
