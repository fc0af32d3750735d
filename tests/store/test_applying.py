"""A change log is applied to its index: in order, once, and whatever happens."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import porism
from porism.corpus.build import fields
from porism.corpus.build.fields import Field, make_field
from porism.corpus.sources.raw import RawComment, RawLink, RawPost
from porism.corpus.update import threads
from porism.store import applying
from porism.store.applying import LogApplier, RecordBatch
from porism.store.change_log import LogRecord, open_log
from porism.store.embedded.manifest import SEARCH, read_manifest
from porism.store.embedded.segments.merging import merge
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.state import State
from porism.store.updating import update_from_lines
from store.segments.answers import TOLERANCE, answers_of
from store.segments.site import Site, index_site, make_site


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return index_site(make_site(3, 6), tmp_path / "site")


def note(number: int, title: str, **more: object) -> dict[str, Any]:
    return {"id": number, "title": title, "body": f"<p>{title} $x^2+1$</p>", "tags": ["algebra"], **more}


def found(index: Path, query: str) -> list[int]:
    return [hit.id for hit in porism.open(index).search(query, kind="questions").hits]


def apply_all(index: Path) -> int:
    applier, commits = LogApplier(State(index)), 0
    while applier.has_changes():
        applier.step()
        commits += 1
    return commits


def test_records_become_one_commit_and_are_applied_once(index: Path) -> None:
    log = open_log(State(index))
    for number in range(3):
        log.append([note(900 + number, f"zeppelin {number}")])
    assert apply_all(index) == 1
    assert sorted(found(index, "zeppelin")) == [900, 901, 902]
    assert read_manifest(index, SEARCH).log_position == (log.state().log, 3)
    assert log.state().removed == 3
    generation = read_manifest(index, SEARCH).generation
    assert apply_all(index) == 0
    assert read_manifest(index, SEARCH).generation == generation


def test_a_kill_between_commit_and_removal_applies_nothing_twice(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(State(index))
    log.append([note(900, "zeppelin")])
    with monkeypatch.context() as patch:
        patch.setattr("porism.store.change_log.ChangeLog.trim", lambda self, applied, least=0: False)
        LogApplier(State(index)).step()
    with IndexWriter(index) as writer:  # `porism update` beside the server deletes it
        writer.delete([900])
        writer.commit()
    assert not LogApplier(State(index)).has_changes()
    log.append([note(901, "balloon")])
    apply_all(index)
    assert found(index, "zeppelin") == []
    assert found(index, "balloon") == [901]


def test_a_merge_keeps_the_position(index: Path) -> None:
    open_log(State(index)).append([note(900, "zeppelin")])
    apply_all(index)
    before = read_manifest(index, SEARCH).log_position
    merge(index, everything=True)
    assert read_manifest(index, SEARCH).log_position == before


def test_a_new_log_beside_an_old_index_is_applied(index: Path) -> None:
    open_log(State(index)).append([note(900, "zeppelin")])
    apply_all(index)
    index.with_name("index.log").unlink()
    assert open_log(State(index)).append([note(901, "balloon")]) == 1
    apply_all(index)
    assert found(index, "balloon") == [901]


def test_an_older_copy_of_the_index_is_reported(index: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(index, tmp_path / "copy")
    log = open_log(State(index))
    log.append([note(900, "zeppelin")])
    apply_all(index)
    shutil.rmtree(index)
    shutil.copytree(tmp_path / "copy", index)
    with caplog.at_level("WARNING"):
        assert not LogApplier(State(index)).has_changes()
    assert "lacks changes 1 to 1" in caplog.text
    log.append([note(901, "balloon")])
    apply_all(index)
    assert found(index, "balloon") == [901]


def test_a_second_writer_waits(index: Path) -> None:
    """`porism update` beside a server."""
    first, threads = IndexWriter(index), []
    with first:
        threads.append(
            threading.Thread(target=update_from_lines, args=(index, [json.dumps(note(900, "zeppelin"))], "-"))
        )
        threads[0].start()
        time.sleep(0.3)
        first.put([RawPost(901, "question", None, "Balloon", "<p>balloon</p>", "html")])
        first.commit()
    threads[0].join()
    assert (found(index, "zeppelin"), found(index, "balloon")) == ([900], [901])


def test_the_applier_says_whether_records_are_left(index: Path) -> None:
    """Then the next commit follows at once: changes of one post in turn must not delay those of others."""
    log, applier = open_log(State(index)), LogApplier(State(index))
    for change in (note(900, "zeppelin"), {"delete": 900}, note(900, "balloon")):
        log.append([change])
    assert (applier.step(), applier.has_more) == (2, True)
    assert (applier.step(), applier.has_more) == (1, False)
    assert found(index, "balloon") == [900]


def batches(*records: list[dict[str, Any]]) -> list[int]:
    """Return how many records each commit would take."""
    sizes, batch = [], RecordBatch()
    for number, changes in enumerate(records, 1):
        if not batch.takes(LogRecord(number, tuple(changes))):
            sizes.append(len(batch.records))
            batch = RecordBatch()
            assert batch.takes(LogRecord(number, tuple(changes)))
    return [*sizes, len(batch.records)]


@pytest.mark.parametrize(
    ("records", "sizes"),
    [
        ([[note(1, "a")], [note(1, "b")], [{"delete": 1}]], [3]),
        ([[{"delete": 1}], [note(1, "a")]], [1, 1]),  # its answers are gone
        ([[{"delete": 1}], [{"delete": 1}], [{"delete": 1}]], [3]),
        ([[{"delete": 1}], [{"id": 2, "parent_id": 1, "body": ""}]], [1, 1]),
        ([[{"id": 2, "parent_id": 1, "body": ""}], [note(1, "a")]], [1, 1]),  # the answer came too early
        ([[note(1, "a")], [{"id": 2, "parent_id": 1, "body": ""}]], [2]),
        ([[{"comment": 5, "post_id": 1, "body": ""}], [{"delete": 1}]], [1, 1]),
        ([[{"delete": 1}, note(1, "a")]], [1]),
    ],
)
def test_a_batch_ends_where_the_order_matters(records: list[list[dict[str, Any]]], sizes: list[int]) -> None:
    assert batches(*records) == sizes


def test_what_cannot_be_applied_is_set_aside(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(State(index))
    log.append([note(900, "zeppelin")])
    log.append([{"id": 905, "parent_id": 77_777, "body": "no such question"}])
    log.append([note(901, "poison")])
    log.append([{"id": 906, "nonsense": 1}])
    log.append([note(902, "balloon")])
    commit = IndexWriter.commit

    def fail(self: IndexWriter, position: Any = None) -> Any:
        if 901 in self.changes.posts:
            self.changes = type(self.changes)()
            raise KeyError("a bug")
        return commit(self, position)

    monkeypatch.setattr(IndexWriter, "commit", fail)
    applier = LogApplier(State(index))
    for _ in range(20):
        if applier.has_changes():
            try:
                applier.step()
            except applying.PASSING:
                continue
    assert not applier.has_changes()
    assert (found(index, "zeppelin"), found(index, "balloon"), found(index, "poison")) == ([900], [902], [])
    lines = [json.loads(line) for line in State(index).rejected.read_text().splitlines()]
    assert [(one["sequence"], one["why"]) for one in lines] == [
        (2, "an answer whose question is not in the collection"),
        (3, "KeyError('a bug')"),
        (4, "unknown key 'nonsense'"),
    ]


def hostile(text: str, form: Any, compat: bool) -> Field:
    """Segment a field as a reader with two faults does: it does not end, or its process dies."""
    while "endless" in text:
        pass
    if "deadly" in text:
        os._exit(1)
    return make_field(text, form, compat)


def test_a_slow_change_is_left_out_and_the_others_are_made(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "CHANGE_SECONDS", 0.3)
    monkeypatch.setattr(fields, "make_field", hostile)
    log = open_log(State(index))
    log.append([note(900, "zeppelin")])
    log.append([note(901, "endless")])
    log.append([{"id": 905, "parent_id": 901, "body": "an answer to it"}])
    log.append([{"comment": 70, "post_id": 900, "body": "endless"}])
    log.append([note(902, "balloon")])
    assert apply_all(index) == 1
    assert (found(index, "zeppelin"), found(index, "balloon"), found(index, "endless")) == ([900], [902], [])
    lines = [json.loads(line) for line in State(index).rejected.read_text().splitlines()]
    assert sorted((one["sequence"], one["change"], one["why"][:33]) for one in lines) == [
        (2, "posts 901", "takes more than 0.3 seconds of pr"),
        (3, "posts 905", "an answer whose question is left "),
        (4, "comments 70", "takes more than 0.3 seconds of pr"),
    ]


def apply_hostile(index: Path) -> None:
    fields.make_field = hostile
    applying.MOST_DEATHS = 3
    apply_all(index)


def test_a_change_with_which_the_applier_dies_is_set_aside(index: Path) -> None:
    log = open_log(State(index))
    for number, title in enumerate(("zeppelin", "deadly", "balloon"), 900):
        log.append([note(number, title)])
    deaths = 0
    while True:
        process = multiprocessing.get_context("fork").Process(target=apply_hostile, args=(index,))
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        deaths += 1
        assert deaths < 20
    assert deaths == 4  # one with all three changes, then three with the deadly one alone
    assert (found(index, "zeppelin"), found(index, "balloon"), found(index, "deadly")) == ([900], [902], [])
    (rejected,) = (json.loads(line) for line in State(index).rejected.read_text().splitlines())
    assert (rejected["sequence"], rejected["why"]) == (2, "3 processes died while they applied it")
    assert rejected["change"] == note(901, "deadly")
    assert not State(index).attempts.exists()


def apply_without_end(index: Path) -> None:
    applying.MOST_RECORDS = 3
    applier = LogApplier(State(index))
    while True:
        if applier.has_changes():
            applier.step()
        else:
            time.sleep(0.01)


def as_lines(site: Site, before: Site) -> list[dict[str, Any]]:
    """Return the records that turn one state of a site into another."""
    lines: list[dict[str, Any]] = [{"delete": number} for number in before.posts if number not in site.posts]
    lines += [as_line(post) for number, post in site.posts.items() if before.posts.get(number) != post]
    lines += [{"delete_comment": number} for number in before.comments if number not in site.comments]
    lines += [as_line(one) for number, one in site.comments.items() if before.comments.get(number) != one]
    return lines + [as_line(link) for key, link in site.links.items() if key not in before.links]


def as_line(record: RawPost | RawComment | RawLink) -> dict[str, Any]:
    if isinstance(record, RawLink):
        return {"link": [record.post_id, record.other_id], "kind": record.kind}
    if isinstance(record, RawComment):
        names: tuple[str, ...] = ("post_id", "body", "score", "created", "owner_id")
        return {"comment": record.id} | {name: getattr(record, name) for name in names}
    names = ("id", "kind", "title", "body", "tags", "score", "created", "owner_id", "accepted_id", "parent_id")
    return {name: value for name in names if (value := getattr(record, name)) is not None}


class _NoWriter:
    """Takes the place of a writer: changes go to the log instead."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def test_killed_appliers_give_what_a_build_gives(tmp_path: Path) -> None:
    """Six kills at random moments while changes come; then the index equals one that is built from the last state."""
    site = make_site(5, 8)
    index = index_site(site, tmp_path / "live")
    fork, chance, log = multiprocessing.get_context("fork"), random.Random(2), open_log(State(index))
    for _ in range(6):
        process = fork.Process(target=apply_without_end, args=(index,))
        process.start()
        for _ in range(6):
            before = Site(site.random, dict(site.posts), dict(site.comments), dict(site.links), site.following)
            site.change(_NoWriter())  # type: ignore[arg-type]
            if lines := as_lines(site, before):
                log.append(lines)
        time.sleep(chance.random())
        process.kill()
        process.join()
    apply_all(index)
    assert not State(index).rejected.exists()
    merge(index, everything=True)
    live, fresh = (answers_of(porism.open(path)) for path in (index, index_site(site, tmp_path / "fresh")))
    for query, hits in live.items():
        assert [hit.name for hit in hits] == [hit.name for hit in fresh[query]], query
        if not query.startswith("formulas"):  # ties of their alignment depend on the order in which symbols came
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in fresh[query]], rel=TOLERANCE)
