"""Pages of results: posts, grouped by thread and sorted, with what a reader needs to decide whether to open one; and
distinct formulas, with how each one matches the query, what is renamed, and which posts use it."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from porism.corpus.content import Content, FormulaUses
from porism.formula import Parsed, parse
from porism.records import Hit
from porism.search.display.highlight import Highlighter
from porism.search.display.post_formulas import mathml_of
from porism.search.display.results import AlsoSearched, DistinctFormula, FormulaResults, FormulaUse, SearchHit
from porism.search.display.snippet import QueryMatches, SnippetBuilder, plain_title
from porism.search.formulas.query import best_reading
from porism.search.formulas.searcher import FormulaHit, FormulaSearcher, Mode
from porism.search.query import Sort, parse_part
from porism.search.retrieval.context import QueryContext
from porism.search.retriever import Ranking
from porism.store.protocols import Snapshot
from porism.store.records import StoredPost
from porism.text.typed.box import QueryPart, is_verbatim, split_query, typed_formula
from porism.text.typed.runs import is_words
from porism.text.words import stem

MOST_SORTED = 100  # of the most relevant hits that are sorted by votes or date
MOST_MORE = 3  # further answers of a thread that are shown
MOST_ALSO = 2  # additions to a query that are reported
STATEMENTS = frozenset(
    map(
        stem,
        (
            "theorem",
            "inequality",
            "identity",
            "formula",
            "lemma",
            "law",
            "rule",
            "criterion",
            "principle",
            "conjecture",
        ),
    )
)
HitGroup = tuple[Hit, ...]  # hits of one thread, best first; without grouping every hit is a group


class HitPage:
    """Builds pages of the hits of one query."""

    def __init__(
        self,
        snapshot: Snapshot,
        context: QueryContext,
        ranking: Ranking,
        matches: QueryMatches,
        highlighter: Highlighter,
        *,
        group: bool,
    ) -> None:
        self._snapshot = snapshot
        self._parts = matches.parts
        self._builder = SnippetBuilder(matches, highlighter)
        self._has_formulas = bool(context.query.formulas)
        self._ranking = ranking
        self._group = group
        self._has_votes = snapshot.content.has_votes

    @cached_property
    def groups(self) -> list[HitGroup]:
        """The hits by thread, in order of the best hit of each."""
        if not self._group:
            return [(hit,) for hit in self._ranking]
        found: dict[int, list[Hit]] = {}
        threads = self._snapshot.locate(self._ranking.ids).threads.tolist()
        for thread, hit in zip(threads, self._ranking, strict=True):
            found.setdefault(thread, []).append(hit)
        return list(map(tuple, found.values()))

    def hits(self, offset: int, k: int, sort: Sort = "relevance") -> tuple[SearchHit, ...]:
        """Return a page of hits. Votes and dates sort the most relevant hits only; the others follow by relevance."""
        page = slice(offset, offset + k)
        if sort != "relevance":
            groups = self._sorted(sort)[page]
        elif self._group:
            groups = self.groups[page]
        else:  # only these hits of the ranking are read
            groups = [(hit,) for hit in Ranking(self._ranking.ids[page], self._ranking.scores[page])]
        hits = [group[: 1 + MOST_MORE] for group in groups]
        found = self._snapshot.posts([hit.id for group in hits for hit in group], self._parts.terms)
        self._parts.use(found.parts)
        stored = iter(found.posts)
        shown = [[self._shown(hit, next(stored)) for hit in group] for group in hits]
        return tuple(
            replace(first, more=tuple(more), more_count=len(group) - 1) if more else first
            for group, (first, *more) in zip(groups, shown, strict=True)
        )

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.groups) if self._group else len(self._ranking)

    def _sorted(self, sort: Sort) -> list[HitGroup]:
        best = self.groups[:MOST_SORTED]
        posts = [one.post for one in self._snapshot.posts([group[0].id for group in best]).posts]
        keys = [post.score if sort == "votes" else post.created for post in posts]
        order = sorted(range(len(best)), key=lambda at: keys[at], reverse=True)
        return [best[at] for at in order] + self.groups[MOST_SORTED:]

    def _shown(self, hit: Hit, stored: StoredPost) -> SearchHit:
        post, question, accepted = stored
        return SearchHit(
            post.id,
            hit.score,
            post.kind,
            post.thread_id,
            self._builder.title(question.title),
            self._builder.snippet(post.body),
            question.tags,
            post.score if self._has_votes else None,
            accepted,
            post.created,
            formulas_contained=self._builder.contained(post.title, post.body) if self._has_formulas else 0,
        )


def also_searched(context: QueryContext) -> tuple[AlsoSearched, ...]:
    """Return what the concepts of a query added to it: the formula of a name, or the name of a formula."""
    found: dict[AlsoSearched, None] = {}
    # Names of theorems say more than names of things.
    for match in sorted(context.concepts, key=lambda one: one.concept.name.split()[-1] not in STATEMENTS):
        formula, name = match.concept.latex, match.concept.display_name
        found[AlsoSearched("formula", formula) if match.by_name else AlsoSearched("text", name)] = None
    return tuple(found)[:MOST_ALSO]


MAX_USES = 5  # posts shown for a formula
MAX_INSTANCES = 200  # instances of a formula that are read to find its posts
NO_FORMULA = "“{}” contains no formula"
EMPTY_QUERY = "type a formula, for example a^2+b^2=c^2"
SIMILAR = "search for similar formulas"
WILDCARD = "replace a part of the formula by a wildcard, for example ?x"
NO_FORMULAS = "no post of this index contains a formula: search for words"


class FormulaInput(NamedTuple):
    """The readings of the formula in a query (none if it is empty), and notes on what is ignored beside it."""

    readings: tuple[Parsed, ...]
    notes: tuple[str, ...]


def read_formula(text: str) -> FormulaInput:
    """Return the first formula of a query. Without delimiters the whole is a formula, unless it consists of words."""
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
    latex = found.latex()
    page = tuple(_show(hit, own, uses[hit.visual_id], highlighter) for hit, own in zip(found.hits, latex, strict=True))
    notes = (*notes, *unmatched_notes(found.unmatched), *highlighter.notes)
    suggested: tuple[str, ...] = ()
    if not searcher.size:
        suggested = (NO_FORMULAS,)
    elif not found.total:
        suggested = (WILDCARD,) if mode in ("similar", "diverse") else (SIMILAR, WILDCARD)
    return FormulaResults(page, found.total, time.perf_counter() - began, notes, suggested)


def _show(hit: FormulaHit, latex: str, uses: FormulaUses, highlighter: Highlighter) -> DistinctFormula:
    match = highlighter.match(0, latex)
    shown = tuple(FormulaUse(one.post_id, one.thread_id, one.id, plain_title(title)) for one, title in uses.shown)
    found = (match.level, match.item_nodes, match.bindings)
    return DistinctFormula(hit.visual_id, hit.score, latex, mathml_of(latex), *found, shown, uses.posts)


def unmatched_notes(unmatched: int) -> tuple[str, ...]:
    """Say that some formulas were not matched for lack of time."""
    if not unmatched:
        return ()
    return (f"matching takes too long: {unmatched:,} formulas are compared by similarity alone",)
