"""The layout trees of many packed formulas at once: their tuples as hashes, and their nodes in reading order.

This is `mathtuples` and `flat_layout` over arrays. No node and no token becomes a Python object, which is ten times as
fast."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.flat import MAX_NODES, READING_ORDER
from porism.compiled import compiled
from porism.formula.binary import HEAD, UNREADABLE, check_version, damaged
from porism.formula.layout.tuples import ANCHORS, CHILD_ORDER, MAX_DEPTH, WINDOW, wildcard_kind, written
from porism.store.embedded.formulas.layout_tokens import child_of, sort_edges, write_tokens
from porism.store.embedded.terms.bulk_hashing import hash_texts
from porism.store.embedded.terms.dictionary import Hashes, hash_terms, local_codes

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
TOGETHER = 1 << 20  # bytes of tokens that are written, then hashed, together: they fit the cache of a core
LONGEST_PATHS = 2 * 2 * MAX_DEPTH + 2 * WINDOW + 64  # bytes of all paths and marks of a token
NO_EDGE = 255
_FIRST, _LAST = hash_terms(["#(start)#", "#(end)#"])


def _ranks(order: str) -> Bytes:
    """Return the rank of each edge, by its code point."""
    ranks = np.full(256, NO_EDGE, np.uint8)
    for rank, edge in enumerate(order):
        ranks[ord(edge)] = rank
    return ranks


_TUPLE_RANKS, _READING_RANKS = _ranks(CHILD_ORDER), _ranks(READING_ORDER)


class LayoutTable(NamedTuple):
    """The layout trees of some formulas: how many tuples each has, and the hashes of all tuples; where the nodes of
    each formula end, and label (its position in `labels`) and edge of each node in reading order."""

    sizes: Ints
    hashes: Hashes
    ends: Ints
    labels: list[str]
    label_ids: npt.NDArray[np.uint32]
    edges: Bytes


class _LabelTexts(NamedTuple):
    """What tokens need to know of each label: how it is written, the number of that text, its wildcard, and whether it
    is an anchor. A text is a part of `texts`."""

    texts: Bytes
    written_at: Ints
    wildcard_at: Ints
    numbers: Ints
    anchors: npt.NDArray[np.bool_]


class _Trees(NamedTuple):
    """Trees as arrays: where the nodes of each start, and for each node its label, its number of children, the size of
    its sub-tree and where its edges start."""

    starts: Ints
    labels: Ints
    widths: Ints
    sizes: Ints
    edge_starts: Ints
    edges: Bytes


def layout_table(packed: Sequence[bytes]) -> LayoutTable:
    """Return tuples and nodes of the layout trees of packed formulas, of which there is at least one."""
    try:
        trees, labels = _read(packed)
    except UNREADABLE:
        raise damaged() from None
    sizes, hashes = _tuple_hashes(trees, _label_texts(labels))
    return LayoutTable(sizes, hashes, *_reading_order(trees, labels))


def _read(packed: Sequence[bytes]) -> tuple[_Trees, list[str]]:
    """Return layout trees as arrays, and their distinct labels. Raise one of UNREADABLE if they are no trees."""
    counts, edge_counts = np.empty(len(packed), np.int64), np.empty(len(packed), np.int64)
    widths, edges, names = [], [], []
    for at, data in enumerate(packed):
        check_version(data)
        count, places, edge_bytes, label_bytes = HEAD.unpack_from(data, 1)
        start = 1 + HEAD.size
        widths.append(data[start : start + 2 * count])
        start += 4 * count + 2 * places
        edges.append(data[start : start + edge_bytes])
        start += edge_bytes
        names.append(data[start : start + label_bytes])
        counts[at], edge_counts[at] = count, edge_bytes
        if start + label_bytes > len(data) or names[-1].count(0) != count - 1:
            raise ValueError("a tree is cut, or has not as many labels as nodes")
    labels = b"\0".join(names).decode("utf-8", "surrogatepass").split("\0")
    ids: defaultdict[str, int] = defaultdict()
    ids.default_factory = ids.__len__  # a new label gets the next id
    numbers = np.fromiter(map(ids.__getitem__, labels), np.int64, len(labels))
    children = np.frombuffer(b"".join(widths), "<u2").astype(np.int64)
    return _checked_trees(counts, edge_counts, numbers, children, np.frombuffer(b"".join(edges), np.uint8)), list(ids)


def _checked_trees(counts: Ints, edge_counts: Ints, labels: Ints, widths: Ints, edges: Bytes) -> _Trees:
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sizes = np.ones(len(labels), np.int64)
    if not _fill_sizes(starts, widths, sizes) or np.any(edge_counts != counts - 1):
        raise ValueError("the numbers of children and edges are not those of trees")
    if np.any(_READING_RANKS[edges] == NO_EDGE):
        raise ValueError("a letter is no edge")
    return _Trees(starts, labels, widths, sizes, np.cumsum(widths) - widths, edges)


def _label_texts(labels: list[str]) -> _LabelTexts:
    texts = [written(label) for label in labels]
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    encoded += [f"?{wildcard_kind(label)}".encode("utf-8", "surrogatepass") for label in labels]
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum([len(text) for text in encoded])))
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return _LabelTexts(
        np.frombuffer(b"".join(encoded), np.uint8),
        ends[: len(labels) + 1],
        ends[len(labels) :],
        np.array([numbers[text] for text in texts], np.int64),
        np.array([label in ANCHORS for label in labels], np.bool_),
    )


def _tuple_hashes(trees: _Trees, texts: _LabelTexts) -> tuple[Ints, Hashes]:
    """Return how many tuples each tree has, and the hashes of all tuples."""
    counts = np.diff(trees.starts)
    longest = np.maximum.reduceat(np.diff(texts.written_at)[trees.labels], trees.starts[:-1])
    most_tokens = 8 * counts + 2
    most_bytes = most_tokens * (2 * longest + LONGEST_PATHS)
    nodes = int(counts.max())
    scratch = np.empty((3, nodes), np.int64)
    paths, lengths = np.empty((nodes, MAX_DEPTH), np.uint8), np.empty(nodes, np.int64)
    last = np.full(len(texts.numbers), -1, np.int64)
    sizes = np.empty(len(counts), np.int64)
    hashes: list[Hashes] = []
    for first, end in _batches(most_bytes):
        data = np.empty(int(most_bytes[first:end].sum()), np.uint8)
        ends = np.empty(int(most_tokens[first:end].sum()), np.int64)
        tokens = write_tokens(
            trees, first, end, texts, _TUPLE_RANKS, scratch, paths, lengths, last, data, ends, sizes[first:end]
        )
        hashes.append(hash_texts(data, ends[:tokens]))
    return sizes + 2, _enclosed(sizes, np.concatenate(hashes))


def _batches(most_bytes: Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of trees whose tokens are at most TOGETHER bytes, or a single tree."""
    first, size = 0, 0
    for at, more in enumerate(most_bytes.tolist()):
        if at > first and size + more > TOGETHER:
            yield first, at
            first, size = at, 0
        size += more
    yield first, len(most_bytes)


def _enclosed(sizes: Ints, hashes: Hashes) -> Hashes:
    """Put the first and the last token around those of each tree."""
    ends = np.cumsum(sizes)
    places = np.stack((ends - sizes, ends), axis=1).reshape(-1)
    return np.insert(hashes, places, np.tile(np.array([_FIRST, _LAST], np.uint64), len(sizes)))


def _reading_order(trees: _Trees, labels: list[str]) -> tuple[Ints, list[str], npt.NDArray[np.uint32], Bytes]:
    """Return where the nodes of each tree end, the labels in order of first appearance, and label and edge of each
    node."""
    kept = np.minimum(np.diff(trees.starts), MAX_NODES)
    ends = np.cumsum(kept)
    found, edges = np.empty(ends[-1], np.uint64), np.empty(ends[-1], np.uint8)
    most = int(np.diff(trees.starts).max())
    _fill_reading_order(trees, _READING_RANKS, ends, np.empty(most, np.int64), np.empty(most, np.uint8), found, edges)
    codes, distinct = local_codes(found)
    return ends, [labels[label - 1] for label in distinct.tolist()], codes, edges


@compiled
def _fill_sizes(starts: Any, widths: Any, sizes: Any) -> bool:
    """Fill in the number of nodes below each node and itself. Return whether the numbers of children are those of
    trees."""
    for tree in range(len(starts) - 1):
        end = starts[tree + 1]
        for node in range(end - 1, starts[tree] - 1, -1):
            at = node + 1
            for _ in range(widths[node]):
                if at >= end:
                    return False
                at += sizes[at]
            sizes[node] = at - node
        if starts[tree] == end or sizes[starts[tree]] != end - starts[tree]:
            return False
    return True


@compiled
def _fill_reading_order(trees: Any, ranks: Any, ends: Any, stack: Any, letters: Any, labels: Any, edges: Any) -> None:
    """Fill in labels + 1 and edges of the nodes of each tree in reading order, as far as there is room."""
    order = np.empty(len(stack), np.int64)
    out = 0
    for tree in range(len(ends)):
        stack[0], letters[0], height = trees.starts[tree], 110, 1  # 110 is `n`, the edge to the next symbol
        while height and out < ends[tree]:
            height -= 1
            node = stack[height]
            labels[out], edges[out] = trees.labels[node] + 1, letters[height]
            out += 1
            width, start = trees.widths[node], trees.edge_starts[node]
            sort_edges(trees.edges, start, width, ranks, order)
            for at in range(width - 1, -1, -1):
                stack[height] = child_of(node, order[at], trees.sizes)
                letters[height] = trees.edges[start + order[at]]
                height += 1
