"""Adding to a collection without building it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.build.pipeline import Base, build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError

from .small import answer, built, comment, question, tally, write_dump

SAMPLE = Path(__file__).resolve().parents[2] / "sample" / "dump"


def added(target: Path, base: Collection, *sources: Path, apart: bool = False) -> Collection:
    opened = [open_source(source) for source in sources]
    return Collection.open(build(opened, target, base=Base(base, apart), jobs=1))


@pytest.fixture
def base(tmp_path: Path) -> Collection:
    posts = [question(1, "<p>$x$ $e^x$</p>"), answer(2, 1, "<p>$y$</p>"), question(3)]
    return built(tmp_path / "base", write_dump(tmp_path / "old", Posts=posts, Comments=[comment(1, 1, "$c$")]))


def test_adding_is_the_same_as_building_together(base: Collection, tmp_path: Path) -> None:
    together = built(tmp_path / "together", tmp_path / "old", SAMPLE)
    apart = added(tmp_path / "apart", base, SAMPLE, apart=True)
    assert apart.digest == together.digest
    assert apart.manifest["sources"] == together.manifest["sources"]


def test_new_answers_and_comments_join_existing_threads(base: Collection, tmp_path: Path) -> None:
    news = write_dump(
        tmp_path / "new",
        Posts=[
            question(1, "<p>$edited$</p>"),
            answer(5, 1, "<p>$e^{x}$ $new$</p>"),
            question(7, "<p>$y$</p>"),
            answer(8, 7),
            answer(9, 99),
        ],
        Comments=[comment(1, 1), comment(2, 1, "$late$"), comment(3, 5, "$x$"), comment(4, 7)],
        PostLinks=[{"Id": 1, "PostId": 7, "RelatedPostId": 1, "LinkTypeId": 3}],
    )
    made = added(tmp_path / "c", base, news)
    assert [(post.id, post.thread_id) for post in made.posts()] == [(1, 1), (2, 1), (3, 3), (5, 1), (7, 7), (8, 7)]
    assert made.posts_by_id([1])[1] == base.posts_by_id([1])[1]
    assert [(c.id, c.post_id) for c in made.all_comments()] == [(1, 1), (2, 1), (3, 5), (4, 7)]
    rows = [(f.id, f.latex, f.post_id, f.thread_id, f.kind) for f in made.formulas()]
    assert rows[:4] == [(f.id, f.latex, f.post_id, f.thread_id, f.kind) for f in base.formulas()]
    assert rows[4:] == [
        (5, "y", 7, 7, "question"),
        (6, "e^{x}", 5, 1, "answer"),
        (7, "new", 5, 1, "answer"),
        (8, "x", 5, 1, "comment"),
        (9, "late", 1, 1, "comment"),
    ]
    visual = {f.id: f.visual_id for f in made.formulas()}
    assert visual[6] == visual[2], "e^{x} looks like the old e^x"
    assert visual[5] == next(f.visual_id for f in base.formulas() if f.latex == "y")
    assert [e.latex for e in made.expressions()] == ["x", "e^x", "c", "y", "e^{x}", "new", "late"]
    instances = made.instances([visual.id for visual in made.visuals()], 1000)
    assert {number: len(own) for number, own in instances.items()} == {one.id: one.formulas for one in made.visuals()}
    assert len(made.threads_by_id([1])[1].answers) == 2
    counts = tally(made)
    assert counts["posts", "already in the collection"] == 1
    assert counts["posts", "an answer whose question is not kept"] == 1
    assert counts["comments", "already in the collection"] == 1


def test_a_folder_gets_ids_above_those_of_the_base(base: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("$x$ and $z$")
    made = added(tmp_path / "c", base, folder)
    assert [(post.id, post.source) for post in made.posts()][-1] == (11, "notes/a.md")
    assert [entry["shift"] for entry in made.manifest["sources"]] == [0, 10]
    again = added(tmp_path / "d", made, folder)
    assert [post.id for post in again.posts()][-1] == 101


def test_the_base_is_not_changed(base: Collection, tmp_path: Path) -> None:
    before = (base.path / "collection.sqlite").read_bytes()
    added(tmp_path / "c", base, SAMPLE)
    assert (base.path / "collection.sqlite").read_bytes() == before
    with pytest.raises(PorismError, match="already exists"):
        added(base.path, base, SAMPLE)


def test_a_formula_table_is_added(base: Collection, tmp_path: Path) -> None:
    table = tmp_path / "formulas.tsv"
    table.write_text("id\tlatex\n2\tagain\n50\tx\n")
    made = added(tmp_path / "c", base, table)
    assert [(f.id, f.latex, f.visual_id) for f in made.formulas()][-1] == (
        50,
        "x",
        base.formulas_by_id([1])[1].visual_id,
    )
    assert tally(made)["formulas", "the id appeared before"] == 1
