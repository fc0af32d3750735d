"""Building: counts, order of ids, digest, resumption, locks, and sources that are damaged."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from porism.corpus.build import work
from porism.corpus.build.pipeline import build
from porism.corpus.build.select import Options
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.locks import only_writer
from porism.progress import Lines

from .small import answer, built, comment, examples, question, tally, write_dump

SAMPLE = Path(__file__).resolve().parents[2] / "sample" / "dump"
BUILD = "import sys; from porism.cli import main; sys.exit(main(['build', *sys.argv[1:], '--quiet', '--jobs', '1']))"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """The sample, built once."""
    return built(tmp_path_factory.mktemp("sample") / "c", SAMPLE, jobs=2)


def places(collection: Collection) -> list[int]:
    """Return the ids of all formulas in the texts."""
    found = [
        number
        for post in collection.posts()
        for number in [formula.formula_id for formula in post.title.formulas]
        + [formula.formula_id for formula in post.body.formulas]
    ]
    return found + [
        number
        for each in collection.all_comments()
        for number in [formula.formula_id for formula in each.body.formulas]
    ]


def test_ids_follow_the_order_of_the_lab(tmp_path: Path) -> None:
    posts = [
        question(2, "<p>$q2$</p>", "On $t2$"),
        question(1, "<p>$q1$</p>", "On $t1$"),
        answer(4, 1, "<p>$a4$</p>"),
        answer(3, 2, "<p>$a3$</p>"),
        answer(5, 2, "<p>$a5$</p>"),
    ]
    comments = [comment(9, 3, "$c9$"), comment(8, 2, "$c8$"), comment(7, 2, "$c7$")]
    made = built(tmp_path / "c", write_dump(tmp_path / "d", Posts=posts, Comments=comments))
    rows = [(f.id, f.latex, f.kind, f.post_id, f.thread_id, f.comment_id) for f in made.formulas()]
    assert rows == [
        (1, "t2", "title", 2, 2, None),
        (2, "q2", "question", 2, 2, None),
        (3, "c8", "comment", 2, 2, 8),
        (4, "c7", "comment", 2, 2, 7),
        (5, "a3", "answer", 3, 2, None),
        (6, "c9", "comment", 3, 2, 9),
        (7, "a5", "answer", 5, 2, None),
        (8, "t1", "title", 1, 1, None),
        (9, "q1", "question", 1, 1, None),
        (10, "a4", "answer", 4, 1, None),
    ]
    assert made.posts_by_id([2])[2].body.html() == '<p><span class="math-container" id="2">q2</span></p>'
    assert sorted(places(made)) == list(range(1, 11))


def test_the_sample_is_built_without_loss(sample: Collection) -> None:
    counts = tally(sample)
    assert counts["posts", "read"] == counts["posts", "kept"] == sample.count("posts")
    assert counts["comments", "read"] == sample.count("comments")
    spurious = [formula.id for formula in sample.formulas() if formula.issue == "d"]
    assert spurious, "the sample has an edited post"
    assert sorted(places(sample)) == [formula.id for formula in sample.formulas() if not formula.issue]
    assert {f.id for f in sample.formulas()} == set(range(1, sample.count("formulas") + 1))


def test_displayed_formulas_are_marked(tmp_path: Path) -> None:
    body = r"<p>$a$ $$b$$ \[c\] \begin{align}d\end{align} \begin{pmatrix}e\end{pmatrix}</p>"
    made = built(tmp_path / "c", write_dump(tmp_path / "d", Posts=[question(1, body)]))
    displayed = re.findall(
        r'<span class="display"><span class="math-container" id="\d+">(.*?)</span></span>',
        made.posts_by_id([1])[1].body.html(),
    )
    assert displayed == ["b", "c", r"\begin{align}d\end{align}"]


def test_formulas_that_look_the_same_share_an_id(tmp_path: Path) -> None:
    made = built(tmp_path / "c", write_dump(tmp_path / "d", Posts=[question(1, "<p>$e^{x}$ $e^x$ $f$ $e^x$</p>")]))
    assert [formula.visual_id for formula in made.formulas()] == [1, 1, 2, 1]
    assert [(v.id, v.formulas, v.posts) for v in made.visuals()] == [(1, 3, 1), (2, 1, 1)]
    assert [e.latex for e in made.expressions()] == ["e^{x}", "e^x", "f"]


def test_years_votes_links_users_and_badges(tmp_path: Path) -> None:
    late = "2019-01-01T00:00:00.000"
    source = write_dump(
        tmp_path / "d",
        Posts=[
            question(1, AcceptedAnswerId=2, OwnerUserId=7),
            answer(2, 1),
            answer(3, 1, CreationDate=late),
            question(4, CreationDate=late),
            answer(5, 4),
        ],
        Comments=[comment(1, 2), comment(2, 1, CreationDate=late), comment(3, 4)],
        PostLinks=[
            {"Id": 1, "PostId": 1, "RelatedPostId": 99, "LinkTypeId": 3},
            {"Id": 2, "PostId": 1, "RelatedPostId": 4, "PostLinkTypeId": 1},
            {"Id": 3, "PostId": 4, "RelatedPostId": 1, "LinkTypeId": 1},
        ],
        Votes=[
            {"Id": 1, "PostId": 1, "VoteTypeId": 2},
            {"Id": 2, "PostId": 1, "VoteTypeId": 2},
            {"Id": 3, "PostId": 4, "VoteTypeId": 2},
        ],
        Users=[{"Id": 7, "Reputation": 12, "DisplayName": "Ada"}],
        Badges=[
            {"Id": 1, "UserId": 7, "Class": 1},
            {"Id": 2, "UserId": 7, "Class": 3},
            {"Id": 3, "UserId": 7, "Class": 3},
        ],
    )
    made = built(tmp_path / "c", source, options=Options(None, 2018))
    assert [post.id for post in made.posts()] == [1, 2]
    assert made.posts_by_id([1])[1].accepted_id == 2
    assert [each.id for each in made.all_comments()] == [1]
    assert [(link.other_id, link.kind) for link in made.links_by_post([1])[1]] == [(4, "related"), (99, "duplicate")]
    assert [(votes.type, votes.number) for votes in made.all_votes() if votes.post_id == 1] == [(2, 2)]
    user = made.users_by_id([7])[7]
    assert (user.name, user.reputation, user.gold, user.silver, user.bronze) == ("Ada", 12, 1, 0, 2)
    counts = tally(made)
    assert counts["posts", "outside the years"] == 2
    assert counts["posts", "an answer whose question is not kept"] == 1
    assert counts["comments", "outside the years"] == 1
    compat = built(tmp_path / "compat", source, options=Options(None, 2018, compat=True))
    assert [post.id for post in compat.posts()] == [1, 2, 3], "the lab looked only at the question's year"


def test_history_only_formulas_are_marked(tmp_path: Path) -> None:
    source = write_dump(
        tmp_path / "d",
        Posts=[question(1, "<p>$now$</p>", "Title $t$")],
        PostHistory=[
            {
                "Id": 1,
                "PostHistoryTypeId": 2,
                "PostId": 1,
                "Text": "$before$ and $now$\n\n    # $5 of $code\n\n$before$",
            },
            {"Id": 2, "PostHistoryTypeId": 4, "PostId": 1, "Text": "Old $title$"},
            {"Id": 3, "PostHistoryTypeId": 10, "PostId": 1, "Text": "closed"},
        ],
    )
    made = built(tmp_path / "c", source)
    rows = [(formula.latex, formula.kind, formula.issue) for formula in made.formulas()]
    assert rows == [("t", "title", ""), ("now", "question", ""), ("before", "question", "d"), ("title", "title", "d")]
    assert [one.formula_id for one in made.occurrences()] == [1, 2]


def test_building_twice_gives_the_same_digest(tmp_path: Path, sample: Collection) -> None:
    again = built(tmp_path / "again", SAMPLE, jobs=1)
    assert again.manifest == sample.manifest


def start_build(target: Path) -> subprocess.Popen[bytes]:
    # Its own group: workers die with it, as with a machine that goes down.
    command = [sys.executable, "-c", BUILD, str(SAMPLE), "-o", str(target)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_build_killed_at_ten_random_moments_reaches_the_same_digest(tmp_path: Path, sample: Collection) -> None:
    chance = random.Random(20)
    target = tmp_path / "c"
    started = time.monotonic()
    assert start_build(target).wait() == 0
    whole = time.monotonic() - started
    kills = 0
    while kills < 10 or not target.exists():
        if target.exists():
            assert Collection.open(target).manifest == sample.manifest
            shutil.rmtree(target)
        process = start_build(target)
        if kills < 10:
            try:
                process.wait(chance.uniform(0.3, 0.9) * whole)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
        process.wait()
    assert Collection.open(target).manifest == sample.manifest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"], "nothing else is left"


def test_a_build_that_fails_in_any_stage_can_be_continued(
    tmp_path: Path, sample: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every single commit is a place to die: raise at the n-th one, then run again."""
    monkeypatch.setattr(work, "BATCH", 400)
    target = tmp_path / "c"
    deaths = 0

    class Dies(sqlite3.Connection):
        left = 1

        def commit(self) -> None:
            if Dies.left == 0:
                raise KeyboardInterrupt
            Dies.left -= 1
            super().commit()

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda name, **more: connect(name, factory=Dies, **more))
    while not target.exists():
        Dies.left = 3 + deaths
        try:
            build([open_source(SAMPLE)], target, jobs=1)
        except KeyboardInterrupt:
            deaths += 1
    monkeypatch.undo()
    assert deaths > 3
    assert Collection.open(target).manifest == sample.manifest


def test_other_options_do_not_continue_a_stopped_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(1), question(2, CreationDate="2019-01-01")])
    partial = tmp_path / ".c.partial"
    partial.mkdir()
    (partial / "plan.json").write_text("{}")
    build([open_source(source)], tmp_path / "c", jobs=1, progress=Lines())
    assert capsys.readouterr().err == "dropping a stopped build of other sources or options\n"
    assert Collection.open(tmp_path / "c").count("posts") == 2


def test_a_second_build_into_the_same_target_is_refused(tmp_path: Path) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(1)])
    with only_writer(tmp_path / "c"), pytest.raises(PorismError) as error:
        build([open_source(source)], tmp_path / "c", jobs=1)
    fact = f"process {os.getpid()} is writing it now"
    assert str(error.value) == f"{tmp_path}/c: {fact}\n  fix: wait for it, or name another target"
    built(tmp_path / "c", source)
    with pytest.raises(PorismError) as error:
        build([open_source(source)], tmp_path / "c", jobs=1)
    assert (
        str(error.value)
        == f"{tmp_path}/c: already exists\n  fix: remove it (rm -r {tmp_path}/c) or choose another name"
    )


def test_a_build_that_another_process_has_just_finished_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(1)])

    @contextlib.contextmanager
    def finished_meanwhile(place: Path) -> Iterator[None]:
        (place / "whole").mkdir(parents=True)
        yield

    monkeypatch.setattr("porism.corpus.build.pipeline.only_writer", finished_meanwhile)
    with pytest.raises(PorismError, match="already exists"):
        build([open_source(source)], tmp_path / "c", jobs=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "d"]


def test_a_full_disk_is_reported_and_leaves_no_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(n, f"<p>{f'$x_{n}$ ' * 200}</p>") for n in range(1, 400)])
    connect = sqlite3.connect

    def small(name: object, **more: object) -> sqlite3.Connection:
        database = connect(name, **more)  # type: ignore[call-overload]
        database.execute("PRAGMA max_page_count = 60")
        return database  # type: ignore[no-any-return]

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(PorismError) as error:
        build([open_source(source)], tmp_path / "c", jobs=1)
    assert (
        str(error.value)
        == f"{tmp_path}/c: cannot be written: database or disk is full\n  fix: free disk space or choose another place"
    )
    assert not (tmp_path / "c").exists()
    monkeypatch.undo()
    assert built(tmp_path / "c", source).count("posts") == 399, "with space it goes on"


def test_a_source_that_vanishes_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_source(write_dump(tmp_path / "d", Posts=[question(1)]))
    gone = tmp_path / "d" / "Posts.xml"
    real = source.parts()
    gone.unlink()
    monkeypatch.setattr(source, "parts", lambda: real)
    with pytest.raises(PorismError) as error:
        build([source], tmp_path / "c", jobs=1)
    assert str(error.value) == f"{gone}: no such file\n  fix: check the path"
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(PorismError) as error:
        build([source], file / "c", jobs=1)
    assert (
        str(error.value)
        == f"{file}: cannot be used: File exists\n  fix: name a file or folder that you may read and write"
    )


def test_damaged_rows_are_counted_with_file_and_line(tmp_path: Path) -> None:
    source = write_dump(
        tmp_path / "d",
        Posts=[
            question(1),
            question(1, title="again"),
            answer(2, 77),
            question("x"),  # type: ignore[arg-type]
            question(3, CreationDate="2015-13-41"),
            {"Id": 4, "PostTypeId": 5, "CreationDate": "2015-03-01", "Body": ""},
            question(5, "<p>" + "a" * 2_000_001 + "</p>"),
            question(6, "<div>" * 20_001),
        ],
        Comments=[comment(1, 1), comment(1, 1, "again"), comment(2, 50)],
    )
    made = built(tmp_path / "c", source)
    assert [post.id for post in made.posts()] == [1, 3]
    assert made.posts_by_id([1])[1].title.html() == "A title"
    assert made.posts_by_id([3])[3].created == ""
    file = tmp_path / "d" / "Posts.xml"
    assert examples(made, "posts", "the id appeared before") == ["d/Posts.xml:4: post 1"]
    assert examples(made, "posts", "an answer whose question is not kept") == ["d/Posts.xml:5: post 2"]
    assert examples(made, "posts", "Id is not a number") == [f"{file}:6"]
    assert examples(made, "dates of posts", "invalid or missing date '2015-13-41', kept without") == [f"{file}:7"]
    assert examples(made, "posts", "type 5 (tag wiki)") == [f"{file}:8"]
    assert examples(made, "posts", "body of more than 2,000,000 characters") == [f"{file}:9"]
    assert examples(made, "posts", "body of more than 20,000 tags") == [f"{file}:10"]
    assert examples(made, "comments", "the id appeared before") == ["d/Comments.xml:4: comment 1"]
    assert examples(made, "comments", "on a post that is not kept") == ["d/Comments.xml:5: comment 2"]


def test_a_build_without_any_post_is_an_error(tmp_path: Path) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(1)])
    with pytest.raises(PorismError) as error:
        built(tmp_path / "c", source, options=Options(first_year=2020))
    assert str(error.value) == (
        f"{source}: there is nothing to build: no post and no formula is left\n"
        "  fix: check the sources, --source-kind, --years and --without"
    )
    assert not (tmp_path / "c").exists()


def test_two_dumps_do_not_clash(tmp_path: Path) -> None:
    first = write_dump(tmp_path / "one", Posts=[question(1), answer(12, 1)], Comments=[comment(345, 1)])
    second = write_dump(
        tmp_path / "two", Posts=[question(1, title="Two", AcceptedAnswerId=2), answer(2, 1)], Comments=[comment(345, 2)],
        PostLinks=[{"Id": 1, "PostId": 1, "RelatedPostId": 2, "LinkTypeId": 1}],
    )  # fmt: skip
    made = built(tmp_path / "c", first, second)
    assert [(post.id, post.thread_id, post.source) for post in made.posts()] == [
        (1, 1, "one"),
        (12, 1, "one"),
        (1001, 1001, "two"),
        (1002, 1001, "two"),
    ]
    assert made.posts_by_id([1001])[1001].accepted_id == 1002
    assert [each.id for each in made.comments_by_post([1002])[1002]] == [1345]
    assert made.links_by_post([1001])[1001][0].other_id == 1002
    assert [entry["shift"] for entry in made.manifest["sources"]] == [0, 1000]


def test_without_answers_or_comments(tmp_path: Path) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(1), answer(2, 1)], Comments=[comment(1, 1), comment(2, 2)])
    made = built(tmp_path / "c", source, options=Options(answers=False, comments=False))
    assert (made.count("posts"), made.count("comments")) == (1, 0)
    assert tally(made)["posts", "answers are left out"] == 1
