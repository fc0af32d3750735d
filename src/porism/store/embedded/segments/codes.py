"""Term codes of an index over the codes of its segments.

Each segment has dictionaries of its own, with codes 0, 1, 2, ... The codes of the first segment are those of the index. A term of a later
segment has the code it has in an earlier one; a new term gets the next code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.store.embedded.terms.dictionary import Dictionary
from porism.store.records import UNKNOWN

Ints = npt.NDArray[np.int64]


class LocalTerm(NamedTuple):
    """A term in the segment that has it first: the segment, and its code there."""

    segment: int
    code: int


class SegmentCodes:
    """The codes of one later segment: `codes[local]` is the code in the index; new terms have codes from `first` on."""

    def __init__(self, codes: npt.NDArray[np.uint32], first: int) -> None:
        self.codes = codes
        self.first = first

    @cached_property
    def new(self) -> Ints:
        """The local codes of the new terms, in the order of their codes in the index."""
        return np.flatnonzero(self.codes >= self.first)

    @cached_property
    def order(self) -> Ints:
        """The local codes in the order of their codes in the index."""
        return np.argsort(self.codes, kind="stable")


class FamilyCodes:
    """The codes of one family of terms in all segments."""

    def __init__(self, dictionaries: Sequence[Dictionary]) -> None:
        self._dictionaries = dictionaries
        self._first_size = len(dictionaries[0])
        self.size = self._first_size
        self._later: list[SegmentCodes] = []
        for segment, dictionary in enumerate(dictionaries[1:], 1):
            self._later.append(self._number(dictionary, segment))
            self.size += len(self._later[-1].new)

    def _number(self, dictionary: Dictionary, segment: int) -> SegmentCodes:
        hashes = dictionary.by_id()
        codes = np.full(len(hashes), UNKNOWN, np.int64)
        for earlier in range(segment):
            missing = np.flatnonzero(codes == UNKNOWN)
            found = self._dictionaries[earlier].find_hashes(hashes[missing])
            known = found != UNKNOWN
            codes[missing[known]] = self.to_index(earlier, found[known])
        new = np.flatnonzero(codes == UNKNOWN)
        codes[new] = self.size + np.arange(len(new))
        return SegmentCodes(codes.astype(np.uint32), self.size)

    def mapping(self, segment: int) -> npt.NDArray[np.uint32] | None:
        """Return the codes in the index of all codes of a segment; None for the first segment, where they are the same."""
        return self._later[segment - 1].codes if segment else None

    def to_index(self, segment: int, codes: Ints) -> Ints:
        """Return the codes in the index of codes of a segment."""
        return self._later[segment - 1].codes[codes].astype(np.int64) if segment else codes

    def to_segment(self, segment: int, codes: Ints) -> Ints:
        """Return the codes in a segment of codes of the index, UNKNOWN for terms that the segment lacks."""
        if not segment:
            return np.where(codes < self._first_size, codes, UNKNOWN)
        own = self._later[segment - 1]
        if not len(own.codes):
            return np.full(len(codes), UNKNOWN, np.int64)
        at = np.minimum(np.searchsorted(own.codes, codes, sorter=own.order), len(own.order) - 1)
        return np.where(own.codes[own.order[at]] == codes, own.order[at], UNKNOWN)

    def local(self, code: int) -> LocalTerm:
        """Return the segment that has a term first, and the code of the term there."""
        for segment in range(len(self._later), 0, -1):
            own = self._later[segment - 1]
            if code >= own.first:
                return LocalTerm(segment, int(own.new[code - own.first]))
        return LocalTerm(0, code)
