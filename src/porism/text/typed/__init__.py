"""Mathematics as people type it, without LaTeX commands: which parts of a text are formulas, and their LaTeX."""
