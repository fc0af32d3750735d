"""Reading what people type: operators of the search box, formulas, spelling and synonyms."""
