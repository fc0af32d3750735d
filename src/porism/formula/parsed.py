"""Parse a formula: any LaTeX or MathML becomes a layout tree and an operator tree."""

from __future__ import annotations

import html
import re
from contextlib import suppress
from typing import NamedTuple

from porism.formula.characters import xml_text
from porism.formula.latex.convert import Converted, to_mathml
from porism.formula.latex.editable import Problem
from porism.formula.latex.macros import Macro, Macros
from porism.formula.layout.build import MAX_DEPTH, TooLarge, layout_tree
from porism.formula.layout.labels import token_labels
from porism.formula.mathml.clean import clean, clean_converted, read
from porism.formula.operators.parse import operator_tree
from porism.formula.tree import Node, attach, chain

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[^\s{}\x00-\x1f]")
MAX_TOKENS = 500


def opaque_tree(latex: str) -> Node:
    """Return an `E!` node that contains the tokens of a formula (at most 500) as a row."""
    node = Node("E!", places=(1,))
    row = []
    for found in _TOKEN.finditer(latex):
        token = found[0]
        if token[0] == "\\":
            row.append(Node(token, places=(1,)))
        else:
            row.extend(Node(label, places=(1,)) for label in token_labels("mi", html.escape(token)))
        if len(row) == MAX_TOKENS:
            break
    if row:
        attach(node, "w", chain(row))
    return node


# The first element inside the wrappers distinguishes Content from Presentation MathML.
_FIRST = re.compile(r"\s*+(?:<\?xml[^<>]*>\s*+)?(?:<(?:\w+:)?(?:math|semantics)(?:\s[^<>]*)?>\s*+)*<(?:\w+:)?([a-z]+)")
_CONTENT = frozenset((
    "apply", "bind", "cerror", "ci", "cn", "cs", "csymbol", "interval", "lambda", "list", "matrix", "piecewise", "set",
    "vector",
))  # fmt: skip
_TAG = re.compile(r"<[^<>]*>")


class Origin(NamedTuple):
    """What a formula was parsed from: all arguments of `parse` or `parse_mathml`."""

    latex: str
    mathml: str = ""
    content: str = ""
    wildcards: bool = False
    macros: frozenset[tuple[str, Macro]] = frozenset()


class Parsed:
    """A formula: its LaTeX, its clean MathML and its trees. Two are equal when they were parsed from the same input.

    `path` names the converter (`math-core`, `latex2mathml`, `opaque`; for MathML `mathml` or `content`). `repairs`
    names the repairs of the LaTeX. `problems` have positions in the user's text. MathML and operator tree are made on
    first use."""

    __slots__ = ("_mathml", "_operators", "_source", "layout", "origin", "path", "problems", "repairs")

    def __init__(
        self,
        origin: Origin,
        layout: Node,
        source: str,
        path: str,
        repairs: tuple[str, ...] = (),
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.origin = origin
        self.layout = layout
        self.path = path
        self.repairs = repairs
        self.problems = problems
        self._source = source
        self._mathml: str | None = None
        self._operators: Node | None = None

    @property
    def latex(self) -> str:
        """The LaTeX as the user typed it; empty for MathML without any."""
        return self.origin.latex

    @property
    def mathml(self) -> str:
        """Clean Presentation MathML. The places of nodes are the numbers of its elements in document order."""
        if self._mathml is None:
            self._mathml = self._source if self.path == "opaque" else clean_converted(self._source)
        return self._mathml

    @property
    def operators(self) -> Node:
        """The operator tree."""
        if self._operators is None:
            self._operators = operator_tree(self.layout)
        return self._operators

    def __eq__(self, other: object) -> bool:
        """Compare what the formulas were parsed from, so that caches of queries recognise them."""
        return self.origin == other.origin if isinstance(other, Parsed) else NotImplemented

    def __hash__(self) -> int:
        """Hash what the formula was parsed from."""
        return hash(self.origin)


def parse(latex: str, wildcards: bool = False, macros: Macros | None = None) -> Parsed:
    """Parse LaTeX; any string gives a result.

    `\\qvar{x}` is always a wildcard, `?x` only with `wildcards` (in posts a question mark is punctuation). `macros` are
    the user's commands, as `macros.definitions` reads them from a document."""
    origin = Origin(latex, "", "", wildcards, frozenset(macros.items()) if macros else frozenset())
    made = to_mathml(xml_text(latex), macros, wildcards)
    if made.path == "opaque":
        return _opaque(origin, latex, made.repairs, made.problems)
    return _parsed(origin, _source(made), made.path, made.repairs, made.problems)


def _source(made: Converted) -> str:
    """Return the MathML of a converter in a form that `layout_tree` reads."""
    # math-core does not escape the `<` of \operatorname{<}.
    source = made.mathml.replace("<</", "&lt;</")
    return clean(read(source)) if made.path != "math-core" or "<mtext><" in source else source


def latex_to_mathml(latex: str) -> str:
    """Return the clean MathML of LaTeX, the same as `parse(latex).mathml`, mostly without building trees."""
    made = to_mathml(xml_text(latex))
    if made.path == "opaque":
        return _opaque_mathml(xml_text(latex))
    source = _source(made)
    # Only a deeply nested formula can turn out to be opaque when its layout tree is built. A level of nesting takes at
    # least one element, and identifiers and numbers contain none.
    levels = source.count("<") - source.count("</") - source.count("<mi") - source.count("<mn")
    return clean_converted(source) if levels <= MAX_DEPTH else parse(latex).mathml


def parse_mathml(text: str, latex: str = "", content: str = "") -> Parsed:
    """Parse MathML of any origin, also ill-formed; any string gives a result.

    Presentation MathML gives the layout tree, and the operator tree unless `content` (Content MathML) gives that.
    Content MathML alone gives the operator tree; the layout tree then comes from its Presentation MathML."""
    origin = Origin(latex, text, content)
    first = _FIRST.match(text)
    if first and (first[1] in _CONTENT or "MathML-Content" in first[0]):
        from porism.formula.mathml.content_reader import from_content
        from porism.formula.mathml.presentation import to_presentation

        try:
            operators = from_content(text)
        except TooLarge as error:
            return _too_large(origin, text, error)
        parsed = _parsed(origin, clean(read(to_presentation(operators))), "content")
        parsed._operators = operators
        return parsed
    parsed = _parsed(origin, clean(read(text)), "mathml")
    if content and parsed.path == "mathml":
        from porism.formula.mathml.content_reader import from_content

        with suppress(TooLarge):  # then the operator tree comes from the layout tree
            parsed._operators = from_content(content)
    return parsed


def _parsed(
    origin: Origin, source: str, path: str, repairs: tuple[str, ...] = (), problems: tuple[Problem, ...] = ()
) -> Parsed:
    """Build the layout tree; a formula beyond the limits becomes opaque."""
    try:
        return Parsed(origin, layout_tree(source), source, path, repairs, problems)
    except TooLarge as error:
        return _too_large(origin, source, error, repairs, problems)


def _too_large(
    origin: Origin, source: str, error: TooLarge, repairs: tuple[str, ...] = (), problems: tuple[Problem, ...] = ()
) -> Parsed:
    """Return a formula beyond the limits: opaque, with its LaTeX or the text of its MathML."""
    problem = Problem(str(error), 0, len(origin.latex))
    text = origin.latex or " ".join(_TAG.sub(" ", source).split())
    return _opaque(origin, text, repairs, (*problems, problem))


def opaque(latex: str, problems: tuple[Problem, ...] = ()) -> Parsed:
    """Return a formula that was not parsed: its trees have only its tokens, its MathML only its text."""
    return _opaque(Origin(latex), latex, (), problems)


def _opaque(origin: Origin, text: str, repairs: tuple[str, ...], problems: tuple[Problem, ...]) -> Parsed:
    text = xml_text(text)
    return Parsed(origin, opaque_tree(text), _opaque_mathml(text), "opaque", repairs, problems)


def _opaque_mathml(text: str) -> str:
    return f"<math><mtext>{html.escape(text[:2000], quote=False)}</mtext></math>"
