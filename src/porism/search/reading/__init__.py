"""Reading what people type: typed mathematics as formulas, wording, spelling from the words of the index."""
