"""Reading what people type: words, ASCII and Unicode mathematics, LaTeX without dollar signs, operators of the search box."""
