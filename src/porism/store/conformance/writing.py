"""Checks of writers, of snapshots while somebody writes, of stores with little in them, of several readers, and of time
limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from porism.analysis.schema import FAMILIES, FORMULA, THREAD
from porism.corpus.sources.raw import RawComment, RawLink, RawUser
from porism.corpus.update.changes import Changes
from porism.deadline import TimeLimitExceeded, time_limit
from porism.errors import PorismError
from porism.store.conformance.searching import MANY, TERMS
from porism.store.conformance.subject import ALL_IDS, ANSWERS, COMMENTS, LINKS, QUESTIONS, RECORDS, SOURCE, Subject, put
from porism.store.memory.store import RecordsSource
from porism.store.protocols import LogPosition, Snapshot, Store
from porism.store.records import UNKNOWN, Ints, Term, TermQuery, TextQuery

READERS = 4


class FoundThreads(NamedTuple):
    """What a snapshot answers to the suite's searches: the questions of hits, and their scores."""

    questions: tuple[int, ...]
    scores: tuple[float, ...]


def found_in(snapshot: Snapshot) -> FoundThreads:
    """Return what a snapshot answers."""
    hits = snapshot.search([TermQuery(TERMS, THREAD, MANY)])[0]
    batch = snapshot.threads(hits.numbers, ())
    return FoundThreads(tuple(batch.post_ids[batch.starts].tolist()), tuple(np.round(hits.scores, 6).tolist()))


def ids_in(snapshot: Snapshot) -> list[int]:
    """Return the ids of all posts of a snapshot."""
    return [post.id for post in snapshot.content.posts()]


def an_empty_store_answers(subject: Subject) -> None:
    """A store without posts answers every call, with nothing."""
    snapshot = subject.make().snapshot()
    nothing: Ints = np.empty(0, np.int64)
    assert [snapshot.info.count(unit) for unit in ("thread", "question", "answer", "formula")] == [0, 0, 0, 0]
    assert snapshot.info.has_terms, "a store that can be searched must say so"
    hits = snapshot.search([TermQuery(TERMS, THREAD, 5), TermQuery([Term("tuples", "x")], FORMULA, 5), TextQuery([])])
    assert [len(one.numbers) for one in hits] == [0, 0, 0], "an empty store found something"
    assert snapshot.statistics(TERMS).keys.tolist() == [UNKNOWN] * len(TERMS), "an empty store knows a term"
    assert not len(snapshot.threads(nothing, FAMILIES).post_ids), "an empty store has a thread"
    assert not len(snapshot.formulas(nothing).visual_ids), "an empty store has a formula"
    assert snapshot.locate(np.array([11])).threads.tolist() == [UNKNOWN], "an empty store locates a post"
    assert ids_in(snapshot) == [], "an empty store has posts"
    assert list(snapshot.content.formulas()) == [], "an empty store has formulas"
    assert snapshot.content.count("posts") == 0, "an empty store counts posts"


def one_post_is_found(subject: Subject) -> None:
    """A store with one post finds it, and a store that loses its last post is empty again."""
    store = subject.filled([QUESTIONS[1]])
    assert found_in(store.snapshot()).questions == (21,), "the only post is not found"
    assert store.snapshot().info.count("answer") == 0, "there is no answer"
    put(store, [], [21])
    assert found_in(store.snapshot()).questions == (), "a deleted post is found"


def a_store_without_formulas_answers(subject: Subject) -> None:
    """Posts without formulas are found, and a search of formulas finds nothing."""
    snapshot = subject.filled([QUESTIONS[1], QUESTIONS[2], ANSWERS[2], QUESTIONS[5]]).snapshot()
    assert set(found_in(snapshot).questions) == {21, 31, 61}, "posts without formulas are not found"
    assert snapshot.info.count("formula") == 0, "there are no formulas"
    assert not len(snapshot.search([TermQuery([Term("tuples", "x")], FORMULA, 5)])[0].numbers), "a formula was found"
    locate = snapshot.locate(np.array([21])).threads
    rows = snapshot.threads(locate, FAMILIES).terms["tuples"]
    assert (rows.ends == rows.starts).all(), "a post without formulas has tuples"


def several_commits_equal_one(subject: Subject) -> None:
    """What two commits wrote is found like what one commit wrote."""
    one, other = found_in(subject.snapshot), found_in(subject.filled(RECORDS).snapshot())
    assert one.questions == other.questions, f"two commits find {one.questions}, one commit {other.questions}"
    assert np.allclose(one.scores, other.scores), "two commits give other scores than one"


def a_post_replaces_the_one_with_its_id(subject: Subject) -> None:
    """Putting a post, comment or user again replaces it; other posts stay."""
    store = subject.filled([*RECORDS[:3], *QUESTIONS[:2], ANSWERS[0]])
    before = store.status().generation
    put(store, [replace(QUESTIONS[1], title="Zebras", body="<p>Nothing of the kind.</p>", tags="animals")])
    after = store.snapshot()
    assert store.status().generation == after.info.generation > before, "the generation must grow with a commit"
    assert after.content.posts_by_id([21])[21].title.plain() == "Zebras", "a post was not replaced"
    assert found_in(after).questions == (11,), "the words of a replaced post are still found"
    zebra = after.search([TermQuery([Term("words", "zebra")], THREAD, 5)])[0].numbers
    assert zebra.tolist() == after.locate(np.array([21])).threads.tolist(), "the new words of a post are not found"
    assert ids_in(after) == [11, 12, 21], "replacing a post changed the others"
    put(store, [RawUser(1, "Ada Lovelace", 121)])
    assert store.snapshot().content.users_by_id([1])[1].name == "Ada Lovelace", "a user was not replaced"


def deleting_takes_what_belongs_to_a_post(subject: Subject) -> None:
    """With a question its answers, comments and links go; an answer goes alone; unknown ids are ignored."""
    store = subject.filled(RECORDS)
    delta = put(store, [], [11, 22, 987654])
    content = store.snapshot().content
    gone = {11, 12, 13, 22}
    assert ids_in(store.snapshot()) == [one for one in ALL_IDS.tolist() if one not in gone], "other posts are left"
    assert list(content.all_comments()) == [], "comments on deleted posts are left"
    assert [(one.post_id, one.other_id) for one in content.all_links()] == [(31, 21), (71, 11)], "other links are left"
    assert delta.counts["deleted posts"] == len(gone), "a commit must return how many posts it deleted"
    put(store, [QUESTIONS[0]])
    assert not content.known_posts([11]), "an older snapshot sees a new post"
    assert ids_in(store.snapshot())[:2] == [11, 21], "answers of a deleted question came back with it"


def comments_and_links_are_deleted(subject: Subject) -> None:
    """Comments and links can be deleted alone; unknown ones are ignored."""
    store = subject.filled(RECORDS)
    with store.writer() as writer:
        writer.delete_comments([COMMENTS[0].id, 987654])
        writer.delete_links([LINKS[0], RawLink(1, 2, "related")])
        writer.commit()
    content = store.snapshot().content
    assert [one.id for one in content.all_comments()] == [1002, 1003], "other comments are left"
    assert content.links_by_post([31]).get(31, []) == [], "a deleted link is left"
    assert ids_in(store.snapshot()) == ALL_IDS.tolist(), "deleting comments deleted posts"


def what_belongs_nowhere_is_skipped(subject: Subject) -> None:
    """An answer without its question and a comment without its post are skipped, and reported."""
    store = subject.filled([QUESTIONS[1]])
    delta = put(store, [ANSWERS[0], RawComment(1, 987654, "lost", "text")])
    assert {one.what for one in delta.skipped} == {"posts", "comments"}, "skipped records must be reported"
    assert ids_in(store.snapshot()) == [21], "an answer without its question was written"


def changes_without_a_commit_are_dropped(subject: Subject) -> None:
    """Changes of a writer that does not commit, or fails, are dropped; a commit without changes changes nothing."""
    store = subject.filled([QUESTIONS[1]])
    generation = store.status().generation
    with store.writer() as writer:
        writer.put([QUESTIONS[2]])
    try:
        with store.writer() as writer:
            writer.delete([21])
            raise KeyError
    except KeyError:
        pass
    with store.writer() as writer:
        writer.commit()
    assert ids_in(store.snapshot()) == [21], "changes without a commit are visible"
    assert store.status().generation == generation, "a commit without changes must not make a generation"


def changes_that_were_collected_are_written(subject: Subject) -> None:
    """A writer takes changes that somebody else collected, and has none after a commit."""
    collected, store = Changes(), subject.make()
    collected.put(RECORDS)
    with store.writer(SOURCE) as writer:
        assert not writer.changes, "a new writer has changes"
        writer.changes = collected
        writer.commit()
        assert not writer.changes, "a writer has changes that it committed"
    assert ids_in(store.snapshot()) == ALL_IDS.tolist(), "collected changes were not written"


def one_writer_at_a_time(subject: Subject) -> None:
    """While a writer is at work, a second one is refused in one sentence, and the next one is not."""
    store = subject.filled([QUESTIONS[1]])
    with store.writer():
        try:
            with store.writer(wait=0.0):
                raise AssertionError("two writers were at work at once")
        except PorismError:
            pass
    put(store, [QUESTIONS[2]])
    assert ids_in(store.snapshot()) == [21, 31], "a writer after another one changed nothing"


def a_snapshot_stays_as_it_is(subject: Subject) -> None:
    """A snapshot that somebody reads does not change when a later commit does."""
    store = subject.filled(RECORDS)
    snapshot = store.snapshot()
    before, ids = found_in(snapshot), ids_in(snapshot)
    stream = snapshot.content.posts()
    first = next(stream)
    for change in ([replace(QUESTIONS[0], body="<p>Other.</p>")], [replace(QUESTIONS[1], title="Else")]):
        put(store, change, [61])
        assert found_in(snapshot) == before, "a snapshot found something else after a commit"
        assert ids_in(snapshot) == ids, "a snapshot has other posts after a commit"
    assert [first.id, *(post.id for post in stream)] == ids, "a stream was cut by a commit"
    assert 61 not in ids_in(store.snapshot()), "a new snapshot does not see the commit"


def the_position_of_a_log_is_kept(subject: Subject) -> None:
    """A commit stores the position of a change log, also if nothing else changes."""
    store = subject.make()
    with store.writer() as writer:
        assert writer.log_position == LogPosition(), "a new store has a position in a log"
        writer.put([QUESTIONS[1]])
        writer.commit(LogPosition("log", 3))
        assert writer.log_position == LogPosition("log", 3), "the position of a commit is not kept"
    with store.writer() as writer:
        writer.commit(LogPosition("log", 4))
    put(store, [QUESTIONS[2]])
    with store.writer() as writer:
        assert writer.log_position == LogPosition("log", 4), "the position was lost"


def the_ranking_is_recorded(subject: Subject) -> None:
    """Factors of ranking are a new generation, which later commits keep; the same factors are none."""
    store = subject.filled([QUESTIONS[1]])
    assert store.snapshot().learned.ranking == "", "a new store has factors of ranking"
    generation = store.status().generation
    store.record_ranking("words 1.5")
    assert store.snapshot().learned.ranking == "words 1.5", "factors of ranking are not stored"
    assert store.status().generation > generation, "factors of ranking must be a new generation"
    generation = store.status().generation
    store.record_ranking("words 1.5")
    assert store.status().generation == generation, "the same factors of ranking must not be a new generation"
    put(store, [QUESTIONS[2]])
    assert store.snapshot().learned.ranking == "words 1.5", "a commit lost the factors of ranking"


def a_status_tells_the_newest_commit(subject: Subject) -> None:
    """The status of a store is that of its newest snapshot, and its version differs after a commit."""
    store = subject.filled(RECORDS)
    status, version, snapshot = store.status(), store.version(), store.snapshot()
    assert status.generation == snapshot.info.generation, "the status is of another generation"
    assert status.fingerprint == snapshot.info.fingerprint, "the status is of other content"
    assert status.counts["posts"] == len(ALL_IDS), "the status counts other posts"
    assert store.version() == version, "the version differs though nothing has changed"
    with store.writer() as writer:
        writer.delete([61])
        writer.commit(LogPosition("log", 1))
    assert store.version() != version, "the version must differ after a commit"
    assert store.status().log_position == LogPosition("log", 1), "the status has another position of the change log"


def maintenance_changes_no_answer(subject: Subject) -> None:
    """Whatever a store does after many commits, it answers as before, and nothing of it is damaged."""
    store = subject.filled(RECORDS[: len(RECORDS) // 2])
    put(store, RECORDS)
    before = found_in(store.snapshot())
    store.maintain(everything=True)
    after = found_in(store.snapshot())
    assert after.questions == before.questions, "maintenance changed the hits"
    assert np.allclose(after.scores, before.scores), "maintenance changed the scores"
    assert not [damage for one in store.verify() for damage in one.damages], "a new store is damaged"
    assert all((one.folder / one.name).is_file() for one in store.files()), "a file of the store is missing"


def a_store_follows_a_source(subject: Subject) -> None:
    """Compared with a source, a store adds, replaces and deletes posts; a source that lacks most posts is refused."""
    store = subject.make()
    newer = [replace(QUESTIONS[1], title="Zebras"), *QUESTIONS[:1], *QUESTIONS[2:6], *ANSWERS[:5]]
    for records in (RECORDS, newer):
        with store.writer() as writer:
            writer.compare(RecordsSource(records, Path(SOURCE)))
            writer.commit()
    snapshot = store.snapshot()
    assert ids_in(snapshot) == sorted(post.id for post in newer), "other posts are left than the source has"
    assert snapshot.content.posts_by_id([21])[21].title.plain() == "Zebras", "a changed post was not replaced"
    refused = False
    with store.writer() as writer:
        try:
            writer.compare(RecordsSource(newer[:1], Path(SOURCE)))
        except PorismError:
            refused = True
    assert refused, "a source that lacks most posts must be refused"


def many_threads_read_at_once(subject: Subject) -> None:
    """Several threads that read one snapshot get the answers of one."""
    alone = found_in(subject.snapshot)
    ids = ids_in(subject.snapshot)
    with ThreadPoolExecutor(READERS) as pool:
        answers = list(pool.map(found_in, [subject.snapshot] * 5 * READERS))
        streams = list(pool.map(ids_in, [subject.snapshot] * 5 * READERS))
    assert all(found == alone for found in answers), "a search in another thread found something else"
    assert all(found == ids for found in streams), "a stream in another thread had something else"


def a_time_limit_that_is_over_ends_a_call(subject: Subject) -> None:
    """A call raises TimeLimitExceeded when its own time, or that of the limit around it, is over."""
    snapshot, numbers = subject.snapshot, subject.numbers
    calls: tuple[Callable[[float | None], object], ...] = (
        lambda seconds: snapshot.statistics(TERMS, seconds=seconds),
        lambda seconds: snapshot.search([TermQuery(TERMS, THREAD, MANY)], seconds=seconds),
        lambda seconds: snapshot.threads(numbers, FAMILIES, seconds=seconds),
        lambda seconds: snapshot.formulas(subject.formula_numbers, seconds=seconds),
        lambda seconds: snapshot.posts(ALL_IDS.tolist(), seconds=seconds),
        lambda seconds: snapshot.locate(ALL_IDS, seconds=seconds),
    )
    for call in calls:
        for around, seconds, is_over in (
            (600.0, 600.0, False),
            (600.0, -1.0, True),
            (-1.0, None, True),
            (-1.0, 600.0, True),
        ):
            with time_limit(around):
                assert _is_over(call, seconds) == is_over, f"{seconds} seconds in a limit of {around} seconds"


def _is_over(call: Callable[[float | None], object], seconds: float | None) -> bool:
    try:
        call(seconds)
    except TimeLimitExceeded:
        return True
    return False


def a_snapshot_says_what_it_is(subject: Subject) -> None:
    """A snapshot has the address, the generation and a name; other content has another fingerprint."""
    store, info = subject.store, subject.snapshot.info
    assert info.address == store.address, "a snapshot has another address than its store"
    assert info.generation == store.status().generation, "a snapshot has another generation than its store"
    assert info.name, "a snapshot must have a name"
    assert _fingerprints([store, subject.filled([QUESTIONS[1]])]) == 2, "other content has the same fingerprint"


def _fingerprints(stores: Iterable[Store]) -> int:
    return len({one.snapshot().info.fingerprint for one in stores})
