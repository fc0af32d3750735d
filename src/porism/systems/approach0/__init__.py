"""Approach Zero (ARQMath-3): its LaTeX grammar, operator trees, leaf-root path retrieval and text score."""
