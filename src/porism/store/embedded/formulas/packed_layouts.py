"""The layout trees of many packed formulas at once: their tuples as hashes, and their nodes in reading order.

This is `mathtuples` and `flat_layout` over arrays. No node and no token becomes a Python object, which is ten times as
fast. Characters are numbers in the compiled part: 40 and 41 are round brackets, 91 and 93 square ones, 123 and 125
braces, 44 is a comma."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import MAX_NODES, READING_ORDER
from porism.compiled import compiled
from porism.formula.binary import HEAD, UNREADABLE, check_version, damaged
from porism.formula.layout.tuples import ANCHORS, CHILD_ORDER, MAX_DEPTH, WINDOW, wildcard_kind, written
from porism.store.embedded.terms.dictionary import Hashes, hash_terms, hash_texts, local_codes

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
TOGETHER = 1 << 20  # bytes of tokens that are written, then hashed, together: they fit the cache of a core
LONGEST_PATHS = 2 * 2 * MAX_DEPTH + 2 * WINDOW + 64  # bytes of all paths and marks of a token
NO_EDGE = 255
_FIRST, _LAST = hash_terms(["#(start)#", "#(end)#"])


@compiled
def sort_edges(edges: Any, start: int, width: int, ranks: Any, order: Any) -> None:
    """Fill in the order of a node's edges by rank; equal ones stay in order."""
    for at in range(width):
        rank = ranks[edges[start + at]]
        place = at
        while place > 0 and ranks[edges[start + order[place - 1]]] > rank:
            order[place] = order[place - 1]
            place -= 1
        order[place] = at


@compiled
def child_of(node: int, number: int, sizes: Any) -> int:
    """Return the position of a child."""
    at = node + 1
    for _ in range(number):
        at += sizes[at]
    return at


@compiled
def _put(data: Any, at: int, text: Any, start: int, end: int) -> int:
    """Append a part of a text; return where the data ends."""
    for place in range(start, end):
        data[at] = text[place]
        at += 1
    return at


@compiled
def _put_path(data: Any, at: int, path: Any, start: int, end: int) -> int:
    """Append a path: `-` when empty, run-length coded when longer than five."""
    if end == start:
        data[at] = 45  # -
        return at + 1
    if end - start <= 5:
        return _put(data, at, path, start, end)
    while start < end:
        after = start
        while after < end and path[after] == path[start]:
            after += 1
        count = after - start
        if count >= 100:
            data[at] = 48 + count // 100
            at += 1
        if count >= 10:
            data[at] = 48 + count // 10 % 10
            at += 1
        data[at] = 48 + count % 10
        data[at + 1] = path[start]
        at += 2
        start = after
    return at


@compiled
def _end_token(
    data: Any, start: int, at: int, path: Any, length: int, closing: int, window: int, ends: Any, count: int
) -> int:
    """Close a token; write it again with its location where that is near enough. Return the number of tokens."""
    data[at] = closing
    ends[count] = at + 1
    if length >= window - 1:
        return count + 1
    end = _put(data, at + 1, data, start, at)
    data[end] = 44  # ,
    end = _put_path(data, end + 1, path, 0, length)
    data[end] = closing
    ends[count + 1] = end + 1
    return count + 2


@compiled
def write_tokens(
    trees: Any, first: int, end: int, texts: Any, ranks: Any, scratch: Any, paths: Any, lengths: Any, last: Any,
    data: Any, ends: Any, sizes: Any,
) -> int:  # fmt: skip
    """Write the tokens of trees, without the first and the last of each. Fill in where each token ends, and how many
    each tree has; return how many all have. `last` is -1 everywhere, before and after."""
    count = 0
    for tree in range(first, end):
        before = count
        root = trees.starts[tree]
        nodes, count = _write_nodes(trees, root, texts, ranks, scratch, paths, lengths, data, ends, count)
        count = _write_duplicates(trees.labels, root, nodes, texts, scratch[2], paths, lengths, last, data, ends, count)
        sizes[tree - first] = count - before
    return count


@compiled
def _write_nodes(
    trees: Any, root: int, texts: Any, ranks: Any, scratch: Any, paths: Any, lengths: Any, data: Any, ends: Any,
    count: int,
) -> tuple[int, int]:  # fmt: skip
    """Write terminals, compounds and pairs. Return how many nodes were visited and how many tokens there are."""
    order, stack, visited = scratch[0], scratch[1], scratch[2]
    depths = np.zeros(len(stack), np.int64)
    stack[0], lengths[0], height, nodes = 0, 0, 1, 0
    while height:
        height -= 1
        own = stack[height]
        visited[nodes] = own
        nodes += 1
        node = root + own
        label = trees.labels[node]
        width, edge_start = trees.widths[node], trees.edge_starts[node]
        text, text_end = texts.written_at[label], texts.written_at[label + 1]
        path, length = paths[own], lengths[own]
        if width == 0 or depths[own] >= MAX_DEPTH:
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, text, text_end, 40)
            data[at], data[at + 1] = 33, 48  # !0
            count = _end_token(data, start, at + 2, path, length, 41, WINDOW, ends, count)
            continue
        special = False
        for at in range(width):
            order[at] = at
            special |= trees.edges[edge_start + at] == 99  # c
        if special:
            sort_edges(trees.edges, edge_start, width, ranks, order)
        if width > 1:
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, text, text_end, 40)
            for place in range(width):
                data[at], data[at + 1] = 44 if place else 91, trees.edges[edge_start + order[place]]  # , or [
                at += 2
            data[at] = 93  # ]
            count = _end_token(data, start, at + 1, path, length, 41, WINDOW, ends, count)
        for place in range(width):
            edge = trees.edges[edge_start + order[place]]
            below = child_of(node, order[place], trees.sizes)
            other = trees.labels[below]
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, text, text_end, 40)
            at = _put(data, at, texts.texts, texts.written_at[other], texts.written_at[other + 1])
            data[at], data[at + 1] = 44, edge
            count = _end_token(data, start, at + 2, path, length, 41, WINDOW, ends, count)
            child = below - root
            lengths[child] = 0
            if not texts.anchors[label]:
                lengths[child] = _put(paths[child], 0, path, 0, length) + 1
                paths[child][length] = edge
            depths[child] = depths[own] + 1
            stack[height] = child
            height += 1
    return nodes, count


@compiled
def _open(data: Any, at: int, texts: Any, start: int, end: int, opening: int) -> int:
    """Begin a token with a label and a comma; return where the data ends."""
    data[at] = opening
    at = _put(data, at + 1, texts, start, end)
    data[at] = 44  # ,
    return at + 1


@compiled
def _write_duplicates(
    labels: Any, root: int, nodes: int, texts: Any, visited: Any, paths: Any, lengths: Any, last: Any, data: Any,
    ends: Any, count: int,
) -> int:  # fmt: skip
    """Write the tokens of labels that occur again, in post-order: each is paired with the one before it."""
    for place in range(nodes - 1, -1, -1):
        own = visited[place]
        label = labels[root + own]
        number = texts.numbers[label]
        before, last[number] = last[number], own
        if before < 0:
            continue
        path, length = paths[own], lengths[own]
        common = 0
        while common < length and common < lengths[before] and path[common] == paths[before][common]:
            common += 1
        for wildcard in range(2):
            bounds = texts.wildcard_at if wildcard else texts.written_at
            start = ends[count - 1] if count else 0
            at = _open(data, start, texts.texts, bounds[label], bounds[label + 1], 123)
            at = _put_path(data, at, paths[before], common, lengths[before])
            if common < length:
                data[at] = 44
                at = _put_path(data, at + 1, path, common, length)
            count = _end_token(data, start, at, path, common, 125, WINDOW, ends, count)
    for place in range(nodes):
        last[texts.numbers[labels[root + visited[place]]]] = -1
    return count


def _ranks(order: str) -> Bytes:
    """Return the rank of each edge, by its code point."""
    ranks = np.full(256, NO_EDGE, np.uint8)
    ranks[[ord(edge) for edge in order]] = range(len(order))
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
    counts = np.diff(trees.starts)
    most, ends = int(counts.max()), np.cumsum(np.minimum(counts, MAX_NODES))
    found, edges = np.empty(ends[-1], np.uint64), np.empty(ends[-1], np.uint8)
    _fill_reading_order(trees, _READING_RANKS, ends, np.empty(most, np.int64), np.empty(most, np.uint8), found, edges)
    codes, distinct = local_codes(found)  # labels in the order of first appearance
    return LayoutTable(sizes, hashes, ends, [labels[label - 1] for label in distinct.tolist()], codes, edges)


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
    letters = np.frombuffer(b"".join(edges), np.uint8)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    sizes = np.ones(len(labels), np.int64)
    if not _fill_sizes(starts, children, sizes) or np.any(edge_counts != counts - 1):
        raise ValueError("the numbers of children and edges are not those of trees")
    if np.any(_READING_RANKS[letters] == NO_EDGE):
        raise ValueError("a letter is no edge")
    return _Trees(starts, numbers, children, sizes, np.cumsum(children) - children, letters), list(ids)


def _label_texts(labels: list[str]) -> _LabelTexts:
    texts = [written(label) for label in labels]
    wildcards = (f"?{wildcard_kind(label)}" for label in labels)
    encoded = [text.encode("utf-8", "surrogatepass") for text in (*texts, *wildcards)]
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
    # Put the first and the last token around those of each tree.
    places = np.stack((np.cumsum(sizes) - sizes, np.cumsum(sizes)), axis=1).reshape(-1)
    enclosing = np.tile(np.array([_FIRST, _LAST], np.uint64), len(sizes))
    return sizes + 2, np.insert(np.concatenate(hashes), places, enclosing)


def _batches(most_bytes: Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of trees whose tokens are at most TOGETHER bytes, or a single tree."""
    first = size = 0
    for at, more in enumerate(most_bytes.tolist()):
        if at > first and size + more > TOGETHER:
            yield first, at
            first, size = at, 0
        size += more
    yield first, len(most_bytes)


@compiled
def _fill_sizes(starts: Any, widths: Any, sizes: Any) -> bool:
    """Fill in the size of the tree of each node. Return whether the numbers of children are those of trees."""
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
