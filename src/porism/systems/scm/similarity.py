"""Similar tokens, found among their neighbours, as the matrix of the soft cosine measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from porism.compiled import compiled
from porism.systems.arrays import Codes, Floats, Singles, Small

MOST = 100  # neighbours of a token
LARGEST_DISTANCE = 3
EDIT_FACTOR, EDIT_EXPONENT, COSINE_EXPONENT = 1.8, 5.0, 4.0
LONGEST = 64  # characters of a token that has neighbours by edit distance: one bit each
# vectors up to which all pairs are compared; more are split by random planes, as a tree of the original does
EXACT = 20_000
LEAF = 4096


class Neighbours(NamedTuple):
    """For each token its neighbours, the most similar first; -1 where there are fewer."""

    tokens: Small
    similarities: Singles


def by_edit_distance(tokens: Sequence[str], advance: Callable[[int], None]) -> Neighbours:
    """Return neighbours within three edits; the similarity is 1.8 (1 - distance / longer length)^5."""
    found = Neighbours(np.full((len(tokens), MOST), -1, np.int32), np.zeros((len(tokens), MOST), np.float32))
    alphabet = {char: code for code, char in enumerate(sorted(set("".join(tokens))))}
    order = np.array(sorted(range(len(tokens)), key=lambda place: (len(tokens[place]), place)), np.int32)
    lengths = np.array([len(tokens[place]) for place in order], np.int32)
    letters = np.zeros((len(tokens), LONGEST), np.int32)
    signatures = np.zeros((len(tokens), 2), np.uint64)
    for row, place in enumerate(order):
        codes = [alphabet[char] for char in tokens[place][:LONGEST]]
        letters[row, : len(codes)] = codes
        signatures[row] = _signatures(codes)
    step = 512
    for start in range(0, len(tokens), step):
        end = min(start + step, len(tokens))
        _edit_rows(start, end, lengths, letters, signatures, order, len(alphabet), found.tokens, found.similarities)
        advance(end - start)
    return found


def _signatures(codes: Sequence[int]) -> tuple[int, int]:
    """Return sets as bits: of letters, each occurrence with a bit of its own, and of pairs of letters."""
    single = pairs = before = 0
    seen: Counter[int] = Counter()
    for code in codes:
        single |= 1 << ((code + 29 * seen[code]) % 64)
        pairs |= 1 << ((31 * before + code) % 61)
        seen[code] += 1
        before = code + 1
    return single, pairs


@compiled
def _edit_rows(
    start: int, end: int, lengths: Small, letters: Small, signatures: Codes, order: Small, alphabet: int,
    neighbours: Small, similarities: Singles,
) -> None:  # fmt: skip
    """Fill the neighbours of some rows and of longer ones; rows are sorted by length, so a range is near enough."""
    masks = np.zeros(max(alphabet, 1), np.uint64)
    for row in range(start, end):
        length = lengths[row]
        if length > LONGEST or length == 0:
            continue
        for column in range(length):
            masks[letters[row, column]] |= np.uint64(1) << np.uint64(column)
        high = np.searchsorted(lengths, min(length + LARGEST_DISTANCE, LONGEST), side="right")
        for other in range(row + 1, high):
            size = lengths[other]
            if size == 0:
                continue
            # An edit changes the length by one at most; two at most of the occurrences of letters, four of the set of
            # pairs of letters.
            least = max(
                size - length,
                (_bits(signatures[row, 0] ^ signatures[other, 0]) + 1) // 2,
                (_bits(signatures[row, 1] ^ signatures[other, 1]) + 3) // 4,
            )
            if least > LARGEST_DISTANCE:
                continue
            best = _similarity(least, size)
            if best <= similarities[order[row], MOST - 1] and best <= similarities[order[other], MOST - 1]:
                continue
            distance = _distance(masks, length, letters[other], size)
            if distance <= LARGEST_DISTANCE and distance < size:
                value = _similarity(distance, size)
                _insert(neighbours[order[row]], similarities[order[row]], order[other], value)
                _insert(neighbours[order[other]], similarities[order[other]], order[row], value)
        for column in range(length):
            masks[letters[row, column]] = np.uint64(0)


@compiled
def _similarity(distance: int, longer: int) -> float:
    return float(EDIT_FACTOR * (1.0 - distance / longer) ** EDIT_EXPONENT)


@compiled
def _bits(number: np.uint64) -> int:
    """Return the number of bits that are set, counted in pairs, fours and bytes at once."""
    number = number - ((number >> np.uint64(1)) & np.uint64(0x5555555555555555))
    number = (number & np.uint64(0x3333333333333333)) + ((number >> np.uint64(2)) & np.uint64(0x3333333333333333))
    number = (number + (number >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((number * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _distance(masks: Codes, length: int, text: Small, size: int) -> int:
    """Return the edit distance, or any number above the largest that counts, by the bit vectors of Myers."""
    one = np.uint64(1)
    last = one << np.uint64(length - 1)
    positive, negative = ~np.uint64(0), np.uint64(0)
    distance = length
    for place in range(size):
        equal = masks[text[place]]
        vertical = equal | negative
        horizontal = (((equal & positive) + positive) ^ positive) | equal
        plus = negative | ~(horizontal | positive)
        minus = positive & horizontal
        if plus & last:
            distance += 1
        if minus & last:
            distance -= 1
        if distance - (size - place - 1) > LARGEST_DISTANCE:
            return distance
        plus = (plus << one) | one
        minus = minus << one
        positive = minus | ~(vertical | plus)
        negative = plus & vertical
    return distance


@compiled
def _insert(tokens: Small, similarities: Singles, token: int, similarity: float) -> None:
    """Insert a neighbour into a sorted list; equal similarities are in the order of codes."""
    value = np.float32(similarity)
    place = len(tokens)
    while place > 0 and (
        tokens[place - 1] < 0
        or similarities[place - 1] < value
        or (similarities[place - 1] == value and tokens[place - 1] > token)
    ):
        place -= 1
    if place == len(tokens):
        return
    for at in range(len(tokens) - 1, place, -1):
        tokens[at] = tokens[at - 1]
        similarities[at] = similarities[at - 1]
    tokens[place] = token
    similarities[place] = value


def by_cosine(vectors: Singles, rows: Small, size: int, seed: int, advance: Callable[[int], None]) -> Neighbours:
    """Return neighbours by cosine^4 of the vectors of some tokens (`rows` are their codes) among `size` tokens."""
    found = Neighbours(np.full((size, MOST), -1, np.int32), np.zeros((size, MOST), np.float32))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)
    for group in _groups(units, np.random.default_rng(seed)):
        _fill_group(units, group, rows, found)
        advance(len(group))
    return found


def _groups(units: Singles, random: np.random.Generator) -> list[Small]:
    """Split many vectors by planes between two of them until each group is small; few vectors are one group."""
    pending = [np.arange(len(units), dtype=np.int32)]
    if len(units) <= EXACT:
        return pending
    done = []
    while pending:
        group = pending.pop()
        if len(group) <= LEAF:
            done.append(group)
            continue
        first, second = random.choice(group, 2, replace=False)
        side = units[group] @ (units[first] - units[second])
        left = side > np.median(side)
        pending += [group[left], group[~left]] if 0 < left.sum() < len(group) else np.array_split(group, 2)
    return done


def _fill_group(units: Singles, group: Small, rows: Small, found: Neighbours, block: int = 256) -> None:
    """Write the nearest vectors within a group, some rows at a time."""
    inside = units[group]
    most = min(MOST, len(group) - 1)
    if most < 1:
        return
    for start in range(0, len(group), block):
        own = np.arange(start, min(start + block, len(group)))
        cosines = inside[own] @ inside.T
        cosines[np.arange(len(own)), own] = -2
        near = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
        values = np.take_along_axis(cosines, near, axis=1)
        order = np.lexsort((rows[group[near]], -values), axis=1)
        near, values = np.take_along_axis(near, order, axis=1), np.take_along_axis(values, order, axis=1)
        places = rows[group[own]]
        found.tokens[places, :most] = rows[group[near]]
        found.similarities[places, :most] = values**COSINE_EXPONENT


def similarity_matrix(neighbours: Neighbours, idf: Floats, dominant: bool) -> sparse.csr_matrix:
    """Return the matrix of some neighbours."""
    size = len(idf)
    order = np.lexsort((np.arange(size), -idf)).astype(np.int32)
    ranks = np.empty(size, np.int32)
    ranks[order] = np.arange(size, dtype=np.int32)
    columns = np.full((size, MOST), -1, np.int32)
    values = np.zeros((size, MOST), np.float32)
    used = np.zeros(size, np.int32)
    _fill(order, ranks, neighbours.tokens, neighbours.similarities, dominant, columns, values, used)
    rows = np.repeat(np.arange(size, dtype=np.int32), used)
    kept = columns >= 0
    entries = sparse.csr_matrix((values[kept].astype(np.float64), (rows, columns[kept])), shape=(size, size))
    return (entries + sparse.identity(size, format="csr")).tocsr()


@compiled
def _fill(
    order: Small, ranks: Small, tokens: Small, similarities: Singles, dominant: bool, columns: Small, values:
    Singles, used: Small,
) -> None:  # fmt: skip
    """Fill rows in order; a pair is entered in both rows or in none."""
    sums = np.zeros(len(order), np.float64)
    for row in order:
        free = MOST - used[row]
        count = 0
        while count < free and tokens[row, count] >= 0:
            count += 1
        for place in np.argsort(ranks[tokens[row, :count]]):
            other, value = tokens[row, place], similarities[row, place]
            if used[row] == MOST or used[other] == MOST or value == 0:
                continue
            if dominant and (sums[row] + value >= 1.0 or sums[other] + value >= 1.0):
                continue
            if np.any(columns[row, : used[row]] == other):
                continue
            for one, two in ((row, other), (other, row)):
                columns[one, used[one]] = two
                values[one, used[one]] = value
                used[one] += 1
                sums[one] += value
