"""Embeddings of tokens: fastText, plain and with positions."""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from porism.compiled import compiled
from porism.errors import PorismError
from porism.models.tokens import MeanVectors
from porism.systems.arrays import Ints, Singles, Small

TABLE = 1_000_000  # entries of the table from which negative samples are drawn


@dataclass(frozen=True, slots=True)
class CbowOptions:
    """Options of training, with the values of the SCM runs."""

    dimensions: int = 300
    window: int = 5
    negatives: int = 10
    rate: float = 0.05
    sample: float = 1e-5
    least_count: int = 5
    epochs: int = 1
    positional: int = 0
    """Dimensions that depend on positions; 0 for plain CBOW."""
    seed: int = 42


def train_cbow(
    codes: Small, starts: Ints, counts: Ints, options: CbowOptions, advance: Callable[[int], None]
) -> Singles:
    """Return the vector of each word: the mean of its input and output vector. Line i has the `codes` of words from
    starts[i] to starts[i + 1]; `counts` are those of the words."""
    random = np.random.default_rng(options.seed)
    size = len(counts)
    inputs = ((random.random((size, options.dimensions)) - 0.5) / options.dimensions).astype(np.float32)
    outputs = np.zeros((size, options.dimensions), np.float32)
    positions = np.ones((2 * options.window + 1, max(options.positional, 1)), np.float32)
    # Words in proportion to their count to the power of 0.75, and the probability with which an occurrence is kept.
    shares = np.cumsum(counts.astype(np.float64) ** 0.75)
    table = np.searchsorted(shares, (np.arange(TABLE) + 0.5) / TABLE * (shares[-1] if size else 1)).astype(np.int32)
    threshold = options.sample * counts.sum()
    keep = np.minimum((np.sqrt(counts / threshold) + 1) * threshold / counts, 1).astype(np.float32)
    total = len(starts) - 1
    block = max(1, min(1000, total))
    for epoch in range(options.epochs):
        for start in range(0, total, block):
            end = min(start + block, total)
            done = (epoch + start / total) / options.epochs
            rate = options.rate * (1 - done)
            seed = np.uint64(random.integers(1, 2**63))
            _train_lines(
                codes, starts, start, end, keep, table, options.window, options.negatives,
                np.float32(rate), options.positional, inputs, outputs, positions, seed,
            )  # fmt: skip
            advance(end - start)
    return np.asarray((inputs + outputs) / 2, np.float32)


@compiled
def _next(state: np.uint64) -> np.uint64:
    """Return the next state of a generator of random numbers (xorshift)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@compiled
def _train_lines(
    codes: Small, starts: Ints, first: int, last: int, keep: Singles, table: Small, window: int, negatives: int,
    rate: np.float32, positional: int, inputs: Singles, outputs: Singles, positions: Singles, state: np.uint64,
) -> None:  # fmt: skip
    """Train on some lines."""
    dimensions = inputs.shape[1]
    hidden = np.zeros(dimensions, np.float32)
    error = np.zeros(dimensions, np.float32)
    for line in range(first, last):
        words = np.empty(starts[line + 1] - starts[line], np.int32)
        count = 0
        for at in range(starts[line], starts[line + 1]):
            state = _next(state)
            if keep[codes[at]] * 1.8446744073709552e19 > state:
                words[count] = codes[at]
                count += 1
        for centre in range(count):
            state = _next(state)
            width = window - int(state % np.uint64(window))
            low, high = max(0, centre - width), min(count, centre + width + 1)
            if high - low < 2:
                continue
            _gather(words, centre, low, high, window, positional, inputs, positions, hidden)
            state = _predict(words[centre], hidden, error, outputs, table, negatives, rate, state)
            _spread(words, centre, low, high, window, positional, inputs, positions, error)


@compiled
def _gather(
    words: Small, centre: int, low: int, high: int, window: int, positional: int, inputs: Singles, positions:
    Singles, hidden: Singles,
) -> None:  # fmt: skip
    """Make the hidden vector: the mean of the context's vectors, weighted by position in the first dimensions."""
    hidden[:] = 0
    for at in range(low, high):
        if at != centre:
            vector, weights = inputs[words[at]], positions[at - centre + window]
            for place in range(positional):
                hidden[place] += vector[place] * weights[place]
            for place in range(positional, len(hidden)):
                hidden[place] += vector[place]
    hidden /= np.float32(high - low - 1)


@compiled
def _predict(
    target: int, hidden: Singles, error: Singles, outputs: Singles, table: Small, negatives: int, rate: np.float32,
    state: np.uint64,
) -> np.uint64:  # fmt: skip
    """Update the output vectors of a word and of negative samples, and collect the error of the hidden vector."""
    error[:] = 0
    for sample in range(negatives + 1):
        word, label = target, np.float32(1)
        if sample > 0:
            state = _next(state)
            word, label = table[int((state >> np.uint64(16)) % np.uint64(len(table)))], np.float32(0)
            if word == target:
                continue
        vector = outputs[word]
        product = np.float32(0)
        for place in range(len(hidden)):
            product += hidden[place] * vector[place]
        product = min(max(product, np.float32(-30)), np.float32(30))
        gradient = (label - np.float32(1) / (np.float32(1) + np.exp(-product))) * rate
        for place in range(len(hidden)):
            error[place] += gradient * vector[place]
            vector[place] += gradient * hidden[place]
    return state


@compiled
def _spread(
    words: Small, centre: int, low: int, high: int, window: int, positional: int, inputs: Singles, positions:
    Singles, error: Singles,
) -> None:  # fmt: skip
    """Add the error to the vectors of the context and of its positions."""
    for at in range(low, high):
        if at != centre:
            vector, weights = inputs[words[at]], positions[at - centre + window]
            for place in range(positional):
                before = vector[place]
                vector[place] += error[place] * weights[place]
                weights[place] += error[place] * before
            for place in range(positional, len(error)):
                vector[place] += error[place]


class TokenLines(Iterable[Sequence[str]]):
    """Lines that can be read several times. `make` returns a new iterator of them."""

    def __init__(self, make: Callable[[], Iterator[Sequence[str]]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Sequence[str]]:
        return self._make()


def train_vectors(lines: TokenLines, options: CbowOptions, advance: Callable[[int], None]) -> MeanVectors:
    """Train vectors of the tokens that occur often enough. `advance` receives the number of lines read."""
    counts = Counter(token for line in lines for token in line)
    kept = sorted(
        (token for token, count in counts.items() if count >= options.least_count), key=lambda one: (-counts[one], one)
    )
    if len(kept) < 2:
        return MeanVectors([], np.zeros((0, options.dimensions), np.float32))
    if not options.positional:
        return _with_gensim(lines, options, advance)
    codes = {token: code for code, token in enumerate(kept)}
    flat, starts = array("i"), array("q", [0])
    for line in lines:
        flat.extend(codes[token] for token in line if token in codes)
        starts.append(len(flat))
    numbers = np.array([counts[token] for token in kept], np.int64)
    vectors = train_cbow(np.array(flat, np.int32), np.array(starts, np.int64), numbers, options, advance)
    return MeanVectors(kept, vectors)


def _with_gensim(lines: TokenLines, options: CbowOptions, advance: Callable[[int], None]) -> MeanVectors:
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise PorismError("needs the package gensim", fix='pip install "porism[systems]"') from None
    model: Any = Word2Vec(
        vector_size=options.dimensions, window=options.window, sg=0, negative=options.negatives, alpha=options.rate,
        min_alpha=0.0, sample=options.sample, min_count=options.least_count, epochs=options.epochs, seed=options.seed,
        workers=1, hashfxn=lambda text: zlib.crc32(text.encode()),
    )  # fmt: skip
    model.build_vocab(lines)

    def counted() -> Iterator[Sequence[str]]:
        for line in lines:
            advance(1)
            yield line

    model.train(TokenLines(counted), total_examples=model.corpus_count, epochs=options.epochs)
    return MeanVectors(list(model.wv.index_to_key), (model.wv.vectors + model.syn1neg) / 2)
