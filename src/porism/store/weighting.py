"""Weightings: how much a term of the query adds to the score of a document.

A weighting is a value. `weigh` computes the weights of one term in many documents from raw counts, exact lengths and
exact statistics of the collection; the index adds them up. `bias` is what every document gets for its length alone
(query likelihood needs it)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled

Floats = npt.NDArray[np.float64]
Idf = Literal["lucene", "robertson", "plus", "log2", "terrier", "none"]


class TermCounts(NamedTuple):
    """Statistics of one term in a view: documents with it, its occurrences in them, its weight in the query."""

    documents: int
    occurrences: float
    query_weight: float = 1.0


class ViewCounts(NamedTuple):
    """Statistics of a view: how many documents it has, and the sum of their lengths."""

    documents: int
    length: float

    @property
    def mean_length(self) -> float:
        """The mean length of a document."""
        return self.length / self.documents if self.documents else 0.0


class Weighting(Protocol):
    """What an index needs to know of a weighting."""

    def weigh(self, counts: Floats, lengths: Floats, term: TermCounts, view: ViewCounts) -> Floats:
        """Return the weight of one term in documents that contain it `counts` times and have these lengths."""


@runtime_checkable
class LengthBias(Protocol):
    """A weighting that also scores the length of every matching document."""

    def bias(self, lengths: Floats, query_length: float) -> Floats:
        """Return what the lengths add to the scores, given the sum of the weights of the query's terms."""


@compiled
def length_factor(length: Any, mean_length: Any, k1: Any, b: Any) -> Any:
    """BM25's part of a document's length: k1 (1 - b + b length / mean length)."""
    return k1 * (1.0 - b + b * length / mean_length)


@compiled
def saturate(count: Any, length_factor: Any, k1: Any) -> Any:
    """BM25's part of a term count: (k1 + 1) tf / (tf + length factor)."""
    return (k1 + 1.0) * count / (count + length_factor)


@compiled
def saturation(count: Any, length: Any, mean_length: Any, k1: Any, b: Any) -> Any:
    """BM25 of a count in a document without idf: (k1 + 1) tf / (tf + k1 (1 - b + b length / mean length))."""
    return saturate(count, length_factor(length, mean_length, k1, b), k1)


def lucene_idf(documents: Any, frequency: Any) -> Any:
    """ln(1 + (N - df + .5) / (df + .5)), which is never negative."""
    return np.log1p((documents - frequency + 0.5) / (frequency + 0.5))


IDFS: dict[str, Callable[[Any, Any], Any]] = {
    "lucene": lucene_idf,
    # Negative for terms that more than half of the documents contain.
    "robertson": lambda documents, frequency: np.log((documents - frequency + 0.5) / (frequency + 0.5)),
    "plus": lambda documents, frequency: np.log((documents + 1.0) / frequency),
    "log2": lambda documents, frequency: np.log2(documents / frequency),
    "terrier": lambda documents, frequency: np.log2(documents / frequency + 1.0),
    "none": lambda documents, frequency: 1.0 + 0.0 * frequency,
}


def _check_idf(name: str) -> None:
    if name not in IDFS:
        raise ValueError(f"idf must be one of {', '.join(IDFS)}, not {name!r}")


def _check_range(name: str, value: float, low: float, high: float = math.inf) -> None:
    if not low <= value <= high:
        limits = f"at least {low}" if high == math.inf else f"from {low} to {high}"
        raise ValueError(f"{name} must be {limits}, not {value}")


class TfIdfWeighting(Weighting, Protocol):
    """A weighting that is query weight x idf x strength: what the default engine can rank by."""

    @property
    def idf(self) -> Idf:
        """The name of the inverse document frequency."""

    def strength(self, counts: Floats, lengths: Floats, mean_length: float) -> Floats:
        """Return what counts of a term in documents of these lengths are worth, without idf."""

    def weigh(self, counts: Floats, lengths: Floats, term: TermCounts, view: ViewCounts) -> Floats:
        """Return query weight x idf x strength."""
        factor = term.query_weight * float(IDFS[self.idf](view.documents, term.documents))
        return np.asarray(factor * self.strength(counts, lengths, max(view.mean_length, 1e-9)), np.float64)


@dataclass(frozen=True, slots=True)
class BM25(TfIdfWeighting):
    """Okapi BM25 (Robertson and Walker, 1994) in the form of Lucene: idf x (k1 + 1) tf / (tf + k1 (1 - b + b dl /
    avdl)).

    `k1` bounds the gain of repeated terms, `b` is how far long documents are discounted."""

    k1: float = 1.2
    b: float = 0.75

    idf: ClassVar[Idf] = "lucene"
    delta: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        _check_range("k1", self.k1, 0.0)
        _check_range("b", self.b, 0.0, 1.0)

    def strength(self, counts: Floats, lengths: Floats, mean_length: float) -> Floats:
        """Return the saturated count."""
        return np.asarray(saturation(counts, lengths, mean_length, self.k1, self.b), np.float64)


@dataclass(frozen=True, slots=True)
class BM25Plus(TfIdfWeighting):
    """BM25+ (Lv and Zhai, 2011): an occurring term adds at least `delta` x idf; idf = ln((N + 1) / df)."""

    k1: float = 1.2
    b: float = 0.75
    delta: float = 1.0
    idf: Idf = "plus"

    def __post_init__(self) -> None:
        _check_range("k1", self.k1, 0.0)
        _check_range("b", self.b, 0.0, 1.0)
        _check_range("delta", self.delta, 0.0)
        _check_idf(self.idf)

    def strength(self, counts: Floats, lengths: Floats, mean_length: float) -> Floats:
        """Return delta + the saturated count."""
        return np.asarray(self.delta + saturation(counts, lengths, mean_length, self.k1, self.b), np.float64)


@dataclass(frozen=True, slots=True)
class TfIdf(TfIdfWeighting):
    """TF-IDF: a function of the count times an inverse document frequency.

    `tf`: "raw" (the count), "log" (1 + ln count), "binary" (1), or "robertson" (k1 tf / (tf + k1 (1 - b + b dl /
    avdl)), as Terrier's TF_IDF has it with idf="terrier"). `idf` names one of the formulas of this module."""

    tf: Literal["raw", "log", "binary", "robertson"] = "log"
    idf: Idf = "log2"
    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if self.tf not in TFS:
            raise ValueError(f"tf must be one of {', '.join(TFS)}, not {self.tf!r}")
        _check_idf(self.idf)

    def strength(self, counts: Floats, lengths: Floats, mean_length: float) -> Floats:
        """Return the function of the count."""
        return np.asarray(TFS[self.tf](counts, lengths, mean_length, self.k1, self.b), np.float64)


TFS: dict[str, Any] = {
    "raw": lambda counts, *_: counts,
    "log": lambda counts, *_: 1.0 + np.log(counts),
    "binary": lambda counts, *_: np.ones_like(counts),
    "robertson": lambda counts, lengths, mean, k1, b: k1 / (k1 + 1.0) * saturation(counts, lengths, mean, k1, b),
}


@dataclass(frozen=True, slots=True)
class QueryLikelihood:
    """Query likelihood with a smoothed language model of each document (Zhai and Lafferty, 2004).

    "dirichlet" smooths with `parameter` = mu pseudo-occurrences; "jelinek-mercer" mixes in the collection with the
    share `parameter` = lambda. Only terms that a document contains add to its score, and the rank order is that of the
    log-likelihood: ln(1 + tf / (mu p)) for each matched term plus |q| ln(mu / (mu + dl)) for Dirichlet, ln(1 + (1 -
    lambda) tf / (lambda dl p)) for Jelinek-Mercer."""

    smoothing: Literal["dirichlet", "jelinek-mercer"] = "dirichlet"
    parameter: float = 2000.0

    def __post_init__(self) -> None:
        if self.smoothing not in ("dirichlet", "jelinek-mercer"):
            raise ValueError(f"smoothing must be dirichlet or jelinek-mercer, not {self.smoothing!r}")
        if self.smoothing == "dirichlet":
            _check_range("parameter", self.parameter, 1e-9)
        else:
            _check_range("parameter", self.parameter, 1e-9, 1.0)

    def weigh(self, counts: Floats, lengths: Floats, term: TermCounts, view: ViewCounts) -> Floats:
        """Return the log of how much likelier the term is in the document than in the collection."""
        probability = term.occurrences / max(view.length, 1e-9)
        if self.smoothing == "dirichlet":
            return np.asarray(term.query_weight * np.log1p(counts / (self.parameter * probability)), np.float64)
        mixed = (1.0 - self.parameter) * counts / (self.parameter * np.maximum(lengths, 1e-9) * probability)
        return np.asarray(term.query_weight * np.log1p(mixed), np.float64)

    def bias(self, lengths: Floats, query_length: float) -> Floats:
        """Return what a document's length costs: |q| ln(mu / (mu + dl)) for Dirichlet, nothing for Jelinek-Mercer."""
        if self.smoothing != "dirichlet":
            return np.zeros(len(lengths))
        return np.asarray(query_length * np.log(self.parameter / (self.parameter + lengths)), np.float64)
