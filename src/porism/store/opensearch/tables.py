"""The terms of a collection: their codes, how many documents contain them, and what is known of symbols.

A build uploads the dictionaries of the embedded index as they are; a client keeps them in a folder and maps them.
Commits add to them in memory: new terms get the next codes, and frequencies change by differences. So statistics are
exact, and cost no request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FORMULA_FAMILIES, VISUAL_FAMILY
from porism.store.embedded.formulas.store import KEY_TYPES, STATISTICS, inverse_frequency, label_weights
from porism.store.embedded.storage.columns import read_array, read_columns
from porism.store.embedded.terms.dictionary import Dictionary, Hashes
from porism.store.embedded.terms.embedded import group_terms
from porism.store.records import UNKNOWN, Floats, Term, TermStatistics

Ints = npt.NDArray[np.int64]
VISUALS = "formulas/visuals.npy"
NO_INTS: Ints = np.empty(0, np.int64)
FOLDERS = {"posts": "posts", "formulas": "formulas/terms"}
GROUPS: Mapping[str, Sequence[str]] = {"posts": FAMILIES, "formulas": FORMULA_FAMILIES}


class Counted(NamedTuple):
    """Keys, ascending, and a number for each: by how much a count differs."""

    keys: Ints
    numbers: Ints

    def look_up(self, keys: npt.NDArray[Any]) -> Ints:
        """Return the number of each key, 0 for others."""
        if not len(self.keys):
            return np.zeros(len(keys), np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.numbers[at], 0).astype(np.int64)

    def plus(self, keys: Ints, numbers: Ints) -> Counted:
        """Return the sum with other numbers; keys of 0 are left out."""
        if not len(keys):
            return self
        merged, place = np.unique(np.concatenate((self.keys, keys)), return_inverse=True)
        totals = np.zeros(len(merged), np.int64)
        np.add.at(totals, place, np.concatenate((self.numbers, numbers)))
        return Counted(merged[totals != 0], totals[totals != 0])


NOTHING = Counted(NO_INTS, NO_INTS)


class TermChange(NamedTuple):
    """What a commit changes in a family: the hashes of new terms in the order of their codes, their texts where they
    are kept, and by how much the number of documents of each code differs."""

    hashes: Hashes
    texts: Sequence[str]
    documents: Counted


class TermTable:
    """One family: the mapped dictionary of the build, and what commits added."""

    def __init__(self, path: Path) -> None:
        self._dictionary = Dictionary(path)
        self._documents: npt.NDArray[Any] = read_array(Path(f"{path}.documents.npy"))
        self._new: Hashes = np.empty(0, np.uint64)  # by code
        self._sorted = self._new
        self._order = NO_INTS
        self._texts: tuple[str, ...] = ()
        self._change = NOTHING

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self._dictionary) + len(self._new)

    def changed(self, change: TermChange) -> TermTable:
        """Return the table after a commit."""
        made = object.__new__(TermTable)
        made._dictionary, made._documents = self._dictionary, self._documents
        made._new = np.concatenate((self._new, change.hashes))
        made._order = np.argsort(made._new, kind="stable")
        made._sorted = made._new[made._order]
        made._texts = (*self._texts, *change.texts)
        made._change = self._change.plus(*change.documents)
        return made

    def hashes(self) -> Hashes:
        """Return the hashes of all terms in the order of codes."""
        return np.concatenate((self._dictionary.by_id(), self._new))

    def find(self, hashes: Hashes) -> Ints:
        """Return the codes of terms by their hashes, UNKNOWN for terms that no document ever contained."""
        found = self._dictionary.find_hashes(hashes)
        if len(self._new):
            at = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
            new = (found == UNKNOWN) & (self._sorted[at] == hashes)
            found[new] = len(self._dictionary) + self._order[at[new]]
        return found

    def documents(self, codes: Ints) -> Ints:
        """Return how many documents contain each term."""
        if not len(self._new) and not len(self._change.keys):
            return self._documents[codes].astype(np.int64)
        base = codes < len(self._documents)
        counts = np.zeros(len(codes), np.int64)
        counts[base] = self._documents[codes[base]]
        return counts + self._change.look_up(codes)

    def texts(self, codes: Ints) -> list[str]:
        """Return the terms with these codes, where texts are kept."""
        first = len(self._dictionary)
        if not self._texts:
            return self._dictionary.texts(np.minimum(codes, max(0, first - 1))) if first else [""] * len(codes)
        own = [self._dictionary.texts(np.array([one]))[0] if one < first else self._texts[one - first] for one in codes]
        return own

    def numbers(self, codes: Ints) -> Ints:
        """Return the terms with these codes, which are decimal numbers, as integers."""
        first = len(self._dictionary)
        base = codes < first
        values = np.zeros(len(codes), np.int64)
        values[base] = self._dictionary.numbers(codes[base])
        values[~base] = [int(self._texts[code - first]) for code in codes[~base].tolist()]
        return values


class SymbolChange(NamedTuple):
    """What a commit changes of symbols: by how much the number of formulas with each label differs (layout trees,
    operator trees), the path groups of each key, and visual ids that are new or gone."""

    labels: Mapping[str, tuple[int, int]]
    keys: Counted
    new: Ints
    gone: Ints


class Symbols:
    """What is known of the symbols of all formulas, and which formulas there are. Implements `SymbolTable`."""

    def __init__(self, folder: Path) -> None:
        statistics = json.loads((folder / "formulas" / STATISTICS).read_text("utf-8"))
        rows = statistics["labels"]
        self.labels: dict[str, int] = {label: at for at, (label, _, _) in enumerate(rows)}
        self._counts = np.array([row[1:] for row in rows], np.int64).reshape(-1, 2)
        keys = read_columns(folder / "formulas" / "keys", KEY_TYPES)
        self._keys = Counted(keys["key"], keys["key_count"])
        self._change = NOTHING
        self._path_groups = int(keys["key_count"].sum())
        self.visual_ids: Ints = read_array(folder / VISUALS)

    def changed(self, change: SymbolChange) -> Symbols:
        """Return what is known after a commit."""
        made = object.__new__(Symbols)
        made.labels = dict(self.labels)
        numbers = [made.labels.setdefault(label, len(made.labels)) for label in change.labels]
        made._counts = np.zeros((len(made.labels), 2), np.int64)
        made._counts[: len(self._counts)] = self._counts
        if numbers:
            made._counts[numbers] += np.array([*change.labels.values()], np.int64)
        made._keys, made._change = self._keys, self._change.plus(*change.keys)
        made._path_groups = self._path_groups + int(change.keys.numbers.sum())
        made.visual_ids = np.union1d(np.setdiff1d(self.visual_ids, change.gone), change.new)
        return made

    @property
    def formulas(self) -> int:
        """The number of distinct formulas."""
        return len(self.visual_ids)

    @property
    def layout_weights(self) -> Floats:
        """The weight of each label in layout trees."""
        return label_weights(self._counts[:, 0], self.formulas)

    @property
    def operator_weights(self) -> Floats:
        """The weight of each label in operator trees."""
        return label_weights(self._counts[:, 1], self.formulas)

    @property
    def unseen_label_weight(self) -> float:
        """The weight of a label that no formula has."""
        return float(label_weights([0], self.formulas)[0])

    def inverse_path_frequency(self, keys: npt.NDArray[np.uint32]) -> Floats:
        """Return ln(all path groups / path groups with this key) for each key."""
        groups = self._keys.look_up(keys).astype(np.int64) + self._change.look_up(keys.astype(np.int64))
        return inverse_frequency(groups, self._path_groups)

    def rows(self, visual_ids: Ints) -> Ints:
        """Return the numbers of formulas, which are visual ids, UNKNOWN for those that are not here."""
        held = self.visual_ids
        if not len(held):
            return np.full(len(visual_ids), UNKNOWN, np.int64)
        at = np.minimum(np.searchsorted(held, visual_ids), len(held) - 1)
        return np.where(held[at] == visual_ids, visual_ids, UNKNOWN)


class Tables(NamedTuple):
    """The terms of posts and of formulas by family, and symbols."""

    terms: Mapping[str, Mapping[str, TermTable]]
    symbols: Symbols

    @classmethod
    def open(cls, folder: Path) -> Tables:
        """Map the tables of a build."""
        terms = {
            group: {family: TermTable(folder / FOLDERS[group] / family) for family in families}
            for group, families in GROUPS.items()
        }
        return cls(terms, Symbols(folder))

    def changed(self, terms: Mapping[str, Mapping[str, TermChange]], symbols: SymbolChange) -> Tables:
        """Return the tables after a commit."""
        made = {
            group: {family: table.changed(terms[group][family]) for family, table in own.items()}
            for group, own in self.terms.items()
        }
        return Tables(made, self.symbols.changed(symbols))

    def statistics(self, group: str, terms: Sequence[Term]) -> TermStatistics:
        """Return the codes and document frequencies of many terms."""
        codes, documents = np.full(len(terms), UNKNOWN, np.int64), np.zeros(len(terms), np.int64)
        for family, places, hashes in group_terms(terms):
            table = self.terms[group][family]
            own = table.find(hashes)
            known = own != UNKNOWN
            own, at = own[known], places[known]
            documents[at] = table.documents(own)
            codes[at] = np.where(documents[at] > 0, own, UNKNOWN)
        return TermStatistics(codes, documents)

    def frequencies(self, family: str, codes: Ints) -> Ints:
        """Return how many threads contain each term, by code."""
        return self.terms["posts"][family].documents(codes)

    def texts(self, family: str, codes: Ints) -> list[str]:
        """Return the terms of posts with these codes, where texts are kept."""
        return self.terms["posts"][family].texts(codes)

    def hashes(self, family: str) -> Hashes:
        """Return the hashes of the terms of a family of posts, in the order of codes."""
        return self.terms["posts"][family].hashes()

    def numbers_of_visuals(self, codes: Ints) -> Ints:
        """Return the visual ids by the codes with which posts name them."""
        return self.terms["posts"][VISUAL_FAMILY].numbers(codes)


def table_files(index: Path) -> list[str]:
    """Return the files of an embedded index that clients read, relative to it, but for the visual ids."""
    names = [
        f"{FOLDERS[group]}/{family}.{end}"
        for group, families in GROUPS.items()
        for family in families
        for end in ("hash.npy", "id.npy", "documents.npy", "text", "text_end.npy")
    ]
    names += ["posts/concepts.tsv", "vocabulary.tsv", f"formulas/{STATISTICS}"]
    names += [f"formulas/keys/{name}.bin" for name in KEY_TYPES]
    names += [str(path.relative_to(index)) for path in sorted((index / "posts").glob("vectors.*.*.npy"))]
    return [name for name in names if (index / name).is_file()]
