"""Vectors of tokens: CBOW trained on the lines of the collection, plain with gensim or positional with our own code."""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.systems.scm.positional import CbowOptions, CodedLines, train_cbow

Singles = npt.NDArray[np.float32]


class TokenVectors(NamedTuple):
    """Tokens and their vectors, in the same order."""

    tokens: list[str]
    vectors: Singles


class TokenLines(Iterable[Sequence[str]]):
    """Lines that can be read several times. `make` returns a new iterator of them."""

    def __init__(self, make: Callable[[], Iterator[Sequence[str]]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Sequence[str]]:
        return self._make()


def train_vectors(lines: TokenLines, options: CbowOptions, advance: Callable[[int], None]) -> TokenVectors:
    """Train vectors of the tokens that occur often enough. `advance` receives the number of lines read."""
    counts = Counter(token for line in lines for token in line)
    kept = sorted(
        (token for token, count in counts.items() if count >= options.least_count), key=lambda one: (-counts[one], one)
    )
    if len(kept) < 2:
        return TokenVectors([], np.zeros((0, options.dimensions), np.float32))
    if options.positional:
        return TokenVectors(kept, _positional(lines, kept, counts, options, advance))
    return _with_gensim(lines, options, advance)


def _positional(
    lines: TokenLines, kept: list[str], counts: Counter[str], options: CbowOptions, advance: Callable[[int], None]
) -> Singles:
    codes = {token: code for code, token in enumerate(kept)}
    flat, starts = array("i"), array("q", [0])
    for line in lines:
        flat.extend(codes[token] for token in line if token in codes)
        starts.append(len(flat))
    coded = CodedLines(np.array(flat, np.int32), np.array(starts, np.int64))
    return train_cbow(coded, np.array([counts[token] for token in kept], np.int64), options, advance)


def _with_gensim(lines: TokenLines, options: CbowOptions, advance: Callable[[int], None]) -> TokenVectors:
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise PorismError("needs the package gensim", fix='pip install "porism[systems]"') from None
    model: Any = Word2Vec(
        vector_size=options.dimensions,
        window=options.window,
        sg=0,
        negative=options.negatives,
        alpha=options.rate,
        min_alpha=0.0,
        sample=options.sample,
        min_count=options.least_count,
        epochs=options.epochs,
        seed=options.seed,
        workers=1,
        hashfxn=lambda text: zlib.crc32(text.encode()),
    )
    model.build_vocab(lines)

    def counted() -> Iterator[Sequence[str]]:
        for line in lines:
            advance(1)
            yield line

    model.train(TokenLines(counted), total_examples=model.corpus_count, epochs=options.epochs)
    return TokenVectors(list(model.wv.index_to_key), (model.wv.vectors + model.syn1neg) / 2)
