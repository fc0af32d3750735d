"""Labels of LaTeX commands that are left as text in MathML because its converter did not know them."""

from __future__ import annotations

import functools

from porism.formula.latex.convert import command_mathml


@functools.lru_cache(maxsize=4096)
def command_label(command: str, argument: str = "") -> str:
    """Return the label of a command for one symbol (`\\gt`, `\\mathbb` with `R`), or the command itself as a name.

    LaTeXML knows some commands only with packages that a collection was not converted with."""
    from porism.formula.layout.build import layout_tree

    mathml = command_mathml(f"{command}{{{argument}}}" if argument else command)
    node = layout_tree(mathml) if mathml else None
    return node.label if node is not None and not node.children and node.label != "W!" else "V!" + command
