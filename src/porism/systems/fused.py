"""Fusion of named systems as a part: min-max sum, convex combination, reciprocal ranks, or reciprocal ranks times scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.evaluate.fusion import ScoredIds, rrf, score_rrf
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import MissingModelError

Floats = npt.NDArray[np.float64]
Method = Literal["minmax-sum", "minmax", "sum", "rrf", "score-rrf"]


def fused_systems(
    context: SystemContext,
    of: tuple[str, ...] = (),
    method: Method = "rrf",
    weights: tuple[float, ...] = (),
    k: float = 60.0,
    depth: int = DEPTH,
    missing: Literal["error", "skip"] = "error",
) -> Retriever:
    """Fuse the rankings of other systems. With `missing = "skip"`, members that need a model are left out, and the record says so."""
    members: list[Retriever] = []
    names: list[str] = []
    left_out: list[str] = []
    reasons: list[str] = []
    for name in of:
        try:
            members.append(context.system(name))
            names.append(name)
        except MissingModelError as error:
            if missing == "error":
                raise
            left_out.append(name)
            reasons.append(error.message)
    if not members:
        fact = f"no member to fuse: {'; '.join(reasons)}" if reasons else "no member to fuse"
        raise PorismError(fact, fix='name systems: of = ["team/run", ...]')
    if weights and len(weights) != len(of):
        raise PorismError(f"{len(weights)} weights for {len(of)} systems", fix="give one for each")
    given = [weight for name, weight in zip(of, weights, strict=False) if name in names] or [1.0] * len(members)
    notes = [f"fused: {', '.join(names)}"]
    if left_out:
        notes.append(f"left out, since they need models: {', '.join(left_out)}")
    return FusedSystems(tuple(members), tuple(names), method, tuple(given), k, depth, tuple(notes))


def one_system(context: SystemContext, of: tuple[str, ...] = ()) -> Retriever:
    """Return another system as it is, for what reads its ranking."""
    if len(of) != 1:
        raise PorismError(f"reads one system, not {len(of)}", fix='write of = ["team/run"]')
    return context.system(of[0])


class FusedSystems(Retriever):
    """Several systems as one."""

    def __init__(
        self,
        members: tuple[Retriever, ...],
        names: tuple[str, ...],
        method: Method,
        weights: tuple[float, ...],
        k: float,
        depth: int,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._members, self._names, self._method = members, names, method
        self._weights, self._k, self._depth = weights, k, depth
        self.finds = members[0].finds
        self.notes = notes
        self.models = tuple(dict.fromkeys(use for member in members for use in getattr(member, "models", ())))

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k of the fused ranking."""
        return Ranking.sorted(*self._fuse(self._rankings(query))).top(k)

    def _rankings(self, query: ReadQuery) -> list[ScoredIds]:
        return [ScoredIds(one.ids, one.scores) for one in (m.search(query, self._depth) for m in self._members)]

    def _fuse(self, rankings: Sequence[ScoredIds]) -> ScoredIds:
        return METHODS[self._method](rankings, self._weights, self._k)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return what each member adds to the score."""
        rankings = self._rankings(query)
        nothing = ScoredIds(np.empty(0, np.int64), np.empty(0))
        parts = []
        for place, name in enumerate(self._names):
            alone = self._fuse([one if at == place else nothing for at, one in enumerate(rankings)])
            at = np.flatnonzero(alone.ids == id)
            rank = np.flatnonzero(rankings[place].ids == id)
            reason = f"{name}: rank {int(rank[0]) + 1}" if len(rank) else f"{name}: not found"
            parts.append(Explanation(float(alone.scores[at[0]]) if len(at) else 0.0, reason))
        return Explanation(sum(part.value for part in parts), f"{self._method} of {len(parts)} systems", tuple(parts))


def _scaled(rankings: Sequence[ScoredIds], scale: Callable[[Floats], Floats]) -> list[ScoredIds]:
    return [ScoredIds(one.ids, scale(one.scores)) for one in rankings]


def _raw_if_equal(scores: Floats) -> Floats:
    """Min-max of the organisers' script: if all scores are equal, they stay as they are."""
    if not len(scores) or scores.max() == scores.min():
        return scores
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()))


def _zero_if_equal(scores: Floats) -> Floats:
    """Min-max of approach0: if all scores are equal, they become 0."""
    if not len(scores) or scores.max() == scores.min():
        return np.zeros(len(scores))
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()))


def _sum(rankings: Sequence[ScoredIds], weights: Sequence[float]) -> ScoredIds:
    """Sum weighted scores as they are. Each id counts once per ranking."""
    ids, position = np.unique(np.concatenate([one.ids for one in rankings]), return_inverse=True)
    sums = np.zeros(len(ids))
    start = 0
    for one, weight in zip(rankings, weights, strict=True):
        sums[position[start : start + len(one.ids)]] += weight * one.scores
        start += len(one.ids)
    order = np.argsort(-sums, kind="stable")
    return ScoredIds(ids[order], sums[order])


METHODS: dict[Method, Callable[[Sequence[ScoredIds], Sequence[float], float], ScoredIds]] = {
    "minmax-sum": lambda rankings, weights, k: _sum(_scaled(rankings, _raw_if_equal), weights),
    "minmax": lambda rankings, weights, k: _sum(_scaled(rankings, _zero_if_equal), weights),
    "sum": lambda rankings, weights, k: _sum(rankings, weights),
    "rrf": lambda rankings, weights, k: rrf(rankings, weights, k),
    "score-rrf": lambda rankings, weights, k: score_rrf(rankings, weights, k),
}
