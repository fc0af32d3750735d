"""Updates are safe: a killed writer leaves the last commit, a reader never sees half a commit, one process writes at a
time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import porism
from porism.corpus.sources.raw import RawPost
from porism.errors import PorismError
from porism.store.embedded.manifest import SEARCH, read_manifest
from porism.store.embedded.segments import merging
from porism.store.embedded.segments.merging import merge, merge_start
from porism.store.embedded.segments.reading import IndexSegment, open_segment
from porism.store.embedded.segments.writer import FOLDER, IndexWriter
from store.segments.answers import answers_of, assert_same
from store.segments.site import index_site, make_site

KILLS = 20
MOMENT = 0.6  # seconds at most until a writer is killed
UPDATES = int(os.environ.get("PORISM_UPDATES", "12"))  # that a reader watches; 100 take a minute or two


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return index_site(make_site(3, 5), tmp_path / "site")


def note(number: int, text: str) -> RawPost:
    return RawPost(number, "question", None, text, f"<p>{text} $x^2+1$</p>", "html", "algebra")


def write_without_end(index: Path, first: int, reports: Connection) -> None:
    """Add one thread of two posts with each commit, and merge now and then; report each commit after it is made."""
    for number in range(first, first + 1_000, 2):
        answer = replace(note(number + 1, "an answer"), kind="answer", parent_id=number, title="", tags="")
        with IndexWriter(index, "site") as writer:
            writer.put([note(number, f"thread {number}"), answer])
            writer.commit()
        reports.send(number)
        if number % 3 == 0:
            merge(index)


def test_a_killed_writer_loses_nothing_that_it_reported(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("porism.store.embedded.segments.merging.MOST_SEGMENTS", 4)
    chance = random.Random(1)
    fork = multiprocessing.get_context("fork")
    reported: list[int] = []
    for kill in range(KILLS):
        receive, send = fork.Pipe(duplex=False)
        process = fork.Process(target=write_without_end, args=(index, 10_000 * (kill + 1), send))
        process.start()
        send.close()
        if kill % 2:
            reported.append(receive.recv())  # after its first commit; the others are killed before or after
        time.sleep(chance.random() * MOMENT)
        process.kill()
        process.join()
        with contextlib.suppress(EOFError):
            while True:
                reported.append(receive.recv())
        posts = np.array([(number, number + 1) for number in reported], np.int64).ravel()
        assert (porism.open(index).snapshot.locate(posts).threads >= 0).all()
    assert reported
    with IndexWriter(index) as writer:  # removes what the killed ones left
        writer.put([note(5, "last word")])
        writer.commit()
    assert not [path.name for path in (index / FOLDER).iterdir() if path.name.startswith("merge-")]
    assert porism.open(index).search("last word", kind="questions").hits[0].id == 5


def test_a_reader_never_sees_half_a_commit(index: Path) -> None:
    """Each commit changes two posts together; a reader always finds both in the same state."""
    stop = threading.Event()
    seen: list[str] = []
    errors: list[Exception] = []

    def read() -> None:
        while not stop.is_set():
            try:
                snapshot = porism.open(index).snapshot
                is_there = (snapshot.locate(np.array([5001])).threads >= 0).all()
                posts = snapshot.posts([5001, 5002]).posts if is_there else []
                texts = {one.post.title.plain() for one in posts}
                assert len(texts) <= 1, texts
                seen.extend(texts)
            except Exception as error:
                errors.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("porism.store.embedded.segments.merging.MOST_SEGMENTS", 3)
            for number in range(UPDATES):
                with IndexWriter(index) as writer:
                    writer.put([note(5001, f"state {number}"), note(5002, f"state {number}")])
                    writer.commit()
                if number % 5 == 4:
                    merge(index, everything=number == 9)
    finally:
        stop.set()
        reader.join()
    assert not errors
    assert len(set(seen)) > 1


def test_an_open_reader_stays_at_its_commit_until_it_is_refreshed(index: Path) -> None:
    engine = porism.open(index)
    before = answers_of(engine)
    assert engine.refresh() is engine
    with IndexWriter(index) as writer:
        writer.put([note(6001, "zeppelin flight")])
        writer.commit()
    merge(index, everything=True)
    assert answers_of(engine) == before
    fresh = engine.refresh()
    assert fresh is not engine
    assert fresh.name == engine.name
    assert [hit.id for hit in fresh.search("zeppelin flight", kind="questions").hits] == [6001]


def test_two_writers_exclude_each_other(index: Path) -> None:
    with IndexWriter(index), pytest.raises(PorismError) as error, IndexWriter(index):
        pass
    assert "is writing it now" in str(error.value)


def test_changes_that_change_nothing_make_no_commit(index: Path) -> None:
    for _ in range(2):
        with IndexWriter(index) as writer:
            writer.put([note(7001, "the same")])
            writer.delete([99_999])
            delta = writer.commit()
    assert not delta
    assert read_manifest(index, SEARCH).generation == 1


def test_what_cannot_be_changed_is_reported(index: Path) -> None:
    with IndexWriter(index) as writer:
        writer.put([replace(note(7002, "an answer"), kind="answer", parent_id=88_888, title="")])
        delta = writer.commit()
    assert [(one.what, one.where) for one in delta.skipped] == [("posts", "7002")]


def test_merges_in_any_order_give_the_same_answers(index: Path, tmp_path: Path) -> None:
    for number in range(4):
        with IndexWriter(index) as writer:
            writer.put([note(8000 + number, f"prime proof {number}"), note(8010, f"circle {number}")])
            writer.commit()
    for name in ("tail first", "at once"):
        shutil.copytree(index.parent, tmp_path / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("porism.store.embedded.segments.merging.MOST_SEGMENTS", 2)
        merge(tmp_path / "tail first" / "index")
    assert_same(tmp_path / "tail first" / "index", index)
    for name in ("tail first", "at once"):
        merge(tmp_path / name / "index", everything=True)
    assert_same(tmp_path / "tail first" / "index", tmp_path / "at once" / "index")


def test_a_commit_during_a_merge_of_all_segments_gets_vectors_of_the_new_basis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The basis of so small a site grows with it: vectors of the old one would have another length."""
    index = index_site(make_site(3, 5), tmp_path / "site", vectors=True)
    with IndexWriter(index) as writer:
        writer.put(note(9000 + number, f"prime proof of series {number}") for number in range(6))
        writer.commit()
    engines = []
    commit = merging._commit

    def commit_late(*arguments: Any) -> bool:
        if len(engines) == 0:
            with IndexWriter(index) as writer:
                writer.put([note(9100, "zeppelin proof")])
                writer.commit()
        is_committed = commit(*arguments)
        engines.append(porism.open(index))
        return is_committed

    monkeypatch.setattr(merging, "_commit", commit_late)
    assert merge(index, everything=True)
    assert len(engines) == 2
    for engine in engines:
        questions = np.fromiter(engine.content.question_ids(), np.int64)
        threads = engine.snapshot.locate(questions).threads
        assert len(threads) == engine.snapshot.info.count("thread")
        assert engine.snapshot.threads(threads, (), ("words",)).vectors["words"].shape[0] == len(threads)
        assert engine.search("zeppelin proof", kind="questions").hits[0].id == 9100
    monkeypatch.undo()
    widths = {segment.posts.vectors["words"].dimensions for segment in opened_segments(index)}
    assert len(widths) == 1


def opened_segments(index: Path) -> list[IndexSegment]:
    manifest = read_manifest(index, SEARCH)
    return [open_segment(index, entry, True) for entry in manifest.segments]


@pytest.mark.parametrize(
    ("sizes", "start"),
    [([1000, 5], None), ([1000, 1, 1, 1, 1, 1, 1, 1], 1), ([1000, 100, 40, 1, 1, 1, 1, 1], 3), ([1000] + [9] * 7, 1)],
)
def test_the_small_segments_at_the_end_are_merged(sizes: list[int], start: int | None) -> None:
    assert merge_start(sizes, len(sizes)) == start


@pytest.mark.parametrize("jump", [86_400 * 365, -86_400 * 365])
def test_replaced_files_stay_when_the_clock_jumps(index: Path, monkeypatch: pytest.MonkeyPatch, jump: int) -> None:
    """Readers that are just opening them need them for some minutes, by whichever clock."""

    def put(number: int) -> set[str]:
        with IndexWriter(index) as writer:
            writer.put([note(number, f"version {number} of the text")])
            writer.commit()
        return {one.name for one in read_manifest(index, SEARCH).retired}

    for number in range(900, 903):
        put(number)
    merge(index, everything=True)
    replaced = {one.name for one in read_manifest(index, SEARCH).retired}
    assert replaced
    wall = time.time() + jump
    monkeypatch.setattr(time, "time", lambda: wall)
    put(910)
    assert all((index / name).exists() for name in replaced)
    later = time.monotonic() + 601
    monkeypatch.setattr(time, "monotonic", lambda: later)
    put(911)
    assert not any((index / name).exists() for name in replaced)
