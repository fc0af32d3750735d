"""Dictionaries, posting lists and rows are read as they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.store.embedded.storage.rows import FIELD_SHIFT, MOST_COUNT, Rows, RowsWriter, fold_documents, fold_rows
from porism.store.embedded.terms import postings
from porism.store.embedded.terms.dictionary import BlockTerms, Dictionary, DictionaryWriter, LocalRows, hash_terms
from porism.store.embedded.terms.postings import PostingLists, best, decode, encode_lists, write_postings

Entry = tuple[int, int, int]  # row, field, count


def encode(entries: list[Entry]) -> bytes:
    rows = np.array([row for row, _, _ in entries], np.int32)
    cells = np.array([field << FIELD_SHIFT | count for _, field, count in entries], np.uint8)
    out, ends = np.empty(6 * len(entries) + 1, np.uint8), np.zeros(1, np.int64)
    encode_lists(np.array([0, len(entries)]), rows, cells, out, ends)
    return out[: int(ends[0])].tobytes()


def decoded(data: bytes) -> list[Entry]:
    rows, cells = np.empty(len(data), np.int64), np.empty(len(data), np.uint8)
    size = decode(np.frombuffer(data, np.uint8), 0, len(data), rows, cells)
    return [
        (row, cell >> FIELD_SHIFT, cell & MOST_COUNT)
        for row, cell in zip(rows[:size].tolist(), cells[:size].tolist(), strict=True)
    ]


@pytest.fixture(scope="module", autouse=True)
def compiled_loops() -> None:
    """Compile before a test with a time limit calls the loops."""
    decoded(encode([(1, 0, 1), (3, 2, 2)]))


ENTRIES = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 6), st.integers(1, MOST_COUNT)), max_size=30
).map(lambda found: sorted(found))


@given(ENTRIES)
def test_a_posting_list_is_read_as_it_was_written(entries: list[Entry]) -> None:
    assert decoded(encode(entries)) == entries


def test_counts_of_one_take_a_single_integer() -> None:
    assert len(encode([(3, 2, 1)])) == 1
    assert len(encode([(3, 2, 2)])) == 2


def test_occurrences_are_counted_by_document_term_and_field() -> None:
    block = fold_rows(np.array([1, 0, 1, 1]), np.array([7, 7, 7, 5], np.uint32), np.array([0, 1, 0, 2]), 3, 3)
    assert block.sizes.tolist() == [1, 2, 0]
    assert block.codes.tolist() == [7, 5, 7]
    assert block.cells.tolist() == [1 << FIELD_SHIFT | 1, 2 << FIELD_SHIFT | 1, 2]
    assert block.lengths.tolist() == [[0, 1, 0], [2, 0, 1], [0, 0, 0]]


def test_rows_of_documents_with_a_single_field() -> None:
    random = np.random.default_rng(1)
    sizes = random.integers(0, 90, 20)
    codes = random.integers(0, 30, sizes.sum()).astype(np.uint32)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    expected = fold_rows(rows, codes, np.zeros(len(codes), np.int64), len(sizes), 1)
    for found, wanted in zip(fold_documents(sizes, codes, 30), expected, strict=True):
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist()


def test_a_count_too_large_for_a_cell_is_split_and_sums_to_itself() -> None:
    number = 2 * MOST_COUNT + 5
    block = fold_rows(np.zeros(number, np.int64), np.ones(number, np.uint32), np.zeros(number, np.int64), 1, 1)
    assert (block.cells & MOST_COUNT).sum() == block.lengths[0, 0] == number
    assert len(block.codes) == 3


def test_ids_are_given_in_the_order_of_first_appearance_and_kept(tmp_path: Path) -> None:
    writer = DictionaryWriter()
    assert writer.intern(hash_terms(["b", "a", "b"]), ["b", "a", "b"]).tolist() == [0, 1, 0]
    writer.save(tmp_path / "words")
    known = Dictionary(tmp_path / "words")
    assert known.find_hashes(hash_terms(["a", "missing", "b"])).tolist() == [1, -1, 0]
    assert known.texts(np.array([1, 0])) == ["a", "b"]


def test_texts_that_are_numbers_are_read_as_integers(tmp_path: Path) -> None:
    writer = DictionaryWriter()
    texts = ["0", "17", "9007199254740993"]
    writer.intern(hash_terms(texts), texts)
    writer.save(tmp_path / "numbers")
    assert Dictionary(tmp_path / "numbers").numbers(np.array([2, 0, 1])).tolist() == [9007199254740993, 0, 17]
    for unknown in (-1, 3):
        with pytest.raises(IndexError, match="does not have"):
            Dictionary(tmp_path / "numbers").numbers(np.array([0, unknown]))


def test_a_dictionary_grows_beyond_its_first_table() -> None:
    terms = [str(number) for number in range(100_000)]
    writer = DictionaryWriter()
    for start in range(0, len(terms), 7_000):
        writer.intern(hash_terms(terms[start : start + 7_000]))
    assert writer.size == len(terms)
    assert writer.intern(hash_terms(terms)).tolist() == list(range(len(terms)))


def test_the_hash_of_a_term_does_not_depend_on_the_others() -> None:
    terms = ["a", "", "b\0c", "\ud800", "é"]
    assert hash_terms(terms).tolist() == [int(hash_terms([term])[0]) for term in terms]
    assert len(set(hash_terms(terms).tolist())) == len(terms)
    assert hash_terms([]).tolist() == []


def test_an_empty_dictionary_finds_nothing(tmp_path: Path) -> None:
    DictionaryWriter().save(tmp_path / "empty")
    assert Dictionary(tmp_path / "empty").find_hashes(hash_terms(["a"])).tolist() == [-1]


def write_rows(folder: Path, documents: list[list[str]]) -> DictionaryWriter:
    dictionary = DictionaryWriter()
    with RowsWriter(folder, "words", 1) as writer:
        vocabulary = BlockTerms()
        codes = np.array([code for terms in documents for code in vocabulary.codes(terms)], np.uint32)
        sizes = np.array([len(terms) for terms in documents])
        block = fold_documents(sizes, codes, len(vocabulary.hashes()))
        writer.add(LocalRows(block, vocabulary.hashes()).final(dictionary))
    return dictionary


@pytest.mark.parametrize("sorted_together", [1, 3, 1_000])
def test_posting_lists_are_the_rows_inverted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sorted_together: int
) -> None:
    monkeypatch.setattr(postings, "SORTED", sorted_together)
    documents = [["a", "b", "a"], [], ["b", "c"], ["a"]]
    dictionary = write_rows(tmp_path, documents)
    write_postings(Rows(tmp_path, "words"), dictionary.size, tmp_path / "words")
    lists = PostingLists(tmp_path / "words")
    found = [decoded(lists.data[slice(*lists.span(number))].tobytes()) for number in range(len(lists))]
    assert found == [[(0, 0, 2), (3, 0, 1)], [(0, 0, 1), (2, 0, 1)], [(2, 0, 1)]]
    assert postings.document_frequencies(lists, np.array([0, 0, 1, 1], np.int32)).tolist() == [2, 2, 1]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(1, 45))
def test_the_best_are_the_largest_and_equals_keep_their_order(values: list[int], k: int) -> None:
    scores = np.array(values, np.float64)
    rows, found = best(scores, scores > 0, k)
    wanted = sorted((row for row, value in enumerate(values) if value > 0), key=lambda row: (-values[row], row))[:k]
    assert rows.tolist() == wanted
    assert found.tolist() == [values[row] for row in wanted]


def test_a_large_count_scores_as_one() -> None:
    """A count above 15 is split into several entries. The formula index saturates their sum, not each of them."""
    data = encode([(2, 0, MOST_COUNT), (2, 0, MOST_COUNT), (2, 0, 4), (5, 0, 3)])
    scores, matched, k1 = np.zeros(6), np.zeros(6, np.bool_), 1.2
    ends = np.array([len(data)])
    postings.add_bm25_documents(
        np.frombuffer(data, np.uint8),
        np.zeros(1, np.int64),
        ends,
        np.ones(6),
        k1,
        0.0,
        np.array([2.0]),
        scores,
        matched,
    )
    expected = {row: 2.0 * postings.saturate(count, 1.0, k1) for row, count in ((2, 34.0), (5, 3.0))}
    assert np.flatnonzero(matched).tolist() == [2, 5]
    assert scores[[2, 5]] == pytest.approx([*expected.values()])
