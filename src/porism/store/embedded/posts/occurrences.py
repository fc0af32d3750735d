"""Occurrences of terms in posts, collected per field and folded into rows of counts. Loops are compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.pieces import Pieces, PieceTerms
from porism.analysis.schema import FIELDS, FORMULA_FAMILIES, NAME_FAMILY, TAG_FAMILY, TEXT_FAMILIES, VISUAL_FAMILY
from porism.compiled import compiled
from porism.corpus.content import Content
from porism.corpus.post import Thread
from porism.store.embedded.formulas.codes import MISSING, ExtraFormulas, KnownCodes, encode_expressions
from porism.store.embedded.storage.rows import fold_rows
from porism.store.embedded.terms.dictionary import BlockTerms, Hashes, LocalRows, local_codes

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]
FIELD_NUMBER = {field: number for number, field in enumerate(FIELDS)}
# Families whose texts are kept: terms that are shown to people, and visual ids, by which the formulas of a post are
# found.
NAMED_FAMILIES = ("words", TAG_FAMILY, VISUAL_FAMILY)


class FieldFormulas(NamedTuple):
    """Formulas of a field of a post: the position of the post in its thread, the field, and the visual ids."""

    post: int
    field: str
    visual_ids: list[int]


class _FamilyOccurrences:
    """Occurrences of one family: term, row and field of each."""

    def __init__(self) -> None:
        self.vocabulary = BlockTerms()
        self._codes: list[int] = []
        self._places: list[tuple[int, int, int]] = []  # row, field, number of terms

    def add(self, row: int, field: int, terms: Sequence[str]) -> None:
        """Add the terms of one piece of text."""
        self._codes += self.vocabulary.codes(terms)
        self._places.append((row, field, len(terms)))

    def rows(self, documents: int, named: bool) -> LocalRows:
        """Return the rows of all documents."""
        places = np.array(self._places, np.int64).reshape(-1, 3)
        rows, fields = (np.repeat(places[:, column], places[:, 2]) for column in (0, 1))
        block = fold_rows(rows, np.array(self._codes, np.uint32), fields, documents, len(FIELDS))
        return LocalRows(block, self.vocabulary.hashes(), self.vocabulary.texts() if named else ())


class Occurrences:
    """Collect the pieces of threads, then make the rows of their posts in every family."""

    def __init__(self) -> None:
        self.posts = 0
        self._terms = {
            family: _FamilyOccurrences() for family in (*TEXT_FAMILIES, TAG_FAMILY, VISUAL_FAMILY, NAME_FAMILY)
        }
        self._expressions: list[int] = []  # of each formula
        self._formula_places: list[tuple[int, int, int]] = []  # row, field, number of formulas

    def add(self, thread: Thread, pieces: Pieces, visuals: Sequence[FieldFormulas]) -> None:
        """Add the next thread: a row for its question, then one for each answer."""
        row, question = self.posts, thread.question
        self._add(row, "title", pieces.title)
        self._add(row, "question", pieces.body)
        for field, heading in pieces.headings.items():
            self._add(row, field, heading)
        for field, names in pieces.names.items():
            self._terms[NAME_FAMILY].add(row, FIELD_NUMBER[field], names)
        self._add(row, "tags", pieces.tags)
        self._terms[TAG_FAMILY].add(row, FIELD_NUMBER["tags"], question.tags)
        for title in pieces.linked:
            self._add(row, "linked_titles", title)
        for comment in pieces.comments.get(question.id, ()):
            self._add(row, "question_comments", comment)
        for number, (post, answer) in enumerate(zip(thread.answers, pieces.answers, strict=True), row + 1):
            self._add(number, "answer", answer)
            for comment in pieces.comments.get(post.id, ()):
                self._add(number, "answer_comments", comment)
        for use in visuals:
            self._terms[VISUAL_FAMILY].add(row + use.post, FIELD_NUMBER[use.field], [*map(str, use.visual_ids)])
        self.posts += 1 + len(thread.answers)

    def _add(self, row: int, field: str, piece: PieceTerms) -> None:
        for family, terms in piece.terms.items():
            self._terms[family].add(row, FIELD_NUMBER[field], terms)
        self._expressions += [formula.expression_id for formula in piece.formulas]
        self._formula_places.append((row, FIELD_NUMBER[field], len(piece.formulas)))

    def rows(self, known: KnownCodes, content: Content) -> dict[str, LocalRows]:
        """Return the rows of all posts by family."""
        found = {family: terms.rows(self.posts, family in NAMED_FAMILIES) for family, terms in self._terms.items()}
        places = np.array(self._formula_places, np.int64).reshape(-1, 3)
        rows, fields = (np.repeat(places[:, column], places[:, 2]) for column in (0, 1))
        expressions, numbers = np.unique(np.array(self._expressions, np.int64), return_inverse=True)
        items = known.items(expressions)
        extra = encode_expressions(content, expressions[items == MISSING].tolist())
        for family in FORMULA_FAMILIES:
            own = _CodeSource(items, known.ends[family], known.codes[family], known.hashes[family])
            new = _extra_source(items, extra, family)
            found[family] = _formula_rows(rows, fields, numbers, (own, new), self.posts)
        return found


class _CodeSource(NamedTuple):
    """Codes of expressions: the item of each (or MISSING), where items end, the codes, and the hashes of codes."""

    items: Ints
    ends: Ints
    codes: Codes
    hashes: Hashes


def _extra_source(items: Ints, extra: ExtraFormulas, family: str) -> _CodeSource:
    """Return the source of expressions whose codes were not stored, because an earlier segment has them."""
    missing = np.flatnonzero(items == MISSING)
    own = np.full(len(items), MISSING, np.int64)
    own[missing] = np.arange(len(missing))
    lists = extra.encoded.lists[family]
    ends, codes = np.cumsum(lists.sizes), lists.codes
    for array in (ends, codes):
        array.setflags(write=False)  # like mapped arrays, so that loops are compiled once for both
    return _CodeSource(own, ends, codes, extra.hashes[family])


@compiled
def _expand(items: Any, rows: Any, fields: Any, ends: Any, codes: Any) -> Any:
    """Return row, field and code of each term of formulas. Those with a negative item are in another source."""
    size = 0
    for at in range(len(items)):
        item = items[at]
        if item >= 0:
            size += ends[item] - (ends[item - 1] if item else 0)
    out_rows, out_fields, out_codes = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.uint32)
    place = 0
    for at in range(len(items)):
        item = items[at]
        if item >= 0:
            for spot in range(ends[item - 1] if item else 0, ends[item]):
                out_rows[place], out_fields[place], out_codes[place] = rows[at], fields[at], codes[spot]
                place += 1
    return out_rows, out_fields, out_codes


def _distinct(codes: Codes) -> tuple[Ints, Ints]:
    """Return the distinct codes in order, and the position of each code among them; faster than sorting."""
    found = local_codes(codes.astype(np.uint64) + np.uint64(1))  # no key is 0
    order = np.argsort(found.hashes)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return (found.hashes[order] - np.uint64(1)).astype(np.int64), ranks[found.codes]


def _formula_rows(rows: Ints, fields: Ints, numbers: Ints, sources: Sequence[_CodeSource], documents: int) -> LocalRows:
    """Return the rows of one family of formula terms."""
    all_rows, all_fields, all_codes, hashes = [], [], [], []
    before = 0
    for source in sources:
        found_rows, found_fields, codes = _expand(source.items[numbers], rows, fields, source.ends, source.codes)
        used, local = _distinct(codes)
        all_rows.append(found_rows)
        all_fields.append(found_fields)
        all_codes.append((local + before).astype(np.uint32))
        hashes.append(source.hashes[used])
        before += len(used)
    block = fold_rows(
        np.concatenate(all_rows), np.concatenate(all_codes), np.concatenate(all_fields), documents, len(FIELDS)
    )
    return LocalRows(block, np.concatenate(hashes))
