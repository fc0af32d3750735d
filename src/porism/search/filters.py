"""Filters of a search by tag, year and acceptance, and suggestions for a search without hits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from porism.index.analysis.terms import code
from porism.index.threads.posts import Posts
from porism.search.answers.searcher import Study
from porism.search.query import ReadQuery

EMPTY_QUERY = "type words or a formula, for example: proof that $\\sqrt{2}$ is irrational"


@dataclass(frozen=True, slots=True)
class Filter:
    """Posts with all of these tags, written in these years (first and last included), and only accepted answers."""

    tags: tuple[str, ...] = ()
    years: tuple[int, int] | None = None
    accepted: bool = False

    def __bool__(self) -> bool:
        return bool(self.tags or self.years or self.accepted)

    def mask(self, kind: str, posts: Posts) -> npt.NDArray[np.bool_]:
        """Return for every post of the kind whether it passes the filter."""
        questions = kind == "questions"
        years = posts.question_years if questions else posts.answer_years
        passes = np.ones(len(years), bool)
        if self.years is not None:
            passes &= (years >= self.years[0]) & (years <= self.years[1])
        if self.accepted:
            passes &= posts.solved if questions else posts.accepted
        for tag in self.tags:
            tagged = np.zeros(len(posts.question_ids), bool)
            threads = np.searchsorted(posts.tags.starts, np.flatnonzero(posts.tags.codes == code(tag)), "right") - 1
            tagged[threads] = True
            passes &= tagged if questions else tagged[posts.parents]
        return passes


NO_FILTER = Filter()


def threads_of(mask: npt.NDArray[np.bool_], kind: str, posts: Posts) -> npt.NDArray[np.bool_]:
    """Return for every thread whether one of its posts of the kind passes the filter."""
    if kind == "questions":
        return mask
    found = np.zeros(len(posts.question_ids), bool)
    found[posts.parents[mask]] = True
    return found


def suggestions(query: ReadQuery, study: Study, chosen: Filter) -> tuple[str, ...]:
    """Say what to try when a search has no hits."""
    if query.empty:
        return (EMPTY_QUERY,)
    found: list[str] = []
    if len(study.table.threads):
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
    if not len(study.asked["words"].codes) and query.title.strip():
        found.append("no post contains any of these words: check the spelling, or try other words")
    return tuple(found)
