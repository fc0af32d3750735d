"""The door: a string becomes a formula with its trees, whatever the string is."""

from __future__ import annotations

import html
import re

from porism.formula.latex.convert import to_mathml
from porism.formula.latex.macros import Macros
from porism.formula.layout.build import TooLarge, layout_tree
from porism.formula.layout.opaque import opaque_tree
from porism.formula.mathml.clean import clean, read
from porism.formula.operators.parse import operator_tree
from porism.formula.problems import Problem
from porism.formula.tree import Node

# The first element that is no wrapper tells Content from Presentation MathML.
_FIRST = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<(?:\w+:)?(?:math|semantics)(?:\s[^>]*)?>\s*)*<(?:\w+:)?([a-z]+)")
_CONTENT = frozenset(
    (
        "apply",
        "bind",
        "cerror",
        "ci",
        "cn",
        "cs",
        "csymbol",
        "interval",
        "lambda",
        "list",
        "matrix",
        "piecewise",
        "set",
        "vector",
    )
)


class Parsed:
    """A formula: its text, its clean MathML, its trees, and what happened on the way.

    `path` names the converter (`math-core`, `latex2mathml`, `opaque`; `mathml` or `content` for MathML); `repairs` names what was mended before;
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
                self._mathml = _as_text(self.latex)
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
    # math-core writes \operatorname{<} with the sign as it is.
    source = made.mathml.replace("<</", "&lt;</")
    if made.path != "math-core" or "<mtext><" in source:
        source = clean(read(source))
    return _finish(latex, source, made.path, made.repairs, made.problems)


def parse_mathml(text: str, latex: str = "", content: str = "") -> Parsed:
    """A formula from MathML of any origin, also ill-formed; any string gives a result.

    Presentation MathML is read as it is drawn, with the operator tree of `content` (Content MathML) where that is given; what is Content
    MathML alone gives the operator tree and is drawn from it.
    """
    first = _FIRST.match(text)
    if first and (first[1] in _CONTENT or "MathML-Content" in first[0]):
        from porism.formula.mathml.content_read import from_content
        from porism.formula.mathml.present import present

        operators = from_content(text)
        parsed = _finish(latex, clean(read(present(operators))), "content", (), ())
        parsed._operators = operators
        return parsed
    parsed = _finish(latex, clean(read(text)), "mathml", (), ())
    if content and parsed.path == "mathml":
        from porism.formula.mathml.content_read import from_content

        parsed._operators = from_content(content)
    return parsed


def _finish(latex: str, source: str, path: str, repairs: tuple[str, ...], problems: tuple[Problem, ...]) -> Parsed:
    try:
        return Parsed(latex, layout_tree(source), source, path, repairs, problems)
    except TooLarge as error:
        problem = Problem(str(error), 0, len(latex))
        text = latex or " ".join(_TAG.sub(" ", source).split())
        opaque = Parsed(latex, opaque_tree(text), "", "opaque", repairs, (*problems, problem))
        opaque._mathml = _as_text(text)
        return opaque


_TAG = re.compile(r"<[^>]*>")


def _as_text(text: str) -> str:
    """What could not be read, shown as it was typed."""
    return f"<math><mtext>{html.escape(text[:2000], quote=False)}</mtext></math>"
