"""The vocabulary of SCM and the statistics of its training lines, with the weights of tokens in answers (BM25 as Lucene computes it)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
LARGEST = 100_000
LEAST_LINES, LARGEST_SHARE = 2, 0.5
K1, B = 1.5, 0.75
_FILE = "vocabulary.json"


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in the order of their codes, the number of training lines of each, and the number and mean length of all lines."""

    tokens: tuple[str, ...]
    frequencies: tuple[int, ...]
    lines: int
    mean_length: float

    @classmethod
    def of(cls, lines: Iterable[Sequence[str]]) -> Vocabulary:
        """Count lines: tokens in two lines and at most half of all, the most frequent first."""
        frequencies: Counter[str] = Counter()
        number = length = 0
        for tokens in lines:
            number += 1
            length += len(tokens)
            frequencies.update(dict.fromkeys(tokens, 1))
        kept = [
            (token, count) for token, count in frequencies.items() if LEAST_LINES <= count <= LARGEST_SHARE * number
        ]
        kept.sort(key=lambda pair: (-pair[1], pair[0]))
        kept = kept[:LARGEST]
        return cls(
            tuple(token for token, _ in kept), tuple(count for _, count in kept), number, length / max(number, 1)
        )

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each token."""
        return {token: code for code, token in enumerate(self.tokens)}

    @cached_property
    def idf(self) -> Floats:
        """The idf of each token."""
        return np.log((self.lines + 1) / (np.array(self.frequencies, np.float64) + 0.5))

    def counts(self, tokens: Iterable[str]) -> dict[int, int]:
        """Return how often each code of the vocabulary occurs."""
        return Counter(self.codes[token] for token in tokens if token in self.codes)

    def weights(self, counts: dict[int, int]) -> dict[int, float]:
        """Return the BM25 weights of an answer from its counts; its length is that of its tokens in the vocabulary."""
        length = sum(counts.values())
        penalty = K1 * (1 - B + B * length / (self.mean_length or 1.0))
        return {code: float(self.idf[code]) * count / (count + penalty) for code, count in counts.items()}

    def save(self, folder: Path) -> None:
        """Write the vocabulary."""
        record = {
            "tokens": self.tokens,
            "frequencies": self.frequencies,
            "lines": self.lines,
            "mean_length": self.mean_length,
        }
        (folder / _FILE).write_text(json.dumps(record, ensure_ascii=False), "utf-8")

    @classmethod
    def open(cls, folder: Path) -> Vocabulary:
        """Read a vocabulary."""
        record = json.loads((folder / _FILE).read_text("utf-8"))
        return cls(tuple(record["tokens"]), tuple(record["frequencies"]), record["lines"], record["mean_length"])
