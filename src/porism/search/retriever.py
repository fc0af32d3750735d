"""Retrievers, re-rankers and pipelines: what searches, and how the parts compose.

A retriever turns a query into a ranking; a re-ranker turns a ranking into another. `a >> b` is the pipeline that
re-ranks with `b` what `a` finds; `fuse(a, b, method=RRF())` is the one that combines the rankings of several. The
search page, `porism run`, every named system and PyTerrier run a `Pipeline`. Write your own part by implementing one
method; the page "Write your own retriever" of the documentation shows how, and `porism.search.conformance` checks
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.post import Formula
from porism.errors import MissingModelError, PorismError
from porism.evaluate.fusion import ScoredIds
from porism.records import Explanation, Hit
from porism.search.fusion import RRF, Fusion
from porism.search.query import ReadQuery

Ints = npt.NDArray[np.int64]
DEPTH = 1000  # hits that a fusion takes from each of its members, at least


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Ids with scores, best first. Equal scores are in the order that trec_eval uses: larger id, as text, first."""

    ids: Ints
    scores: npt.NDArray[np.float64]

    @classmethod
    def of(cls, scores: Mapping[int, float] | Iterable[tuple[int, float]], k: int | None = None) -> Ranking:
        """Make a ranking of (id, score) pairs in any order, and keep the best k."""
        pairs = list(scores.items()) if isinstance(scores, Mapping) else list(scores)
        ids = np.array([number for number, _ in pairs], np.int64)
        ranking = Ranking.sorted(ids, np.array([score for _, score in pairs], np.float64))
        return ranking if k is None else ranking.top(k)

    @classmethod
    def sorted(cls, ids: Ints, scores: npt.NDArray[np.floating]) -> Ranking:
        """Make a ranking of parallel arrays in any order."""
        order = np.lexsort((ids.astype(np.bytes_), scores))[::-1]
        return Ranking(ids[order], np.asarray(scores[order], np.float64))

    def top(self, k: int) -> Ranking:
        """Return the best k."""
        return Ranking(self.ids[: max(k, 0)], self.scores[: max(k, 0)])

    def restricted(self, ids: Sequence[int]) -> Ranking:
        """Return the ranking of exactly these ids: those it lacks come last, with the lowest score, at most 0."""
        kept = np.isin(self.ids, ids)
        missing = np.setdiff1d(np.array(ids, np.int64), self.ids)
        lowest = min(0.0, float(self.scores[kept].min(initial=0.0)))
        scores = np.concatenate((self.scores[kept], np.full(len(missing), lowest)))
        return Ranking.sorted(np.concatenate((self.ids[kept], missing)), scores)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Hit]:
        return (Hit(number, score) for number, score in zip(self.ids.tolist(), self.scores.tolist(), strict=True))


class PipelinePart:
    """What retrievers and re-rankers have in common: notes on a run, and the models that they use."""

    notes: tuple[str, ...] = ()
    models: tuple[Any, ...] = ()  # records of models, which print as a note

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Retriever(PipelinePart):
    """Finds posts, or formulas by their visual ids, for a query. Subclasses implement `search`."""

    finds: Literal["posts", "formulas"] = "posts"
    scored_depth: int = 100_000  # hits in which `score` looks for given ids

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return at most k hits, best first."""
        raise NotImplementedError

    def score(self, query: ReadQuery, ids: Sequence[int]) -> Ranking:
        """Rank given posts or formulas. A subclass that can score an item by itself overrides this; by default an item
        has the score of the search, and an item that the search does not find comes last."""
        return self.search(query, self.scored_depth).restricted(ids)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Explain the score of a hit: by parts that sum to it if a subclass gives them, else by the rank."""
        found = self.search(query, DEPTH)
        at = np.flatnonzero(found.ids == id)
        if not len(at):
            fact = f"{id} is not among the first {DEPTH} hits of this query"
            raise PorismError(fact, fix="name a hit of the ranking")
        return Explanation(float(found.scores[at[0]]), f"rank {int(at[0]) + 1} of {len(found)}")

    def __rshift__(self, reranker: Reranker) -> Pipeline:
        parts = self.parts if isinstance(self, Pipeline) and not self.name else (_named(self),)
        return Pipeline((*parts, _named(reranker)))


class Reranker(PipelinePart):
    """Orders the hits of another retriever anew. Subclasses implement `rerank`. It may return other items than it was
    given: the default engine receives threads, named by their questions, and returns answers."""

    depth: int = DEPTH  # hits that it reads, or as many as are asked for

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the hits in a new order."""
        raise NotImplementedError

    def score(self, query: ReadQuery, ranking: Ranking, ids: Sequence[int]) -> Ranking:
        """Rank given items as candidates. `ranking` is what the parts before found for the query, with their scores."""
        return self.rerank(query, ranking.restricted(ids)).restricted(ids)

    def explain(self, query: ReadQuery, id: int, found: Callable[[], Ranking]) -> Explanation | None:
        """Explain the score of a hit that the parts before find, by `found()`; None if there is only a rank."""
        return None


class NamedPart(NamedTuple):
    """A part of a pipeline, and the name that errors call it by."""

    name: str
    part: Retriever | Reranker


class Pipeline(Retriever):
    """A retriever, then re-rankers. With a name, it reports errors with that name and the part that failed."""

    def __init__(self, parts: Sequence[NamedPart], name: str = "") -> None:
        first, *others = parts
        if not isinstance(first.part, Retriever) or not all(isinstance(one.part, Reranker) for one in others):
            raise TypeError("a pipeline is a retriever, then re-rankers")
        self.name = name
        self.parts = tuple(parts)
        self.retriever = first.part
        self.rerankers = tuple(one.part for one in others if isinstance(one.part, Reranker))
        self.finds = self.retriever.finds

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return at most k hits of the last part."""
        return self.rank(query, k).top(k) if k > 0 else Ranking.of({})

    def rank(self, query: ReadQuery, k: int = 0) -> Ranking:
        """Return all hits of the last part, whose order is right for the first k."""
        return self._through(query, len(self.rerankers), k)

    def _through(self, query: ReadQuery, rerankers: int, k: int = 0) -> Ranking:
        """Return what the retriever and some re-rankers find."""
        depth = max(self.rerankers[0].depth if self.rerankers else 0, k)
        with self._reported(self.parts[0]):
            found = self.retriever.search(query, depth)
        for named, reranker in zip(self.parts[1:], self.rerankers[:rerankers], strict=False):
            with self._reported(named):
                found = reranker.rerank(query, found)
        return found

    def score(self, query: ReadQuery, ids: Sequence[int]) -> Ranking:
        """Rank given posts or formulas: the last part scores them, whether the parts before find them or not."""
        if not self.rerankers:
            with self._reported(self.parts[0]):
                return self.retriever.score(query, ids)
        found = self._through(query, len(self.rerankers) - 1)
        with self._reported(self.parts[-1]):
            return self.rerankers[-1].score(query, found, ids)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Explain the score of a hit by the last part, if that part explains its scores; else say score and rank."""
        with self._reported(self.parts[-1]):
            if not self.rerankers:
                return self.retriever.explain(query, id)
            before = partial(self._through, query, len(self.rerankers) - 1)
            own = self.rerankers[-1].explain(query, id, before)
        return own or super().explain(query, id)

    @property
    def names_instances(self) -> bool:
        """Whether a part chooses the formula that represents a visual id in a run."""
        return any(hasattr(named.part, "instances") for named in self.parts)

    def instances(self, visual_ids: Sequence[int]) -> dict[int, Formula]:
        """Return the formulas that represent visual ids in a run, as the last part chooses that chooses any."""
        choices = (getattr(named.part, "instances", None) for named in reversed(self.parts))
        choose = next(filter(None, choices), None)
        chosen: dict[int, Formula] = choose(visual_ids) if choose else {}
        return chosen

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the parts say of a run: which members a fusion has, from what a layout was made."""
        return tuple(note for named in self.parts for note in named.part.notes)

    @property
    def models(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The models that the parts use, each once."""
        return tuple(dict.fromkeys(use for named in self.parts for use in named.part.models))

    def __repr__(self) -> str:
        return " >> ".join(repr(named.part) for named in self.parts)

    def _reported(self, part: NamedPart) -> AbstractContextManager[None]:
        return reported(self.name, part.name) if self.name else nullcontext()


class Fused(Retriever):
    """Several retrievers as one. Notes and explanations call the members by their names."""

    def __init__(
        self, members: Sequence[Retriever], method: Fusion, names: Sequence[str] = (), depth: int | None = None
    ) -> None:
        """`depth` is the number of hits of each member; by default as many as are searched, and at least DEPTH."""
        self._members, self._method, self._depth = tuple(members), method, depth
        self._names = tuple(names or map(repr, members))
        self.finds = members[0].finds
        self.models = tuple(dict.fromkeys(use for member in members for use in member.models))

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k of what the members find."""
        return Ranking.sorted(*self._method.fuse(self._rankings(query, k))).top(k)

    def _rankings(self, query: ReadQuery, k: int = 0) -> list[ScoredIds]:
        found = (member.search(query, self._depth or max(k, DEPTH)) for member in self._members)
        return [ScoredIds(one.ids, one.scores) for one in found]

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return what each member adds to the score."""
        rankings = self._rankings(query)
        nothing = ScoredIds(np.empty(0, np.int64), np.empty(0))
        parts = []
        for place, name in enumerate(self._names):
            alone = self._method.fuse([one if at == place else nothing for at, one in enumerate(rankings)])
            at = np.flatnonzero(alone.ids == id)
            rank = np.flatnonzero(rankings[place].ids == id)
            reason = f"{name}: rank {int(rank[0]) + 1}" if len(rank) else f"{name}: not found"
            parts.append(Explanation(float(alone.scores[at[0]]) if len(at) else 0.0, reason))
        return Explanation(sum(part.value for part in parts), f"{self._method} of {len(parts)} systems", tuple(parts))

    def __repr__(self) -> str:
        return f"fuse({', '.join(map(repr, self._members))}, method={self._method})"


def fuse(*retrievers: Retriever, method: Fusion | None = None) -> Pipeline:
    """Return the pipeline that fuses the rankings of several retrievers, by reciprocal ranks by default."""
    if not retrievers:
        raise ValueError("fuse needs at least one retriever")
    return Pipeline([_named(Fused(retrievers, RRF() if method is None else method))])


def _named(part: Retriever | Reranker) -> NamedPart:
    return NamedPart(type(part).__name__, part)


@contextmanager
def reported(system: str, part: str) -> Iterator[None]:
    """Turn an error into one that names the system and its part."""
    place = f"{system}, part {part}"
    try:
        yield
    except MissingModelError:
        raise
    except PorismError as error:
        if error.where.startswith(f"{system}, part "):
            raise
        where = f"{place}: {error.where}" if error.where else place
        raise PorismError(error.message, where=where, fix=error.fix) from error
    except MemoryError:
        raise
    except Exception as error:
        fact = f"failed: {type(error).__name__}: {error}"
        raise PorismError(fact, where=place, fix="report it, with the command") from error
