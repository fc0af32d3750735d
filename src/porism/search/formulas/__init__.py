"""Search for formulas: candidates by their terms, then comparison tree by tree."""
