"""A page of distinct formulas: how each one matches the query, what is renamed, and which posts use it."""

from __future__ import annotations

import time
from typing import NamedTuple

from porism.corpus.content import Content, FormulaUses
from porism.formula import Parsed, parse
from porism.search.display.highlight import Highlighter
from porism.search.display.parsed_formulas import mathml_of
from porism.search.display.results import FormulaResults, FormulaUse, FoundFormula
from porism.search.display.snippet import plain_title
from porism.search.formulas.query import best_reading
from porism.search.formulas.searcher import FormulaHit, FormulaSearcher, Mode
from porism.search.query import parse_part
from porism.text.typed.parts import QueryPart, is_verbatim, split_query, typed_formula
from porism.text.typed.runs import is_words

MAX_USES = 5  # posts shown for a formula
MAX_INSTANCES = 200  # instances of a formula that are read to find its posts
NO_FORMULA = "“{}” contains no formula"
EMPTY_QUERY = "type a formula, for example a^2+b^2=c^2"
SIMILAR = "search for similar formulas"
WILDCARD = "replace a part of the formula by a wildcard, for example ?x"
NO_FORMULAS = "no post of this index contains a formula: search for words"


class FormulaInput(NamedTuple):
    """The readings of the formula in a query that may contain words as well (none if it is empty), and notes on what is
    ignored."""

    readings: tuple[Parsed, ...]
    notes: tuple[str, ...]


def read_formula(text: str) -> FormulaInput:
    """Return the first formula of a query; a query without a recognisable formula is one as a whole, unless it consists
    of words."""
    pieces = list(split_query(text))
    found = [piece for piece in pieces if piece.kind == "formula"]
    if not found:
        typed = text.strip()
        if not typed or is_words(typed):
            return FormulaInput((), (NO_FORMULA.format(typed[:80]),) if typed else ())
        return FormulaInput(_readings(typed_formula(typed)), ())
    words = " ".join(piece.source.strip() for piece in pieces if piece.kind == "text").strip()
    notes = []
    if words:
        notes.append(f"only the formula is searched, not the words “{words[:80]}”")
    if len(found) > 1:
        notes.append("only the first formula is searched")
    return FormulaInput(_readings(found[0]) if found[0].source else (), tuple(notes))


def _readings(part: QueryPart) -> tuple[Parsed, ...]:
    return (parse_part(part), *(parse(latex, wildcards=True) for latex in part.others))


def formula_page(
    searcher: FormulaSearcher, content: Content, text: str, k: int, mode: Mode, offset: int
) -> FormulaResults:
    """Search for a formula and return a page of results."""
    began = time.perf_counter()
    readings, notes = read_formula(text)
    if not readings:
        return FormulaResults((), 0, time.perf_counter() - began, notes, (EMPTY_QUERY,))
    formula = best_reading(readings, searcher.documents) if len(readings) > 1 else readings[0]
    if formula.latex not in text and not is_verbatim(text, formula.latex):
        notes = (f"{text.strip()[:80]} is read as ${formula.latex}$", *notes)
    if formula.path == "opaque":
        notes = (*notes, "this cannot be read as a formula, so only its symbols are searched")
    found = searcher.page(formula, offset, k, mode)
    highlighter = Highlighter([formula], searcher.symbols, 1)
    uses = content.uses([hit.visual_id for hit in found.hits], MAX_USES, MAX_INSTANCES)
    page = tuple(
        _show(hit, latex, uses[hit.visual_id], highlighter)
        for hit, latex in zip(found.hits, found.latex(), strict=True)
    )
    notes = (*notes, *unmatched_notes(found.unmatched), *highlighter.notes)
    return FormulaResults(
        page, found.total, time.perf_counter() - began, notes, () if found.total else _suggestions(searcher, mode)
    )


def _suggestions(searcher: FormulaSearcher, mode: Mode) -> tuple[str, ...]:
    """Say what to try when a search finds no formula."""
    if not searcher.size:
        return (NO_FORMULAS,)
    return (WILDCARD,) if mode in ("similar", "diverse") else (SIMILAR, WILDCARD)


def _show(hit: FormulaHit, latex: str, uses: FormulaUses, highlighter: Highlighter) -> FoundFormula:
    match = highlighter.match(0, latex)
    shown = tuple(FormulaUse(one.post_id, one.thread_id, one.id, plain_title(title)) for one, title in uses.shown)
    return FoundFormula(
        hit.visual_id,
        hit.score,
        latex,
        mathml_of(latex),
        match.level,
        match.item_nodes,
        match.bindings,
        shown,
        uses.posts,
    )


def unmatched_notes(unmatched: int) -> tuple[str, ...]:
    """Say that some formulas were not matched for lack of time."""
    if not unmatched:
        return ()
    return (f"matching takes too long: {unmatched:,} formulas are compared by similarity alone",)
