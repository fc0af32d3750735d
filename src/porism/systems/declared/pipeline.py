"""Declarations built as pipelines of parts, and fusions of named systems as a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from porism.errors import MissingModelError, PorismError
from porism.search.fusion import RRF, Fusion, RawSum, ScaledSum, ScoreRRF
from porism.search.retriever import DEPTH, Fused, NamedPart, Pipeline, Reranker, Retriever, reported
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import Declaration, PartUse, find_declaration
from porism.systems.declared.parts import make_part
from porism.systems.named_models import (
    MODEL_OPTIONS,
    OPTIONAL,
    directory_for,
    missing_model,
    missing_models,
    named_models,
)

Overrides = Mapping[str, Mapping[str, Any]]  # part -> option -> value


def build_system(name: str, context: SystemContext) -> Pipeline:
    """Build the declared system with a name for the task of the context."""
    return build_declared(find_declaration(name, context.task), context)


def build_declared(declaration: Declaration, context: SystemContext) -> Pipeline:
    """Build a system from its declaration: the parts with their options, those of the context winning."""
    check_runnable(declaration, context)
    made = []
    for place, part in enumerate(declaration.parts):
        options = {**part.options, **context.overrides.get(part.use, {})}
        with reported(declaration.name, part.use):
            built = make_part(part.use, options, context)
            wanted = Retriever if place == 0 else Reranker
            if not isinstance(built, wanted):
                kind = "first part must be a retriever" if place == 0 else "later parts must be re-rankers"
                raise PorismError(f"a {type(built).__name__}: the {kind}", fix="change the order of the parts")
        made.append(NamedPart(part.use, built))
    return Pipeline(made, declaration.name)


def check_runnable(declaration: Declaration, context: SystemContext) -> None:
    """Refuse a declaration without parts, or without a model that its parts need."""
    if not declaration.parts and declaration.models:
        names = "; ".join(declaration.models)
        fact = f"{declaration.name} needs a model that does not come with Porism: {names}"
        fix = "download the model into a directory; this version has no part that reads it yet"
        raise MissingModelError(fact, fix=fix)
    if not declaration.parts:
        fix = "declare parts = [{ use = ... }]"
        raise PorismError(f"{declaration.name} has no parts", where=declaration.file, fix=fix)
    if missing := missing_models(needed_models(declaration, context.overrides), context.models):
        raise missing_model(missing, declaration.name)


def needed_models(declaration: Declaration, overrides: Overrides | None = None) -> list[str]:
    """Return the named models that the parts of a system need, without those of the systems that it fuses."""
    return _required(declaration.parts, overrides or {})


def all_models(declaration: Declaration) -> list[str]:
    """Return the named models that a system, with the systems that it fuses, needs."""
    return _required(used_parts(declaration), {})


def _required(parts: Iterable[PartUse], overrides: Overrides) -> list[str]:
    options = [one for one in MODEL_OPTIONS if one != OPTIONAL]
    return [name for name in _model_values(parts, overrides, options) if name in named_models()]


def used_models(declaration: Declaration, overrides: Overrides, models: Mapping[str, str]) -> dict[str, str]:
    """Return the directories that a system, with the systems that it fuses, uses, by the names of models."""
    values = _model_values(used_parts(declaration), overrides, MODEL_OPTIONS)
    return {name: place for name in values if name and (place := directory_for(name, models))}


def _model_values(parts: Iterable[PartUse], overrides: Overrides, names: Sequence[str]) -> list[str]:
    """Return the values of options that name models."""
    chosen = ({**part.options, **overrides.get(part.use, {})} for part in parts)
    return [str(options.get(name, "")) for options in chosen for name in names]


def is_runnable(declaration: Declaration, models: Mapping[str, str] | None = None) -> bool:
    """Return whether a system runs with these models, by default none; also the systems that it fuses."""
    given = models or {}
    if not declaration.parts or missing_models(needed_models(declaration), given):
        return False
    if declaration.status == "needs model" and not all_models(declaration):
        return False  # an endpoint, which an option names
    members = [find_declaration(name, declaration.member_task) for name in declaration.members]
    skips = any(part.options.get("missing") == "skip" for part in declaration.parts)
    able = [is_runnable(member, given) for member in members]
    return not members or all(able) or (skips and any(able))


def used_parts(declaration: Declaration) -> Iterator[PartUse]:
    """Yield the parts of a system and of the systems that it fuses."""
    for part in declaration.parts:
        yield part
        for member in part.options.get("of", ()):
            yield from used_parts(find_declaration(member, declaration.member_task))


def check_overrides(declaration: Declaration, overrides: Overrides) -> None:
    """Refuse options for parts that a system does not have."""
    names = list(dict.fromkeys(part.use for part in used_parts(declaration)))
    for part in overrides:
        if part not in names:
            fix = f"its parts are {', '.join(names) or 'none'}"
            raise PorismError(f"{declaration.name} has no part {part}", where="--set", fix=fix)


Method = Literal["minmax-sum", "minmax", "sum", "rrf", "score-rrf"]
METHODS: dict[Method, Callable[[tuple[float, ...], float], Fusion]] = {
    "minmax-sum": lambda weights, k: ScaledSum(weights),  # the organisers' script: equal scores stay as they are
    "minmax": lambda weights, k: ScaledSum(weights, 0.0),  # approach0: equal scores become 0
    "sum": lambda weights, k: RawSum(weights),
    "rrf": lambda weights, k: RRF(k, weights),
    "score-rrf": lambda weights, k: ScoreRRF(k, weights),
}


@dataclass(frozen=True, slots=True)
class FusionChoice:
    """How rankings are fused: the method, the weight of each member (none: 1), and the constant of reciprocal ranks."""

    method: Method = "rrf"
    weights: tuple[float, ...] = ()
    k: float = 60.0


def fused_systems(
    context: SystemContext,
    of: tuple[str, ...] = (),
    *,
    choice: FusionChoice,
    depth: int = DEPTH,
    missing: Literal["error", "skip"] = "error",
) -> Retriever:
    """Fuse the rankings of other systems. With `missing = "skip"`, those that need a model are left out with a note."""
    members: list[Retriever] = []
    names: list[str] = []
    left_out: dict[str, str] = {}  # with the reasons
    for name in of:
        try:
            members.append(context.system(name))
            names.append(name)
        except MissingModelError as error:
            if missing == "error":
                raise
            left_out[name] = error.message
    if not members:
        fact = f"no member to fuse: {'; '.join(left_out.values())}" if left_out else "no member to fuse"
        raise PorismError(fact, fix='name systems: of = ["team/run", ...]')
    if choice.weights and len(choice.weights) != len(of):
        raise PorismError(f"{len(choice.weights)} weights for {len(of)} systems", fix="give one for each")
    given = [weight for name, weight in zip(of, choice.weights, strict=False) if name in names] or [1.0] * len(members)
    fused = Fused(members, METHODS[choice.method](tuple(given), choice.k), names, depth)
    without = (f"left out, since they need models: {', '.join(left_out)}",) if left_out else ()
    fused.notes = (f"fused: {', '.join(names)}", *without)
    return fused


def one_system(context: SystemContext, of: tuple[str, ...] = ()) -> Retriever:
    """Return another system as it is, for what reads its ranking."""
    if len(of) != 1:
        raise PorismError(f"reads one system, not {len(of)}", fix='write of = ["team/run"]')
    return context.system(of[0])
