"""Records of threads: what is written is read, whatever the posts, and damaged bytes are reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.integrity import DamageError
from porism.store.embedded.storage.records import FILE, RecordsReader, RecordsWriter
from porism.store.embedded.storage.rows import RowBlock, fold_rows

FIELDS = 7
FAMILIES = ("words", "tuples", "paths")
CODES = st.one_of(st.integers(0, 300), st.integers(0, (1 << 31) - 1))
# Occurrences of a post in one family: code, field and how often.
POST = st.lists(st.tuples(CODES, st.integers(0, FIELDS - 1), st.sampled_from([1, 1, 1, 2, 31, 32, 95])), max_size=12)
THREAD = st.lists(st.tuples(*[POST] * len(FAMILIES)), min_size=1, max_size=3)

Occurrence = tuple[int, int, int]
Thread = list[tuple[list[Occurrence], ...]]


def block(posts: list[list[Occurrence]]) -> RowBlock:
    """Return the rows of posts in one family."""
    single = [(row, code, field) for row, own in enumerate(posts) for code, field, times in own for _ in range(times)]
    rows, codes, fields = np.array(single, np.int64).reshape(-1, 3).T
    return fold_rows(rows, codes.astype(np.uint32), fields, len(posts), FIELDS)


def write(folder: Path, threads: list[Thread], at_once: int = 2) -> None:
    with RecordsWriter(folder) as writer:
        for start in range(0, len(threads), at_once):
            some = threads[start : start + at_once]
            families = [block([post[number] for thread in some for post in thread]) for number in range(len(FAMILIES))]
            writer.add(families, np.array([len(thread) for thread in some]))


def sizes_of(threads: list[Thread], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.array([len(threads[row]) for row in rows.tolist()], np.int64)


def counted(post: list[Occurrence]) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for code, field, times in post:
        found[code, field] = found.get((code, field), 0) + times
    return found


@given(st.lists(THREAD, min_size=1, max_size=5))
def test_posts_are_read_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, threads: list[Thread]) -> None:
    folder = tmp_path_factory.mktemp("records")
    write(folder, threads)
    rows = np.arange(len(threads))[::-1].copy()
    read = RecordsReader(folder, FAMILIES, FIELDS).read(rows, sizes_of(threads, rows), FAMILIES[1:])
    assert list(read) == list(FAMILIES[1:])
    for number, family in enumerate(FAMILIES[1:], 1):
        found, post = read[family], 0
        for row in rows.tolist():
            for own in threads[row]:
                entries = slice(found.starts[post], found.ends[post])
                result: dict[tuple[int, int], int] = {}
                columns = (found.keys, found.fields, found.counts)
                for key, field, count in zip(*(column[entries].tolist() for column in columns), strict=True):
                    result[key, field] = result.get((key, field), 0) + count
                assert result == counted(own[number])
                lengths = [sum(times for _, field, times in own[number] if field == one) for one in range(FIELDS)]
                assert found.lengths[post].tolist() == lengths
                post += 1


def test_an_empty_batch_has_no_posts(tmp_path: Path) -> None:
    write(tmp_path, [[([(1, 0, 1)], [], [])]])
    nothing = np.empty(0, np.int64)
    found = RecordsReader(tmp_path, FAMILIES, FIELDS).read(nothing, nothing, FAMILIES)["words"]
    assert [len(column) for column in found] == [0] * 6


def test_damaged_records_are_reported_or_read_but_never_lead_outside(tmp_path: Path) -> None:
    """Every byte of a file is damaged in several ways: the file is refused, or gives entries within the arrays."""
    posts = [
        ([(code, code % FIELDS, 1 + code % 3) for code in range(0, 2000, 97)], [(70_000, 1, 40)], []) for _ in range(3)
    ]
    threads: list[Thread] = [[*posts], [posts[0]]]
    write(tmp_path, threads)
    path, rows = tmp_path / FILE, np.arange(2)
    whole, refused = path.read_bytes(), 0
    for place in range(len(whole)):
        for value in (0, 1, 127, 128, 255):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                RecordsReader(tmp_path, FAMILIES, FIELDS).read(rows, sizes_of(threads, rows), FAMILIES)
            except DamageError:
                refused += 1
    assert refused > len(whole)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    write(tmp_path, [[([(1, 0, 1)], [], [])]])
    (tmp_path / FILE).write_bytes(b"\x7f" + (tmp_path / FILE).read_bytes()[1:])
    with pytest.raises(DamageError) as error:
        RecordsReader(tmp_path, FAMILIES, FIELDS).read(np.zeros(1, np.int64), np.ones(1, np.int64), FAMILIES)
    assert str(error.value) == (
        f"{tmp_path / FILE}: is damaged: a record cannot be read\n  fix: build the index again, or restore it from a backup"
    )
