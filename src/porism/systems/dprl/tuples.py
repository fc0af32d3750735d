"""Tuples of formula trees: counted for re-ranking, and as words for embeddings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

import numpy as np

from porism.compiled import compiled
from porism.systems.arrays import Array, Flags, Floats, Ints, Small
from porism.systems.dprl.edit_distance import type_of
from porism.systems.tangent.forest import Forest, is_followed
from porism.systems.tangent.retriever import END, edge_code, mixed, unordered_labels

WINDOW = 2
_PLAIN_PATH = 5  # longest path that is not run-length coded
_BASE = np.uint64(0x100000001B3)
_ROOT, _DIGIT, _NEXT = ord("-"), ord("0"), ord("n")
_LAYOUT_EDGES = np.frombuffer(b"naboucdwe", np.uint8)


def tuple_features(
    query: Forest, candidates: Forest, chosen: Ints, symbols: Small, unordered: Flags, operators: bool
) -> Floats:
    """Return the feature of each chosen candidate. `symbols` maps label ids to the symbols that are compared."""
    out = np.zeros(len(chosen))
    codes = _located_codes(query, 0, symbols, unordered, operators)
    distinct, counts = np.unique(codes, return_counts=True)
    _fill(distinct, counts, len(codes), candidates, chosen, symbols, unordered, operators, out)
    return out


@compiled
def _fill(
    distinct: Array, counts: Array, size: int, candidates: Forest, chosen: Array, symbols: Array, unordered: Array,
    operators: bool, out: Array,
) -> None:  # fmt: skip
    """Write the feature of each candidate."""
    for at in range(len(chosen)):
        codes = _located_codes(candidates, chosen[at], symbols, unordered, operators)
        seen = np.zeros(len(distinct), np.bool_)
        for code in codes:
            place = np.searchsorted(distinct, code)
            if place < len(distinct) and distinct[place] == code:
                seen[place] = True
        found = 0.0
        for place in range(len(distinct)):
            if seen[place]:
                found += counts[place]
        if len(codes) and size:
            recall, precision = found / size, found / len(codes)
            out[at] = 2.0 * recall * precision / (recall + precision + 1.0)


@compiled
def _located_codes(forest: Forest, tree: int, symbols: Array, unordered: Array, operators: bool) -> Array:
    """Return the codes of a tree's tuples."""
    begin, end = forest.starts[tree], forest.starts[tree + 1]
    codes = np.empty((end - begin) * (WINDOW + 1), np.uint64)
    texts = np.zeros(end - begin, np.uint64)  # hash of each node's path from the root, as text
    powers = np.ones(end - begin, np.uint64)
    path = np.empty(end - begin + 1, np.uint8)
    used = 0
    for at in range(begin, end):
        node = at - begin
        texts[node], powers[node] = _hashed_path(forest, begin, node, unordered, operators, path)
        above, below, relation, power = forest.parents[at], at, np.uint64(0), np.uint64(1)
        for _ in range(WINDOW):
            if above < 0:
                break
            relation += np.uint64(_edge_char(forest, below, begin + above, unordered, operators)) * power
            power *= _BASE
            code = relation * powers[above] + texts[above]
            codes[used] = mixed(symbols[forest.labels[begin + above]], symbols[forest.labels[at]], code)
            used += 1
            below = begin + above
            above = forest.parents[below]
        if not is_followed(forest, begin, node):
            mark = np.uint64(_DIGIT if operators else _NEXT)
            codes[used] = mixed(symbols[forest.labels[at]], END, mark * powers[node] + texts[node])
            used += 1
    return codes[:used]


@compiled
def _hashed_path(
    forest: Forest, begin: int, node: int, unordered: Array, operators: bool, path: Array
) -> tuple[np.uint64, np.uint64]:
    """Return the polynomial hash of a node's path as the original writes it, and the base to the power of its length.

    The root is `-`; a path of more than five edges is run-length coded.
    """
    if node == 0:
        return np.uint64(_ROOT), _BASE
    length, at = 0, node
    while at > 0:
        above = forest.parents[begin + at]
        path[length] = _edge_char(forest, begin + at, begin + above, unordered, operators)
        length += 1
        at = above
    text, power = np.uint64(0), np.uint64(1)
    start = length - 1  # the first edge is the last that was found
    while start >= 0:
        stop = start
        while length > _PLAIN_PATH and stop > 0 and path[stop - 1] == path[start]:
            stop -= 1
        if length > _PLAIN_PATH:
            run = start - stop + 1
            place = 1
            while place * 10 <= run:
                place *= 10
            while place:
                text = text * _BASE + np.uint64(_DIGIT + run // place % 10)
                power *= _BASE
                place //= 10
        text = text * _BASE + np.uint64(path[start])
        power *= _BASE
        start = stop - 1
    return text, power


@compiled
def _edge_char(forest: Forest, node: int, above: int, unordered: Array, operators: bool) -> int:
    """Return the character of the edge above a node."""
    edge = edge_code(forest, node, above, unordered, operators)
    if not operators:
        return int(_LAYOUT_EDGES[edge])
    return edge + (_DIGIT if edge < 10 else 55 if edge < 36 else 61)  # 0-9, A-Z, a-z


Representation = Literal["slt", "opt", "slt-type", "opt-type", "slt-unified"]
REPRESENTATIONS: tuple[Representation, ...] = get_args(Representation)
_END_LABEL = "0!"
_FIRST_EDGE, _FIRST_SYMBOL = 60_000, 70_000  # where the characters of edges and of symbols start, as in the original


class WordRows(NamedTuple):
    """Pairs as (label, label below, path) by their ids; formula i has those from `starts[i]` to `starts[i + 1]`."""

    rows: Ints
    starts: Ints


class Alphabet:
    """The character of each type and value, in the order of first appearance."""

    def __init__(self, symbols: Iterable[str] = ()) -> None:
        self.symbols = {symbol: at for at, symbol in enumerate(symbols)}

    def spell(self, label: str, split_numbers: bool) -> str:
        """Return the characters of a label: type, then value; numbers digit by digit where `split_numbers` says so."""
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
    """Replace the variables of each tree by numbers from `first`; return the largest number of variables."""
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
            if not is_followed(forest, begin, at - begin):
                rows[used, 0], rows[used, 1], rows[used, 2] = forest.labels[at], END, 1
                used += 1
        starts[tree + 1] = used
    return used


def spell_words(rows: Ints, texts: list[str], alphabet: Alphabet, operators: bool) -> list[str]:
    """Return the word of each pair."""
    words = []
    for upper, lower, path in rows.tolist():
        below, edges = _END_LABEL if lower == END else texts[lower], ""
        while path:
            edges = chr(_FIRST_EDGE + path % 128) + edges
            path >>= 7
        words.append(alphabet.spell(texts[upper], not operators) + alphabet.spell(below, not operators) + edges)
    return words
