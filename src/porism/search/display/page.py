"""A page of hits: the ranking grouped by thread and sorted, with what a reader needs to decide whether to open a
hit."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Literal, NamedTuple

from porism.records import Hit
from porism.search.display.highlight import Highlighter
from porism.search.display.results import AlsoSearched, SearchHit
from porism.search.display.snippet import QueryMatches, SnippetBuilder
from porism.search.retrieval.context import QueryContext
from porism.search.retriever import Ranking
from porism.store.protocols import Snapshot
from porism.store.records import StoredPost
from porism.text.words import stem

Sort = Literal["relevance", "votes", "date"]
SORTS: tuple[Sort, ...] = ("relevance", "votes", "date")
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


class HitGroup(NamedTuple):
    """Hits of one thread, best first; without grouping every hit is a group."""

    hits: tuple[Hit, ...]


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
        self._highlighter = highlighter
        self._has_formulas = bool(context.query.formulas)
        self._ranking = ranking
        self._group = group
        self._has_votes = snapshot.content.has_votes

    @cached_property
    def groups(self) -> list[HitGroup]:
        """The hits by thread, in order of the best hit of each."""
        if not self._group:
            return [HitGroup((hit,)) for hit in self._ranking]
        found: dict[int, list[Hit]] = {}
        threads = self._snapshot.locate(self._ranking.ids).threads.tolist()
        for thread, hit in zip(threads, self._ranking, strict=True):
            found.setdefault(thread, []).append(hit)
        return [HitGroup(tuple(hits)) for hits in found.values()]

    def hits(self, offset: int, k: int, sort: Sort = "relevance") -> tuple[SearchHit, ...]:
        """Return a page of hits. Votes and dates sort the most relevant hits only; the others follow by relevance."""
        groups = self._slice(offset, offset + k) if sort == "relevance" else self._sorted(sort)[offset : offset + k]
        page = [HitGroup(group.hits[: 1 + MOST_MORE]) for group in groups]
        found = self._snapshot.posts([hit.id for group in page for hit in group.hits], self._parts.terms)
        self._parts.use(found.parts)
        stored = iter(found.posts)
        shown = [[self._shown(hit, next(stored)) for hit in group.hits] for group in page]
        return tuple(
            replace(first, more=tuple(more), more_count=len(group.hits) - 1) if more else first
            for group, (first, *more) in zip(groups, shown, strict=True)
        )

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.groups) if self._group else len(self._ranking)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what is missing for lack of time."""
        return self._highlighter.notes

    def _slice(self, start: int, end: int) -> list[HitGroup]:
        """Return some groups by relevance. Without grouping only these hits of the ranking are read."""
        if self._group:
            return self.groups[start:end]
        hits = Ranking(self._ranking.ids[start:end], self._ranking.scores[start:end])
        return [HitGroup((hit,)) for hit in hits]

    def _sorted(self, sort: Sort) -> list[HitGroup]:
        best = self.groups[:MOST_SORTED]
        posts = [one.post for one in self._snapshot.posts([group.hits[0].id for group in best]).posts]
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
        concept = match.concept
        found[
            AlsoSearched("formula", concept.latex) if match.by_name else AlsoSearched("text", concept.display_name)
        ] = None
    return tuple(found)[:MOST_ALSO]
