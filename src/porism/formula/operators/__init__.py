"""The operator tree of a formula: a precedence parser over a table of symbols, one module for each kind of
construct."""
