"""An index in several segments conforms to the protocols and answers like one that was built from scratch, whatever was
changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import porism
from porism.corpus.sources.raw import RawComment, RawLink, RawPost, Record
from porism.integrity import describe_file
from porism.store.conformance import Subject, checks_of, contents, searching
from porism.store.conformance.subject import ANSWERS, GONE, RECORDS, put
from porism.store.embedded.manifest import SEARCH as KIND
from porism.store.embedded.manifest import read_manifest, save_manifest
from porism.store.embedded.segments.merging import merge
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.protocols import Store
from store.segments.answers import assert_same
from store.segments.site import Site, index_site, make_site
from store.stores import empty_embedded_store

CHECKS = checks_of(searching, contents)
THREADS = {answer.id: answer.parent_id for answer in ANSWERS}
LEARNED = ("posts/concepts.tsv", "vocabulary.tsv")


def rebuilt(site: Site, index: Path, folder: Path) -> Path:
    """Index a site from scratch, with what the first segment of another index has learned: that changes only when all
    are merged."""
    fresh = index_site(site, folder)
    first = index / read_manifest(index, KIND).segments[0].name
    manifest = read_manifest(fresh, KIND)
    for name in LEARNED:
        shutil.copyfile(first / name, fresh / name)
    learned = {name: describe_file(fresh / name) for name in LEARNED}
    save_manifest(fresh, replace(manifest, files={**manifest.files, **learned}))
    return fresh


def split_index(site: Site, folder: Path, segments: int) -> Path:
    """Index a site in so many segments, each with some of its threads."""
    questions = site.questions()
    size = -(-len(questions) // segments)
    index = Path()
    for start in range(0, len(questions), size):
        threads = set(questions[start : start + size])
        part = Site(site.random)
        part.posts = {n: post for n, post in site.posts.items() if (post.parent_id or n) in threads}
        part.comments = {n: one for n, one in site.comments.items() if one.post_id in part.posts}
        part.links = {key: one for key, one in site.links.items() if one.post_id in threads}
        if not start:
            index = index_site(part, folder)
            continue
        with IndexWriter(index, "site") as writer:
            writer.put(part.records())
            writer.commit()
    return index


class Written(Subject):
    """A store that has the posts of the conformance suite already."""

    def __init__(self, store: Store) -> None:
        super().__init__(lambda: store)

    @property
    def store(self) -> Store:
        return self.make()


def thread_of(record: Record) -> int:
    """Return the id of the question that a record of the suite belongs to, 0 for users."""
    if isinstance(record, RawComment | RawLink):
        return THREADS.get(record.post_id) or record.post_id
    return (record.parent_id or record.id) if isinstance(record, RawPost) else 0


@pytest.fixture(
    scope="module",
    params=[(1, False), (2, False), (5, False), (1, True), (3, True)],
    ids=lambda one: f"{one[0]}-{one[1]}",
)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The posts of the conformance suite in so many segments, each with some threads; maybe with another thread that is
    deleted."""
    segments, has_deletions = request.param
    store = empty_embedded_store(tmp_path_factory.mktemp("segments"))
    threads = sorted({thread_of(one) for one in RECORDS} - {0})
    for number in range(segments):
        own = {0, *threads[number::segments]} if number == 0 else {*threads[number::segments]}
        put(
            store, [*(one for one in RECORDS if thread_of(one) in own), *(GONE if has_deletions and not number else ())]
        )
        if number == 0:
            store.maintain(everything=True)  # the first segment of an empty store has nothing but a deletion
    assert store.status().parts == segments
    if has_deletions:
        with store.writer() as writer:
            writer.delete([GONE[0].id])
            writer.commit()
    return Written(store)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_an_index_in_segments_conforms(subject: Written, check: Callable[[Subject], None]) -> None:
    check(subject)


@pytest.mark.parametrize("segments", [1, 2, 5])
def test_an_index_in_segments_ranks_like_one(tmp_path: Path, segments: int) -> None:
    site = make_site(7, 15)
    index = split_index(site, tmp_path / "split", segments)
    assert len(read_manifest(index, KIND).segments) == segments
    assert_same(index, rebuilt(site, index, tmp_path / "whole"))


def test_an_index_with_deletions_ranks_like_a_new_one(tmp_path: Path) -> None:
    site = make_site(8, 10)
    index = split_index(site, tmp_path / "split", 2)
    with IndexWriter(index, "site") as writer:
        for number in site.questions()[::4]:
            site.forget(number)
            writer.delete([number])
        writer.commit()
    assert_same(index, rebuilt(site, index, tmp_path / "whole"))


@given(
    st.integers(0, 10_000),
    st.lists(st.sampled_from(("change", "change", "merge", "merge all")), min_size=3, max_size=4),
)
@settings(max_examples=2, deadline=None, phases=[Phase.generate], derandomize=True)
def test_after_any_changes_an_index_answers_like_a_new_one(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("site")
    site = make_site(seed, 6)
    index = index_site(site, folder / "live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("porism.store.embedded.segments.merging.MOST_SEGMENTS", 2)
        for number, step in enumerate(steps):
            if step == "change":
                with IndexWriter(index, "site") as writer:
                    for _ in range(3):
                        site.change(writer)
                    writer.commit()
            else:
                merge(index, everything=step == "merge all")
            assert_same(index, rebuilt(site, index, folder / f"fresh{number}"))


def test_a_new_thread_is_projected_on_the_vectors_that_were_learned(tmp_path: Path) -> None:
    site = make_site(9, 12)
    index = index_site(site, tmp_path / "live", vectors=True)
    lonely = next(post for post in site.posts.values() if post.kind == "question")
    with IndexWriter(index, "site") as writer:
        for number in (9_001, 9_002):  # the same text twice, in two segments
            writer.put([replace(lonely, id=number, accepted_id=None)])
            writer.commit()
    snapshot = porism.open(index).snapshot
    threads = snapshot.locate(np.array([9_001, 9_002])).threads
    first, second = snapshot.threads(threads, (), ("words",)).vectors["words"]
    assert np.linalg.norm(first) == pytest.approx(1.0, abs=0.01)
    assert first.tolist() == second.tolist()


def test_of_equally_frequent_terms_the_vectors_take_those_with_the_lowest_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes depend on the order in which terms came: after a merge, on what was changed before."""
    monkeypatch.setattr("porism.store.embedded.vectors.MOST_TERMS", 20)
    posts = index_site(make_site(5, 30), tmp_path / "site", vectors=True) / "posts"
    documents = np.load(posts / "tuples.documents.npy").tolist()  # stored unsigned: a minus sign would wrap them around
    codes = np.load(posts / "vectors.tuples.codes.npy")
    hashes = dict(
        zip(np.load(posts / "tuples.id.npy").tolist(), np.load(posts / "tuples.hash.npy").tolist(), strict=True)
    )
    usable = [code for code in hashes if 3 <= documents[code] < 15]
    expected = sorted(usable, key=lambda code: (-documents[code], hashes[code]))
    assert documents[expected[19]] == documents[expected[20]]
    assert codes.tolist() == sorted(expected[:20])
