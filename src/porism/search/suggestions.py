"""Suggestions for a search without hits: what to relax, or how to search differently."""

from __future__ import annotations

from porism.search.answers.reranker import ScoredRanking
from porism.search.query import ReadQuery
from porism.store.records import Filter

EMPTY_QUERY = "type words or a formula, for example: proof that $\\sqrt{2}$ is irrational"


def suggestions(query: ReadQuery, ranked: ScoredRanking, chosen: Filter) -> tuple[str, ...]:
    """Say what to try when a search has no hits."""
    if query.empty:
        return (EMPTY_QUERY,)
    found: list[str] = []
    if ranked.thread_count:
        if chosen.tags:
            found.append(f"search without the tag {' or '.join(chosen.tags)}")
        if chosen.years is not None:
            found.append("search in all years")
        if chosen.accepted:
            found.append("search in all answers, not only in accepted ones")
        return tuple(found)
    if query.formulas:
        found.append("search for similar formulas: use the Formulas tab, or `porism formulas`")
        found.append("replace a part of the formula by a wildcard, for example ?x")
    if not len(ranked.scoring.context.terms["words"]) and query.title.strip():
        found.append("no post contains any of these words: check the spelling, or try other words")
    return tuple(found)
