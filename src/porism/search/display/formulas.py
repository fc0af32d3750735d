"""A page of distinct formulas: how each matched, what was renamed, and which posts use it."""

from __future__ import annotations

import time
from itertools import islice

from porism.corpus.store.collection import Collection
from porism.formula import parse
from porism.records import Formula
from porism.search.display.highlight import Lighter
from porism.search.display.reading import mathml_of
from porism.search.display.results import FormulaResults, FormulaUse, FoundFormula
from porism.search.display.snippet import plain_title
from porism.search.formulas.searcher import FormulaHit, FormulaSearcher, Mode
from porism.search.query import parts

USES = 5  # posts shown for a formula


def one_formula(text: str) -> tuple[str, tuple[str, ...]]:
    """The formula in what someone typed, and what was left out."""
    found = [part.source for part in parts(text) if part.kind == "formula"]
    if not found:
        return text.strip(), ()
    words = " ".join(part.source.strip() for part in parts(text) if part.kind == "text").strip()
    notes = []
    if words:
        notes.append(f"only the formula is searched, not the words “{words[:80]}”")
    if len(found) > 1:
        notes.append("only the first formula is searched")
    return found[0], tuple(notes)


def formula_page(
    searcher: FormulaSearcher, collection: Collection, text: str, k: int, mode: Mode, offset: int
) -> FormulaResults:
    """Search, and show a page."""
    began = time.perf_counter()
    latex, notes = one_formula(text)
    parsed = parse(latex, wildcards=True)
    if not latex:
        return FormulaResults((), 0, time.perf_counter() - began, notes, ("type a formula, e.g. a^2+b^2=c^2",))
    if parsed.path == "opaque":
        notes = (*notes, "this cannot be read as a formula; its symbols are searched")
    hits, total = searcher.page(latex, offset, k, mode)
    lighter = Lighter([parsed], searcher.store, 1)
    page = tuple(_found(hit, searcher, collection, lighter) for hit in hits)
    hints = () if total else ("search for similar formulas", "replace a part by a wildcard, e.g. ?x")
    return FormulaResults(page, total, time.perf_counter() - began, notes, hints)


def _found(hit: FormulaHit, searcher: FormulaSearcher, collection: Collection, lighter: Lighter) -> FoundFormula:
    latex = searcher.store.latex(searcher.store.row(hit.visual_id))
    lit = lighter.one(0, latex)
    instances = list(islice(_in_posts(collection, hit.visual_id), 200))
    first = list({one.post_id: one for one in reversed(instances)}.values())[::-1]
    uses = tuple(
        FormulaUse(one.post_id, one.thread_id, one.id, plain_title(collection.title(one.thread_id) or ""))
        for one in first[:USES]
    )
    return FoundFormula(
        hit.visual_id, hit.score, latex, mathml_of(latex), lit.level, lit.item_nodes, lit.bindings, uses, len(first)
    )


def _in_posts(collection: Collection, visual_id: int) -> list[Formula]:
    return [one for one in collection.instances(visual_id) if one.post_id and one.issue not in ("d", "dv")]
