"""Fusions: how several rankings of one query become one. Each is a value that prints as itself; the arithmetic is that
of run files (`porism.evaluate.fusion`), so that fusing retrievers and fusing their runs give the same ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from porism.evaluate.fusion import ScoredIds, comb_mnz, comb_sum, convex, raw_sum, rrf, score_rrf, weighted_sum


class Fusion(Protocol):
    """What combines rankings."""

    def fuse(self, rankings: Sequence[ScoredIds]) -> ScoredIds:
        """Return the fused ranking."""


def _checked(weights: tuple[float, ...], rankings: Sequence[ScoredIds]) -> Sequence[float] | None:
    if weights and len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings; give one for each")
    return weights or None


@dataclass(frozen=True, slots=True)
class RRF:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): the sum of weight / (k + rank)."""

    k: float = 60.0
    weights: tuple[float, ...] = ()

    def fuse(self, rankings: Sequence[ScoredIds]) -> ScoredIds:
        """Return the fused ranking."""
        return rrf(rankings, _checked(self.weights, rankings), self.k)


@dataclass(frozen=True, slots=True)
class ScoreRRF:
    """The sum of weight x score / (k + rank)."""

    k: float = 60.0
    weights: tuple[float, ...] = ()

    def fuse(self, rankings: Sequence[ScoredIds]) -> ScoredIds:
        """Return the fused ranking."""
        return score_rrf(rankings, _checked(self.weights, rankings), self.k)


@dataclass(frozen=True, slots=True)
class WeightedFusion:
    """A fusion that has no choices but the weights."""

    weights: tuple[float, ...] = ()
    combine: ClassVar[staticmethod[..., ScoredIds]]

    def fuse(self, rankings: Sequence[ScoredIds]) -> ScoredIds:
        """Return the fused ranking."""
        return type(self).combine(rankings, _checked(self.weights, rankings))


class CombSum(WeightedFusion):
    """CombSUM (Fox and Shaw, 1994): the sum of weight x score, the scores of each ranking scaled to 0..1."""

    combine = staticmethod(comb_sum)


class CombMNZ(WeightedFusion):
    """CombMNZ (Fox and Shaw, 1994): CombSUM times the number of rankings that contain the item."""

    combine = staticmethod(comb_mnz)


class Convex(WeightedFusion):
    """The weighted mean of the scores, the scores of each ranking scaled to 0..1."""

    combine = staticmethod(convex)


@dataclass(frozen=True, slots=True)
class ScaledSum:
    """The sum of weight x score, each ranking scaled to 0..1. Equal scores become `if_equal`, or stay with None."""

    weights: tuple[float, ...] = ()
    if_equal: float | None = None

    def fuse(self, rankings: Sequence[ScoredIds]) -> ScoredIds:
        """Return the fused ranking."""
        return weighted_sum(rankings, _checked(self.weights, rankings), self.if_equal)


class RawSum(WeightedFusion):
    """The sum of weight x score, the scores as they are."""

    combine = staticmethod(raw_sum)
