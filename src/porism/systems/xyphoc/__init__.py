"""XYPhoc: formulas by the positions of their symbols in the picture (Avenoso, Mansouri and Zanibbi, 2021)."""
