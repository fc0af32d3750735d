"""LaTeX as people type it becomes MathML: repairs with names, macros, conversion by libraries."""
