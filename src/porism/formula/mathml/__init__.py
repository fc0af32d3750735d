"""MathML: read Presentation and Content MathML of any origin, write both, highlight elements."""
