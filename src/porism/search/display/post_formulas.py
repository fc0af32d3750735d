"""Formulas of posts: their LaTeX made readable, their trees and their MathML.

The caches are bounded. Their values depend on the LaTeX alone, so they never become stale and serve all queries.

The lab's files were converted by LaTeXML. Where it failed it wrote commands of its own: `\\qvar@construct{X}` for a
token X that it could not place, `\\@@eqnarray` for a table of equations, `\\lx@sectionsign` for a sign."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from porism.analysis.features import FlatLayout, flat_layout
from porism.analysis.paths import NUMBER, VARIABLE, symbol_kind
from porism.caching import cached_text
from porism.deadline import check
from porism.formula import Parsed, latex_to_mathml, parse
from porism.formula.match.matcher import PreparedTree

_CLASSES = {VARIABLE: "variable", NUMBER: "number"}
MAX_TREES, MAX_LABELS = 2_000, 20_000  # a formula with its trees takes about 30 KB
MATHML_BYTES = 12_000_000  # that LaTeX and its MathML take; a formula takes 1 KB on average

BREAK = "\\\\"
_MARKS = ("@", "\\par", BREAK, "eqnarray", "\\ce")
_STRAY = re.compile(r"\\qvar@construct\s*+\{\s*+(\$?)\s*+\}(?:\s*\\par(?![A-Za-z]))?")
_MISSING = re.compile(r"\\qvar@construct\s*\{missing\}")
_TOKEN = re.compile(r"\\qvar@construct\s*+\{((?:\\.|[^{}\\])*+)\}")
_EQUATIONS = re.compile(r"\\@@(?:eqnarray|amsalign|align)(?![A-Za-z])")
_GROUPS = re.compile(r"\\(?:left|right)(?![A-Za-z])|\\.|[{}]", re.DOTALL)
MOST_EQUATIONS = 20  # of a formula; each is searched to the end of its group
_EQNARRAY = re.compile(r"\\begin\{eqnarray(\*?)\}((?:(?!\\begin|\\end).)*)\\end\{eqnarray\1\}", re.DOTALL)
_ESCAPED_CELL = re.compile(r"(?<!\\)(?:\\\\)*\\&")
_CELL_MARKS = re.compile(r"\$|\\displaystyle(?![A-Za-z])\s*")
# `\\[7pt]`: the space after a line.
_LINE_SPACE = re.compile(r"(?<!\\)((?:\\\\)+)\*?\s*+\[\s*+-?\s*+[\d.]++\s*+(?:pt|em|ex|mm|cm|in|px|mu)\s*\]")
_NESTING = re.compile(r"\\(?:begin|end|left|right)(?![A-Za-z])|\\\\|\\.|[{}]", re.DOTALL)
_OPENING = frozenset(("\\begin", "\\left", "{"))
_CLOSING = frozenset(("\\end", "\\right", "}"))
# A formula that was cut inside a text, and chemistry with nested groups.
_CUT = re.compile(r"\$?\}(?:\\par(?![A-Za-z])\s*)?\\end\{document\}|\\end\{document\}")
_CHEMISTRY = re.compile(r"\\ce\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_PARAGRAPH = re.compile(r"\\par(?![A-Za-z])")
# Names that LaTeXML writes for signs.
_SIGNS = {"sectionsign": "\\text{§}", "paragraphsign": "\\text{¶}"}
_SIGN = re.compile(r"\\lx@([A-Za-z]+)")
_INTERNAL = re.compile(r"\\[A-Za-z]*@@?[A-Za-z@]*(?![A-Za-z])")
_HANDLE = re.compile(r"\\tt@([A-Za-z]+)")


def readable_latex(latex: str) -> str:
    """Return LaTeX that a person would write; most formulas are returned unchanged."""
    if not any(mark in latex for mark in _MARKS):
        return latex
    text = _STRAY.sub("", _LINE_SPACE.sub(r"\1 ", latex))
    text = _CHEMISTRY.sub(r"\\mathrm{\1}", _CUT.sub(lambda found: "}" * (found[0][0] != "\\"), text))
    text = _MISSING.sub(r"{\\square}", text)
    text = _TOKEN.sub(r"\1", text)
    text = _EQNARRAY.sub(lambda found: _aligned(found[2]), _equations(text))
    text = _SIGN.sub(lambda found: _SIGNS.get(found[1], ""), text)
    text = _HANDLE.sub(r"\\text{@\1}", text)
    text = _INTERNAL.sub("", text) if "@" in text else text
    return _lines(_PARAGRAPH.sub(" ", text).strip())


def _lines(text: str) -> str:
    """Return a formula with line breaks outside of environments as an environment of lines, as the site shows it."""
    breaks, depth = [], 0
    for mark in _NESTING.finditer(text):
        if mark[0] == BREAK:
            breaks += [mark.start()] * (depth == 0)
        depth += (mark[0] in _OPENING) - (mark[0] in _CLOSING)
        if depth < 0:
            return text
    ends = [*breaks, len(text)]
    lines = [text[start:end].removeprefix(BREAK).strip() for start, end in zip([0, *breaks], ends, strict=True)]
    kept = [line for line in lines if line]
    if depth or len(kept) < 2 or "&" in text:
        return text
    return f"\\begin{{gathered}}{(BREAK + ' ').join(kept)}\\end{{gathered}}"


def _equations(text: str) -> str:
    """Write each `\\@@eqnarray ...` up to the end of its group as an aligned environment; of many only the first."""
    for _ in range(MOST_EQUATIONS):
        if (found := _EQUATIONS.search(text)) is None:
            break
        end = _end_of_group(text, found.end())
        body = _CELL_MARKS.sub("", text[found.end() : end])
        text = text[: found.start()] + _aligned(body) + text[end:]
    return text


def _aligned(body: str) -> str:
    """Return the rows `a & = & b` of an eqnarray as an aligned environment, whose rows are `a & = b`."""
    rows = body.split("\\\\")
    if not _ESCAPED_CELL.search(body) and "\\begin" not in body:
        rows = [f"{cells[0]}& {' '.join(cells[1:])}" if len(cells := row.split("&")) > 1 else row for row in rows]
    return f"\\begin{{aligned}}{BREAK.join(rows)}\\end{{aligned}}"


def _end_of_group(text: str, start: int) -> int:
    """Return where the group that is open at `start` closes, by a brace or a `\\right`, or the end of the text."""
    braces = lefts = 0
    for found in _GROUPS.finditer(text, start):
        braces += (found[0] == "{") - (found[0] == "}")
        lefts += (found[0] == "\\left") - (found[0] == "\\right")
        if braces < 0 or (braces == 0 and lefts < 0):
            return found.start()
    return len(text)


class ComparableFormula:
    """A parsed formula with the forms that comparisons need, each computed on first use."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self._layout: FlatLayout | None = None
        self._operators: PreparedTree | None = None
        self._symbol_counts: Counter[str] | None = None

    @property
    def layout(self) -> FlatLayout:
        """The layout tree in reading order."""
        if self._layout is None:
            self._layout = flat_layout(self.parsed.layout)
        return self._layout

    @property
    def operators(self) -> PreparedTree:
        """The operator tree, prepared for matching."""
        if self._operators is None:
            self._operators = PreparedTree(self.parsed.operators)
        return self._operators

    @property
    def symbol_counts(self) -> Counter[str]:
        """How often each kind of symbol occurs that can be aligned: variables, numbers, and every other label."""
        if self._symbol_counts is None:
            self._symbol_counts = Counter(map(alignment_class, self.layout.labels))
        return self._symbol_counts


@lru_cache(MAX_LABELS)
def alignment_class(label: str) -> str:
    """Return what a label can be aligned with: any variable, any number, or the label itself."""
    return _CLASSES.get(symbol_kind(label), label)


@lru_cache(MAX_TREES)
def parsed_formula(latex: str) -> ComparableFormula:
    """Parse a formula of a post, without what a converter left in it."""
    parsed = parse(readable_latex(latex))
    check()  # a conversion that the time limit ended must not be kept
    return ComparableFormula(parsed)


@cached_text(MATHML_BYTES)
def mathml_of(latex: str) -> str:
    """Return the clean MathML of a formula of a post."""
    mathml = latex_to_mathml(readable_latex(latex))
    check()  # a conversion that the time limit ended must not be kept
    return mathml
