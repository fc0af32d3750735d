"""JU_NITS: term vectors of formula tokens."""
