"""Fusion of named systems as a part: min-max sum, convex combination, reciprocal ranks, or reciprocal ranks times scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from porism.errors import MissingModelError, PorismError
from porism.search.fusion import RRF, Fusion, RawSum, ScaledSum, ScoreRRF
from porism.search.retriever import DEPTH, Fused, Retriever
from porism.systems.declared.context import SystemContext

Method = Literal["minmax-sum", "minmax", "sum", "rrf", "score-rrf"]
METHODS: dict[Method, Callable[[tuple[float, ...], float], Fusion]] = {
    "minmax-sum": lambda weights, k: ScaledSum(weights),  # the organisers' script: equal scores stay as they are
    "minmax": lambda weights, k: ScaledSum(weights, 0.0),  # approach0: equal scores become 0
    "sum": lambda weights, k: RawSum(weights),
    "rrf": lambda weights, k: RRF(k, weights),
    "score-rrf": lambda weights, k: ScoreRRF(k, weights),
}


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
    fused = Fused(members, METHODS[method](tuple(given), k), names, depth)
    fused.notes = tuple(notes)
    return fused


def one_system(context: SystemContext, of: tuple[str, ...] = ()) -> Retriever:
    """Return another system as it is, for what reads its ranking."""
    if len(of) != 1:
        raise PorismError(f"reads one system, not {len(of)}", fix='write of = ["team/run"]')
    return context.system(of[0])
