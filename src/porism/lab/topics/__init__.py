"""Make topics: select questions of a collection, choose their query formulas, write the files."""
