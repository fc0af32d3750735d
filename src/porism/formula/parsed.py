"""The door: a string becomes a formula with its trees, whatever the string is."""

from __future__ import annotations

import html

from porism.formula.convert import to_mathml
from porism.formula.layout import TooLarge, layout_tree
from porism.formula.macros import Macros
from porism.formula.mathml import clean, read
from porism.formula.opaque import opaque_tree
from porism.formula.operators import operator_tree
from porism.formula.problems import Problem
from porism.formula.tree import Node


class Parsed:
    """A formula: its text, its clean MathML, its trees, and what happened on the way.

    `path` names the converter (`math-core`, `latex2mathml`, `mathml` or `opaque`); `repairs` names what was mended before;
    `problems` have positions in the user's text. MathML and operator tree are made when first asked for.
    """

    __slots__ = ("_mathml", "_operators", "_source", "latex", "layout", "path", "problems", "repairs")

    def __init__(
        self,
        latex: str,
        layout: Node,
        source: str,
        path: str,
        repairs: tuple[str, ...] = (),
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.latex = latex
        self.layout = layout
        self.path = path
        self.repairs = repairs
        self.problems = problems
        self._source = source
        self._mathml: str | None = None
        self._operators: Node | None = None

    @property
    def mathml(self) -> str:
        """Clean Presentation MathML; the places of nodes are the numbers of its elements in document order."""
        if self._mathml is None:
            if self.path == "opaque":
                self._mathml = f"<math><mtext>{html.escape(self.latex[:2000], quote=False)}</mtext></math>"
            else:
                self._mathml = clean(read(self._source))
        return self._mathml

    @property
    def operators(self) -> Node:
        """The operator tree."""
        if self._operators is None:
            self._operators = operator_tree(self.layout)
        return self._operators


def parse(latex: str, wildcards: bool = False, macros: Macros | None = None) -> Parsed:
    """A formula from LaTeX; any string gives a result.

    `\\qvar{x}` is a wildcard always, `?x` only when `wildcards` is set (in posts a question mark is punctuation). `macros` are the
    user's commands, as `macros.definitions` reads them from a document.
    """
    made = to_mathml(latex, macros, wildcards)
    if made.path == "opaque":
        return Parsed(latex, opaque_tree(latex), "", "opaque", made.repairs, made.problems)
    source = made.mathml
    if made.path != "math-core" or "<mtext><" in source:
        source = clean(read(source))
    return _finish(latex, source, made.path, made.repairs, made.problems)


def parse_mathml(text: str, latex: str = "") -> Parsed:
    """A formula from MathML of any origin, also ill-formed; any string gives a result."""
    return _finish(latex, clean(read(text)), "mathml", (), ())


def _finish(latex: str, source: str, path: str, repairs: tuple[str, ...], problems: tuple[Problem, ...]) -> Parsed:
    try:
        return Parsed(latex, layout_tree(source), source, path, repairs, problems)
    except TooLarge as error:
        problem = Problem(str(error), 0, len(latex))
        return Parsed(latex, opaque_tree(latex), "", "opaque", repairs, (*problems, problem))
