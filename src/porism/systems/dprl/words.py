"""Formulas as sentences for TangentCFT: each symbol pair of a tree is a word whose characters are types, values and edges.

Representations: layout trees (`slt`), operator trees (`opt`), the types of both (`slt-type`, `opt-type`), and layout trees with variables numbered in
the order of their appearance (`slt-unified`). Pairs reach over two edges and include end-of-baseline pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.systems.dprl.edit_distance import type_of
from porism.systems.tangent.forest import Forest
from porism.systems.tangent.pairs import END, edge_code, unordered_labels

Array = npt.NDArray[Any]
Representation = Literal["slt", "opt", "slt-type", "opt-type", "slt-unified"]
REPRESENTATIONS: tuple[Representation, ...] = get_args(Representation)
WINDOW = 2
_END_LABEL = "0!"
_FIRST_EDGE, _FIRST_SYMBOL = 60_000, 70_000  # where the characters of edges and of symbols start, as in the original


class WordRows(NamedTuple):
    """Pairs as (label, label below, path) by their ids; formula i has those from `starts[i]` to `starts[i + 1]`."""

    rows: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]


class Alphabet:
    """The character of each type and value, in the order of first appearance."""

    def __init__(self, symbols: Iterable[str] = ()) -> None:
        self.symbols = {symbol: at for at, symbol in enumerate(symbols)}

    def spell(self, label: str, split_numbers: bool) -> str:
        """Return the characters of a label: its type, then its value; a number digit by digit where `split_numbers` says so."""
        kind, mark, value = label.partition("!")
        if not mark or not kind:
            return self._char(label)
        values = list(value) if split_numbers and kind == "N" else [value] if value else []
        return self._char(kind + mark) + "".join(map(self._char, values))

    def _char(self, symbol: str) -> str:
        return chr(_FIRST_SYMBOL + self.symbols.setdefault(symbol, len(self.symbols)) % 1_000_000)


def of_operators(representation: Representation) -> bool:
    """Return whether a representation is one of operator trees."""
    return representation.startswith("opt")


def represented(forest: Forest, texts: list[str], representation: Representation) -> tuple[Forest, list[str]]:
    """Return a forest with the labels of a representation, and the labels by their ids."""
    if representation.endswith("-type"):
        known: dict[str, int] = {}
        ids = [known.setdefault(type_of(text), len(known)) for text in texts]
        return forest._replace(labels=np.array(ids or [0], np.int32)[forest.labels]), list(known)
    if representation == "slt-unified":
        variables = np.array([text.startswith("V!") for text in texts] or [False], np.bool_)
        labels = np.array(forest.labels)
        most = _number_variables(forest.starts, variables, labels, len(texts))
        return forest._replace(labels=labels), [*texts, *(f"V!{number + 1}" for number in range(most))]
    return forest, texts


@compiled
def _number_variables(starts: Array, variables: Array, labels: Array, first: int) -> int:
    """Replace the variables of each tree by their numbers, which start at `first`; return the largest number of variables."""
    most = 0
    names = np.empty(len(labels) + 1, np.int32)
    for tree in range(len(starts) - 1):
        found = 0
        for at in range(starts[tree], starts[tree + 1]):
            if not variables[labels[at]]:
                continue
            number = 0
            while number < found and names[number] != labels[at]:
                number += 1
            if number == found:
                names[found] = labels[at]
                found += 1
            labels[at] = first + number
        most = max(most, found)
    return most


def word_rows(forest: Forest, texts: list[str], operators: bool) -> WordRows:
    """Return the pairs of all trees, tree after tree."""
    starts = np.zeros(forest.size + 1, np.int64)
    rows = np.empty((len(forest.labels) * (WINDOW + 1), 3), np.int64)
    used = _fill_rows(forest, unordered_labels(texts), operators, starts, rows)
    return WordRows(rows[:used], starts)


@compiled
def _fill_rows(forest: Forest, unordered: Array, operators: bool, starts: Array, rows: Array) -> int:
    used = 0
    for tree in range(len(starts) - 1):
        begin, end = forest.starts[tree], forest.starts[tree + 1]
        for at in range(begin, end):
            path, above, below = 0, forest.parents[at], at
            for step in range(WINDOW):
                if above < 0:
                    break
                path += (1 + edge_code(forest, below, begin + above, unordered, operators)) << (7 * step)
                rows[used, 0], rows[used, 1], rows[used, 2] = forest.labels[begin + above], forest.labels[at], path
                used += 1
                below = begin + above
                above = forest.parents[below]
            child, follows = forest.firsts[at], False
            while child >= 0:
                follows = follows or forest.slots[begin + child] == 0
                child = forest.nexts[begin + child]
            if not follows:
                rows[used, 0], rows[used, 1], rows[used, 2] = forest.labels[at], END, 1
                used += 1
        starts[tree + 1] = used
    return used


def spell_words(rows: npt.NDArray[np.int64], texts: list[str], alphabet: Alphabet, operators: bool) -> list[str]:
    """Return the word of each pair."""
    words = []
    for upper, lower, path in rows.tolist():
        below = _END_LABEL if lower == END else texts[lower]
        edges = []
        while path:
            edges.append(chr(_FIRST_EDGE + path % 128))
            path >>= 7
        symbols = alphabet.spell(texts[upper], not operators) + alphabet.spell(below, not operators)
        words.append(symbols + "".join(reversed(edges)))
    return words
