"""What worker processes of a build use: the collection, opened once, and blocks of rows with term codes that are local
to the block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.store.embedded.storage.rows import RowBlock, fold_documents
from porism.store.embedded.terms.dictionary import DictionaryWriter, Hashes, hash_terms


@lru_cache(1)
def open_in_worker(path: Path, digest: str) -> Collection:
    """Open a collection, or return it if it is open already. The digest distinguishes collections that had the same
    path."""
    return Collection.open(path)


Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]


class LocalRows(NamedTuple):
    """Rows whose codes are positions in `hashes`, the distinct terms of the block; `texts` are the terms where they are
    shown to people."""

    rows: RowBlock
    hashes: Hashes
    texts: Sequence[str] = ()

    def final(self, dictionary: DictionaryWriter) -> RowBlock:
        """Return the rows with ids of the dictionary, which learns new terms."""
        ids = dictionary.intern(self.hashes, self.texts)
        return self.rows._replace(codes=ids[self.rows.codes])


class Vocabulary:
    """The distinct terms of a block in the order of first appearance."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__  # a new term gets the next code

    def codes(self, terms: Iterable[str]) -> list[int]:
        """Return the local code of each term."""
        return list(map(self._numbers.__getitem__, terms))

    def hashes(self) -> Hashes:
        """Return the hashes of all terms in the order of codes."""
        return hash_terms(self._numbers)

    def texts(self) -> list[str]:
        """Return all terms in the order of codes."""
        return list(self._numbers)


def rows_of_codes(sizes: Ints, codes: Codes, hashes: Hashes) -> LocalRows:
    """Return the rows of documents with a single field, given the number of terms of each and their local codes."""
    return LocalRows(fold_documents(sizes, codes, len(hashes)), hashes)
