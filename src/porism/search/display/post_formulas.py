"""Formulas of posts: their LaTeX made readable, their trees and their MathML; and what expressions share with a query,
by the sub-expressions that the index has of them.

The caches are bounded. Their values depend on the LaTeX alone, so they never become stale and serve all queries.

The lab's files were converted by LaTeXML. Where it failed it wrote commands of its own: `\\qvar@construct{X}` for a
token X that it could not place, `\\@@eqnarray` for a table of equations, `\\lx@sectionsign` for a sign."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from porism.analysis.features import COMMUTATIVE, RENAMED, FlatLayout, flat_layout
from porism.analysis.paths import NUMBER, VARIABLE, symbol_kind
from porism.caching import cached_text
from porism.deadline import check
from porism.formula import Parsed, latex_to_mathml, parse
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.match.backtracking import is_wildcard
from porism.formula.match.matcher import PreparedTree
from porism.search.retrieval.query_terms import QueryTerms
from porism.store.records import ExpressionParts

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


FORMULAS_KEPT = 500  # formulas of queries whose terms are kept for the next page
PAGES_KEPT = 4  # of a query, whose expressions stay known
# Operators whose operands are never split: the query formula occurs only as a whole sub-expression. A sum or a chain of
# relations may have further operands.
_WHOLE = frozenset(("O!SUP", "O!SUB", "O!divide", "O!divide-slash", "O!root", "O!apply", "O!int", "O!sum"))
_NAMED: tuple[Level, ...] = ("written", "normalised", "commutative")  # levels at which names of variables must agree


@dataclass(frozen=True, slots=True)
class NeededParts:
    """The needed sub-expressions at level `commutative`, and up to renaming, by their positions in a request."""

    commutative: frozenset[int] = frozenset()
    renamed: frozenset[int] = frozenset()

    def impossible_levels(self, positions: Collection[int]) -> tuple[Level, ...]:
        """Return the levels at which the query formula does not occur in a formula with these sub-expressions."""
        if not self.renamed.issubset(positions):
            return LEVELS
        return () if self.commutative.issubset(positions) else _NAMED


class NeededTerms(NamedTuple):
    """The needed sub-expressions as terms, at level `commutative` and up to renaming."""

    commutative: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()


def part_term(level: str, digest: bytes) -> str:
    """Return the term of a sub-expression from its hash at a level."""
    return f"{level}0{digest.hex()}"


class FormulaTerms(NamedTuple):
    """The terms of a whole query formula, as written and with variables renamed, and those of needed parts."""

    whole: tuple[str, ...]
    needed: NeededTerms


@lru_cache(FORMULAS_KEPT)
def formula_terms(formula: Parsed) -> FormulaTerms:
    """Return the terms by which a query formula is found in others. Every page of its query needs them again."""
    pattern = PreparedTree(formula.operators)
    root = pattern.nodes("renamed")
    whole = (part_term(COMMUTATIVE, root.commutative), part_term(RENAMED, root.renamed())) if root.operands else ()
    if any(map(is_wildcard, pattern.labels("written"))):  # a wildcard matches anything
        return FormulaTerms(whole, NeededTerms())
    # The formula itself if it occurs only as a whole, else those of its operands that are larger than a symbol.
    nodes = [root] if root.label in _WHOLE else [operand for operand in root.operands if operand.operands]
    commutative = tuple([part_term(COMMUTATIVE, node.commutative) for node in nodes])
    return FormulaTerms(whole, NeededTerms(commutative, tuple([part_term(RENAMED, node.renamed()) for node in nodes])))


class SharedPart(NamedTuple):
    """A sub-expression of the query: its weight x idf, its formula, and the formula that it is as a whole (-1:
    none)."""

    weight: float
    formula: int
    whole: int = -1


_NO_PARTS: list[SharedPart] = []
_NO_NUMBERS: set[int] = set()


class SharedParts:
    """The sub-expressions of a query in the expressions of posts. Safe for concurrent use.

    `terms` are requested with the posts; `use` takes what came with them."""

    def __init__(self, parts: QueryTerms, formulas: Sequence[Parsed] = ()) -> None:
        own = [formula_terms(formula) for formula in formulas]
        whole = {term: number for number, found in enumerate(own) for term in found.whole}
        rows = zip(parts.scores.tolist(), parts.formulas, parts.texts, strict=True)
        self._parts = [SharedPart(weight, formula, whole.get(text, -1)) for weight, formula, text in rows]
        needed = (term for found in own for terms in found.needed for term in terms)
        places = {term: at for at, term in enumerate(dict.fromkeys((*parts.texts, *needed)))}
        self.terms = tuple(places)
        self.needed = [
            NeededParts(*(frozenset(map(places.__getitem__, terms)) for terms in found.needed)) for found in own
        ]
        self._sources: tuple[ExpressionParts, ...] = ()
        self._positions: dict[int, frozenset[int]] = {}
        self._found: dict[int, list[SharedPart]] = {}
        self._whole: dict[int, set[int]] = {0: set()}
        self._weights: dict[int, float] = {0: 0.0}

    def use(self, found: ExpressionParts) -> None:
        """Look up expressions among those of posts that were just read; those of the pages before stay known."""
        self._sources = (found, *self._sources)[:PAGES_KEPT]

    def positions(self, expression: int) -> frozenset[int]:
        """Return the positions of the terms that an expression of the collection has."""
        known = self._positions.get(expression)
        if known is None:
            found = (found for source in self._sources if (found := source.of(expression)))
            known = self._positions[expression] = frozenset(next(found, ()))
        return known

    def weight(self, expression: int) -> float:
        """Return the weight of the sub-expressions that an expression of the collection shares with the query."""
        found = self._weights.get(expression)
        if found is None:
            found = self._weights[expression] = sum([part.weight for part in self.of(expression)])
        return found

    def of(self, expression: int) -> list[SharedPart]:
        """Return the sub-expressions that an expression of the collection shares with the query, each once."""
        if not self._parts or not expression:
            return []
        found = self._found.get(expression)
        if found is None:
            number = len(self._parts)
            found = [self._parts[at] for at in self.positions(expression) if at < number] or _NO_PARTS
            self._whole[expression] = {part.whole for part in found if part.whole >= 0} if found else _NO_NUMBERS
            self._found[expression] = found  # last: another thread that finds it may read the rest
        return found

    def contained(self, expressions: Iterable[int]) -> set[int]:
        """Return the query formulas that expressions contain as a whole, perhaps with other variables."""
        if not self._parts:
            return set()
        for expression in expressions:
            if expression not in self._found:
                self.of(expression)
        return set().union(*map(self._whole.__getitem__, expressions))
