"""A declared system as a retriever: its parts in order. An error names the system and the part in which it happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from porism.corpus.post import Formula
from porism.errors import PorismError
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Reranker, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import Declaration, MissingModelError, PartUse, find_declaration
from porism.systems.declared.parts import Part, make_part
from porism.systems.neural.chosen_models import ModelUse, missing_model
from porism.systems.neural.named_models import MODEL_OPTIONS, OPTIONAL, directory_for, missing_models, named_models

Overrides = Mapping[str, Mapping[str, Any]]  # part -> option -> value


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A part of a pipeline with the name by which the declaration uses it."""

    use: str
    part: Part


class System(Retriever):
    """A declared system: a retriever, then re-rankers."""

    def __init__(self, declaration: Declaration, parts: tuple[NamedPart, ...]) -> None:
        self.declaration = declaration
        self._parts = parts
        self.finds = "formulas" if declaration.task == 2 else "posts"

    @property
    def retriever(self) -> Retriever:
        """The first part."""
        first = self._parts[0].part
        assert isinstance(first, Retriever)
        return first

    @property
    def rerankers(self) -> tuple[Reranker, ...]:
        """The parts after the first."""
        return tuple(named.part for named in self._parts[1:] if isinstance(named.part, Reranker))

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return at most k hits of the last part."""
        if k < 1:
            return Ranking.of({})
        depth = self._parts[1].part.depth if len(self._parts) > 1 and isinstance(self._parts[1].part, Reranker) else k
        with self._report(self._parts[0].use):
            found = self.retriever.search(query, max(depth, k))
        for named in self._parts[1:]:
            assert isinstance(named.part, Reranker)
            with self._report(named.use):
                found = named.part.rerank(query, found)
        return found.top(k)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Explain the score of a hit by the last part, if that part explains its scores; else say score and rank."""
        last = self._parts[-1]
        own = getattr(last.part, "explain", None)
        if own is None or (isinstance(last.part, Retriever) and type(last.part).explain is Retriever.explain):
            return super().explain(query, id)
        with self._report(last.use):
            explanation: Explanation = own(query, id)
            return explanation

    @property
    def names_instances(self) -> bool:
        """Whether a part chooses the formula that represents a visual id in a run."""
        return any(hasattr(named.part, "instances") for named in self._parts)

    def instances(self, visual_ids: Sequence[int]) -> dict[int, Formula]:
        """Return the formulas that represent visual ids in a run of this system, as far as the last part that chooses them does."""
        for named in reversed(self._parts):
            choose = getattr(named.part, "instances", None)
            if choose is not None:
                chosen: dict[int, Formula] = choose(visual_ids)
                return chosen
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the parts say of this run: which members a fusion has, from what a layout was made."""
        return tuple(note for named in self._parts for note in getattr(named.part, "notes", ()))

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """The models that the parts use, each once."""
        return tuple(dict.fromkeys(use for named in self._parts for use in getattr(named.part, "models", ())))

    @contextmanager
    def _report(self, part: str) -> Iterator[None]:
        with reported(self.declaration.name, part):
            yield


@contextmanager
def reported(system: str, part: str) -> Iterator[None]:
    """Turn an error into one that names the system and its part."""
    try:
        yield
    except MissingModelError:
        raise
    except PorismError as error:
        if error.where.startswith(f"{system}, part "):
            raise
        place = f"{system}, part {part}"
        raise PorismError(
            error.message, where=f"{place}: {error.where}" if error.where else place, fix=error.fix
        ) from error
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except Exception as error:
        fact = f"{type(error).__name__}: {error}"
        raise PorismError(
            f"failed: {fact}", where=f"{system}, part {part}", fix="report it, with the command"
        ) from error


def build_system(name: str, context: SystemContext) -> System:
    """Build the declared system with a name for the task of the context."""
    return build_declared(find_declaration(name, context.task), context)


def build_declared(declaration: Declaration, context: SystemContext) -> System:
    """Build a system from its declaration: the parts with their options, those of the context winning."""
    if not declaration.parts:
        raise not_runnable(declaration)
    if missing := missing_models(needed_models(declaration, context.overrides), context.models):
        raise missing_model(missing, declaration.name)
    made = []
    for place, part in enumerate(declaration.parts):
        options = {**part.options, **context.overrides.get(part.use, {})}
        with reported(declaration.name, part.use):
            built = make_part(part.use, options, context)
            wanted = Retriever if place == 0 else Reranker
            if not isinstance(built, wanted):
                kind = "first part must be a retriever" if place == 0 else "later parts must be re-rankers"
                raise PorismError(f"is a {type(built).__name__}: the {kind}", fix="change the order of the parts")
        made.append(NamedPart(part.use, built))
    return System(declaration, tuple(made))


def not_runnable(declaration: Declaration) -> PorismError:
    """Return the error for a declaration without parts."""
    if declaration.models:
        names = "; ".join(declaration.models)
        return MissingModelError(
            f"{declaration.name} needs a model that does not come with Porism: {names}",
            fix="download the model into a directory; this version has no part that reads it yet",
        )
    return PorismError(
        f"{declaration.name} has no parts", where=declaration.file, fix="declare parts = [{ use = ... }]"
    )


def needed_models(declaration: Declaration, overrides: Overrides | None = None) -> list[str]:
    """Return the named models that the parts of a system need; those of the systems that it fuses are not among them."""
    required = [one for one in MODEL_OPTIONS if one != OPTIONAL]
    values = _model_values(declaration.parts, overrides or {}, required)
    return [name for name in values if name in named_models()]


def all_models(declaration: Declaration) -> list[str]:
    """Return the named models that a system, with the systems that it fuses, needs."""
    required = [one for one in MODEL_OPTIONS if one != OPTIONAL]
    return [name for name in _model_values(used_parts(declaration), {}, required) if name in named_models()]


def used_models(declaration: Declaration, overrides: Overrides, models: Mapping[str, str]) -> dict[str, str]:
    """Return the directories that a system, with the systems that it fuses, uses, by the names of models."""
    values = _model_values(used_parts(declaration), overrides, MODEL_OPTIONS)
    found = {name: directory_for(name, models) for name in values if name}
    return {name: place for name, place in found.items() if place}


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
            raise PorismError(
                f"{declaration.name} has no part {part}",
                where="--set",
                fix=f"its parts are {', '.join(names) or 'none'}",
            )
