"""What narrows a result, and what to relax when nothing is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from porism.index.analysis.terms import code
from porism.index.threads.posts import Posts
from porism.search.answers.searcher import Study
from porism.search.query import ReadQuery


@dataclass(frozen=True, slots=True)
class Filter:
    """All of these tags, written in these years (both ends count), accepted answers only."""

    tags: tuple[str, ...] = ()
    years: tuple[int, int] | None = None
    accepted: bool = False

    def __bool__(self) -> bool:
        return bool(self.tags or self.years or self.accepted)

    def keeps(self, kind: str, posts: Posts) -> npt.NDArray[np.bool_]:
        """Which posts of the kind may stay, for all of them."""
        questions = kind == "questions"
        years = posts.question_years if questions else posts.answer_years
        kept = np.ones(len(years), bool)
        if self.years is not None:
            kept &= (years >= self.years[0]) & (years <= self.years[1])
        if self.accepted:
            kept &= posts.solved if questions else posts.accepted
        for tag in self.tags:
            tagged = np.zeros(len(posts.question_ids), bool)
            tagged[np.searchsorted(posts.tags.starts, np.flatnonzero(posts.tags.codes == code(tag)), "right") - 1] = (
                True
            )
            kept &= tagged if questions else tagged[posts.parents]
        return kept


EVERYTHING = Filter()


def threads_with(kept: npt.NDArray[np.bool_], kind: str, posts: Posts) -> npt.NDArray[np.bool_]:
    """Which threads have one of the posts of the kind that may stay."""
    if kind == "questions":
        return kept
    found = np.zeros(len(posts.question_ids), bool)
    found[posts.parents[kept]] = True
    return found


def suggestions(query: ReadQuery, study: Study, narrow: Filter) -> tuple[str, ...]:
    """What to relax when nothing was found."""
    if query.empty:
        return ("type a word or a formula, e.g. proof that $\\sqrt{2}$ is irrational",)
    found: list[str] = []
    if len(study.table.threads):
        if narrow.tags:
            found.append(f"search without the tag {', '.join(narrow.tags)}")
        if narrow.years is not None:
            found.append("search in all years")
        if narrow.accepted:
            found.append("search in all answers, not only accepted ones")
        return tuple(found)
    if query.formulas:
        found.append("search for formulas like yours: the formula tab, or porism formulas")
        found.append("replace a part of the formula by a wildcard, e.g. ?x")
    if not len(study.asked["words"].codes) and query.title.strip():
        found.append("no post has any of these words: check the spelling or use others")
    return tuple(_distinct(found))


def _distinct(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(words))
