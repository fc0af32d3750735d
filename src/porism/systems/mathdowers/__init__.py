"""MathDowers (Tangent-L): math tuples of Presentation MathML, queries and documents of words and tuples, and their BM25
ranking."""
