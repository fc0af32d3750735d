"""The second stage of Tangent-S, compiled: the best alignment of two trees under one-to-one unification (metric 12 of
the original).

Every pair of a query node and a candidate node that may be unified starts an alignment, unless an earlier alignment
already matched that pair. The walk goes down both trees, also through pairs that do not match. Equal labels match
exactly; variables are mapped one to one, the most frequent pair first; numbers and other typed labels that are not
operators match by unification. Of all alignments the largest vector counts:

1. maximum subtree similarity: harmonic mean of the shares of query nodes and query edges that are matched;
2. precision with unification: share of candidate nodes that are matched;
3. exact recall: share of query nodes that are matched by equal labels.

A wildcard of the query matches one node of any kind (the original also lets it match a whole subtree).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from porism.compiled import compiled
from porism.systems.arrays import Array, Flags, Floats, Ints, Small
from porism.systems.tangent.forest import FIRST_ELEMENT, WILDCARD, Forest, LabelClasses

NONE, EXACT, VARIABLES, UNIFIED = 0, 1, 2, 3
_VARIABLE, _NUMBER, _GROUP, _OPERATOR, _UNORDERED = ord("V"), ord("N"), ord("M"), ord("O"), ord("U")
_NO_EDGE = 0.5  # matched edges that count when there is none, so that matched nodes are not lost


class Buffers(NamedTuple):
    """Working arrays: `pending` pairs of nodes may start an alignment, `linked` pairs are children that it visits."""

    pending: Flags
    linked: Flags
    potential: Small
    exact: Small
    stack: Small
    met: Small  # query node, candidate node, kind of match, number of the pair of variables
    pairs: Small  # distinct pairs of variables: label, label of the candidate, count, whether undecided
    matched: Flags
    query_sizes: Small  # nodes below each node and the node itself
    candidate_sizes: Small


def align(query: Forest, candidates: Forest, chosen: Ints, classes: LabelClasses, operators: bool) -> Floats:
    """Return (similarity, precision, recall) of the query, a forest of one tree, to each chosen candidate."""
    out = np.zeros((len(chosen), 3))
    if len(chosen) and len(query.labels):
        sizes = candidates.starts[chosen + 1] - candidates.starts[chosen]
        shape = rows, columns = len(query.labels), max(int(sizes.max()), 1)
        buffers = Buffers(
            pending=np.empty(shape, np.bool_), linked=np.empty(shape, np.bool_),
            potential=np.empty(shape, np.int32), exact=np.empty(shape, np.int32),
            stack=np.empty((rows * columns + 1, 2), np.int32),
            met=np.empty((rows + 1, 4), np.int32), pairs=np.empty((rows + 1, 4), np.int32),
            matched=np.empty(rows, np.bool_),
            query_sizes=np.empty(rows, np.int32), candidate_sizes=np.empty(columns, np.int32),
        )  # fmt: skip
        _fill_sizes(query, 0, rows, buffers.query_sizes)
        _align_all(query, candidates, chosen, classes, operators, buffers, out)
    return out


@compiled
def _align_all(
    query: Forest, candidates: Forest, chosen: Array, classes: LabelClasses, operators: bool, buffers: Buffers,
    out: Array,
) -> None:  # fmt: skip
    """Write the vector of every chosen candidate into `out`."""
    for at in range(len(chosen)):
        begin, end = candidates.starts[chosen[at]], candidates.starts[chosen[at] + 1]
        if end > begin:
            _align_pair(query, candidates, begin, end, classes, operators, buffers, out[at])


@compiled
def _align_pair(
    query: Forest, candidates: Forest, begin: int, end: int, classes: LabelClasses, operators: bool,
    buffers: Buffers, best: Array,
) -> None:  # fmt: skip
    """Write the largest vector of all alignments of the query with one candidate into `best`."""
    q_size, c_size = len(query.labels), end - begin
    pending, linked = buffers.pending, buffers.linked
    _fill_sizes(candidates, begin, c_size, buffers.candidate_sizes)
    for q in range(q_size):
        for c in range(c_size):
            pending[q, c] = may_unify(query.labels[q], candidates.labels[begin + c], classes)
            linked[q, c] = False
    if operators:
        _link_operands(query, candidates, begin, c_size, classes, buffers)
    else:
        _link_layout(query, candidates, begin, c_size, classes, linked)
    for q in range(q_size):
        for c in range(c_size):
            # An alignment matches at most the smaller subtree, and alignments inside of it match no more.
            most = min(buffers.query_sizes[q], buffers.candidate_sizes[c])
            if not pending[q, c] or _similarity(most, most - 1, q_size) < best[0]:
                continue
            nodes, exact = _walk(q, c, query, candidates, begin, classes, buffers)
            pending[q, c] = False
            edges = 0
            for node in range(q_size):
                above = query.parents[node]
                if above >= 0 and buffers.matched[node] and buffers.matched[above]:
                    edges += 1
            similarity = _similarity(nodes, edges, q_size)
            precision, recall = nodes / c_size, exact / q_size
            if (similarity, precision, recall) > (best[0], best[1], best[2]):
                best[0], best[1], best[2] = similarity, precision, recall


@compiled
def _fill_sizes(forest: Forest, begin: int, size: int, out: Array) -> None:
    """Write the number of nodes of each node's subtree, as alignment walks it; children come after their parent."""
    for at in range(size - 1, -1, -1):
        out[at] = 1
        below = forest.firsts[begin + at]
        while below >= 0:
            out[at] += out[below]
            below = forest.nexts[begin + below]


@compiled
def _similarity(nodes: int, edges: int, size: int) -> float:
    """Return the maximum subtree similarity of an alignment."""
    node_share = nodes / size
    edge_share = 1.0
    if size > 1:
        edge_share = (edges if edges > 0 else _NO_EDGE) / (size - 1)
    return 2.0 * node_share * edge_share / (node_share + edge_share)


@compiled
def may_unify(a: int, b: int, classes: LabelClasses) -> bool:
    """Return whether a label of the query may match a label of a candidate."""
    kind = classes.kinds[a]
    if a == b or kind == WILDCARD:
        return True
    if kind == 0 or kind != classes.kinds[b] or kind in (_OPERATOR, _UNORDERED):
        return False
    if kind == _NUMBER:
        return bool(classes.numeric[b])
    if kind == _VARIABLE:
        return bool(classes.short[a] == classes.short[b])
    return True


@compiled
def _match_kind(a: int, b: int, classes: LabelClasses) -> int:
    """Return how two labels match."""
    if classes.kinds[a] == WILDCARD:
        return EXACT
    if not may_unify(a, b, classes):
        return NONE
    if classes.kinds[a] == _VARIABLE and classes.kinds[b] == _VARIABLE:
        return VARIABLES
    return EXACT if a == b else UNIFIED


@compiled
def _link_layout(
    query: Forest, candidates: Forest, begin: int, c_size: int, classes: LabelClasses, linked: Array
) -> None:
    """Mark the pairs of children that alignment visits: on the same edge, or at the same place in a group."""
    for q in range(len(query.labels)):
        for c in range(c_size):
            both = classes.kinds[query.labels[q]] == _GROUP and classes.kinds[candidates.labels[begin + c]] == _GROUP
            rows_q, columns_q = classes.rows[query.labels[q]], classes.columns[query.labels[q]]
            rows_c = classes.rows[candidates.labels[begin + c]]
            columns_c = classes.columns[candidates.labels[begin + c]]
            lists = (rows_q == 1 or columns_q == 1) and (rows_c == 1 or columns_c == 1)
            below = query.firsts[q]
            while below >= 0:
                other = candidates.firsts[begin + c]
                while other >= 0:
                    slot_q, slot_c = query.slots[below], candidates.slots[begin + other]
                    same = slot_q == slot_c
                    if both and not lists and slot_q >= FIRST_ELEMENT and slot_c >= FIRST_ELEMENT:
                        place_q, place_c = slot_q - FIRST_ELEMENT, slot_c - FIRST_ELEMENT
                        same = (
                            place_q // columns_q == place_c // columns_c and place_q % columns_q == place_c % columns_c
                        )
                    if same:
                        linked[below, other] = True
                    other = candidates.nexts[begin + other]
                below = query.nexts[below]


@compiled
def _link_operands(
    query: Forest, candidates: Forest, begin: int, c_size: int, classes: LabelClasses, buffers: Buffers
) -> None:
    """Mark the pairs of operands that alignment visits below a pair of operators.

    Operands of the same unordered operator are paired greedily, those with most potential matches first; all others by
    position. Children come after their parent in the arrays, so the loops run backwards.
    """
    potential, exact, linked = buffers.potential, buffers.exact, buffers.linked
    for q in range(len(query.labels) - 1, -1, -1):
        label_q = query.labels[q]
        for c in range(c_size - 1, -1, -1):
            label_c = candidates.labels[begin + c]
            kind = _match_kind(label_q, label_c, classes)
            potential[q, c] = 1 if kind != NONE else 0
            exact[q, c] = 1 if kind == EXACT else 0
            groups = classes.kinds[label_q] == _GROUP and classes.kinds[label_c] == _GROUP
            if classes.kinds[label_q] == WILDCARD or (groups and classes.groups[label_q] != classes.groups[label_c]):
                continue
            if label_q == label_c and classes.kinds[label_q] == _UNORDERED:
                _pair_greedily(q, c, query, candidates, begin, buffers)
            else:
                below, other = query.firsts[q], candidates.firsts[begin + c]
                while below >= 0 and other >= 0:
                    linked[below, other] = True
                    potential[q, c] += potential[below, other]
                    exact[q, c] += exact[below, other]
                    below, other = query.nexts[below], candidates.nexts[begin + other]


@compiled
def _pair_greedily(q: int, c: int, query: Forest, candidates: Forest, begin: int, buffers: Buffers) -> None:
    """Pair the operands of an unordered operator: most potential matches, then most exact ones, then the first."""
    potential, exact, linked = buffers.potential, buffers.exact, buffers.linked
    while True:
        best_below, best_other, best_potential, best_exact = -1, -1, -1, -1
        below = query.firsts[q]
        while below >= 0:
            taken = False
            other = candidates.firsts[begin + c]
            while other >= 0:
                taken = taken or linked[below, other]
                other = candidates.nexts[begin + other]
            other = candidates.firsts[begin + c]
            while other >= 0 and not taken:
                value, same = potential[below, other], exact[below, other]
                better = value > best_potential or (value == best_potential and same > best_exact)
                if better and not _is_taken(other, q, query, linked):
                    best_below, best_other, best_potential, best_exact = below, other, value, same
                other = candidates.nexts[begin + other]
            below = query.nexts[below]
        if best_below < 0:
            return
        linked[best_below, best_other] = True
        potential[q, c] += best_potential
        exact[q, c] += best_exact


@compiled
def _is_taken(other: int, q: int, query: Forest, linked: Array) -> bool:
    """Return whether an operand of the candidate is paired with an operand of the query node `q`."""
    below = query.firsts[q]
    while below >= 0:
        if linked[below, other]:
            return True
        below = query.nexts[below]
    return False


@compiled
def _walk(
    q: int, c: int, query: Forest, candidates: Forest, begin: int, classes: LabelClasses, buffers: Buffers
) -> tuple[int, int]:
    """Align two subtrees; return the matched nodes and those of them that match exactly, and mark them in `buffers`."""
    stack, met, matched = buffers.stack, buffers.met, buffers.matched
    matched[:] = False
    stack[0, 0], stack[0, 1] = q, c
    height, found = 1, 0
    while height:
        height -= 1
        node, other = stack[height, 0], stack[height, 1]
        kind = _match_kind(query.labels[node], candidates.labels[begin + other], classes)
        if kind != NONE:
            met[found, 0], met[found, 1], met[found, 2] = node, other, kind
            found += 1
        below = query.firsts[node]
        while below >= 0:
            beside = candidates.firsts[begin + other]
            while beside >= 0:
                if buffers.linked[below, beside]:
                    stack[height, 0], stack[height, 1] = below, beside
                    height += 1
                beside = candidates.nexts[begin + beside]
            below = query.nexts[below]
    _unify_variables(found, query, candidates, begin, classes, met, buffers.pairs)
    nodes, exact = 0, 0
    for at in range(found):
        if met[at, 2] != NONE:
            nodes += 1
            exact += 1 if met[at, 2] == EXACT else 0
            matched[met[at, 0]] = True
            buffers.pending[met[at, 0], met[at, 1]] = False
    return nodes, exact


@compiled
def _unify_variables(
    found: int, query: Forest, candidates: Forest, begin: int, classes: LabelClasses, met: Array, pairs: Array
) -> None:
    """Accept pairs of variables one to one: the most frequent pair first, equal names before others, then the larger
    names.

    Pairs that are left over do not match.
    """
    distinct = 0
    for at in range(found):
        if met[at, 2] != VARIABLES:
            continue
        a, b = query.labels[met[at, 0]], candidates.labels[begin + met[at, 1]]
        number = 0
        while number < distinct and (pairs[number, 0] != a or pairs[number, 1] != b):
            number += 1
        if number == distinct:
            pairs[number, 0], pairs[number, 1], pairs[number, 2], pairs[number, 3] = a, b, 0, VARIABLES
            distinct += 1
        pairs[number, 2] += 1
        met[at, 3] = number
    _accept_pairs(distinct, classes, pairs)
    for at in range(found):
        if met[at, 2] == VARIABLES:
            met[at, 2] = pairs[met[at, 3], 3]


@compiled
def _accept_pairs(distinct: int, classes: LabelClasses, pairs: Array) -> None:
    """Decide for each distinct pair of variables how it matches."""
    while True:
        best, best_key = -1, (0, False, 0.0, 0.0)
        for at in range(distinct):
            if pairs[at, 3] != VARIABLES:
                continue
            a, b = pairs[at, 0], pairs[at, 1]
            key = (pairs[at, 2], a == b, classes.ranks[a], classes.ranks[b])
            if best < 0 or key > best_key:
                best, best_key = at, key
        if best < 0:
            return
        a, b = pairs[best, 0], pairs[best, 1]
        for at in range(distinct):
            if pairs[at, 3] == VARIABLES and (pairs[at, 0] == a or pairs[at, 1] == b):
                pairs[at, 3] = NONE
        pairs[best, 3] = EXACT if a == b else UNIFIED
