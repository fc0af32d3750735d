"""What narrows a result, and what to relax when nothing is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from porism.index.posts import Posts
from porism.index.terms import code
from porism.search.answers import Study
from porism.search.query import ReadQuery


@dataclass(frozen=True, slots=True)
class Filter:
    """All of these tags, written in these years (both ends count), accepted answers only."""

    tags: tuple[str, ...] = ()
    years: tuple[int, int] | None = None
    accepted: bool = False

    def keeps(self, rows: npt.NDArray[np.int64], kind: str, posts: Posts) -> npt.NDArray[np.bool_]:
        """Which rows of the kind may stay."""
        kept = np.ones(len(rows), bool)
        questions = kind == "questions"
        if self.years is not None:
            years = (posts.question_years if questions else posts.answer_years)[rows]
            kept &= (years >= self.years[0]) & (years <= self.years[1])
        if self.accepted:
            solved = posts.solved if questions else posts.accepted
            kept &= solved[rows]
        if self.tags:
            wanted = {code(tag) for tag in self.tags}
            threads = rows if questions else posts.parents[rows]
            kept &= np.array([wanted <= set(posts.tags.row(int(t))[0].tolist()) for t in threads], bool)
        return kept


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
