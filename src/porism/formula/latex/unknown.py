"""Commands that one converter did not know: another may."""

from __future__ import annotations

import functools

from porism.formula.latex.convert import command_mathml


@functools.lru_cache(maxsize=4096)
def known_symbol(command: str, argument: str = "") -> str:
    """The label of a command that stands for one symbol (`\\gt`, `\\mathbb` with `R`), else the command itself as a name.

    LaTeXML knows some commands only with packages that a collection was not converted with.
    """
    from porism.formula.layout.build import layout_tree

    mathml = command_mathml(f"{command}{{{argument}}}" if argument else command)
    node = layout_tree(mathml) if mathml else None
    return node.label if node is not None and not node.children and node.label != "W!" else "V!" + command
