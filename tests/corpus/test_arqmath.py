"""The lab's own files: versions by header, official ids, what the text does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.sources.arqmath import V1, V2, V3, ArqMath, version_of
from porism.corpus.sources.raw import OWN_IDS
from porism.errors import PorismError

from .small import answer, built, comment, examples, question, tally, xml


def span(number: int, latex: str) -> str:
    return f'<span class="math-container" id="{number}">{latex}</span>'


def write_table(folder: Path, columns: tuple[str, ...], *rows: tuple[object, ...], name: str = "1.tsv") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join("\t".join(map(str, row)) + "\n" for row in (columns, *rows)), "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "lab"
    place.mkdir()
    posts = [
        question(1, f"<p>{span(11, 'a &amp;lt; b')} and {span(12, 'y')}</p>", f"On {span(10, 't')}"),
        answer(2, 1, f"<p>{span(13, 'z')}</p>"),
    ]
    comments = [comment(5, 2, f"So {span(14, 'c')} and again {span(14, 'c')}, {span(15, 'd')}")]
    (place / "Posts.V1.3.xml").write_text(xml("posts", posts).replace("&amp;amp;lt;", "&amp;lt;"), "utf-8")
    (place / "Comments.v1.3.xml").write_text(xml("comments", comments), "utf-8")
    return place


ROWS = (
    (10, 1, 1, "title", "", 7, 70, "v", "t"),
    (11, 1, 1, "question", "", 8, 80, "", "a < b"),
    (12, 1, 1, "question", "", 9, 90, "", '"y""s"'),
    (13, 2, 1, "answer", "", 9, 90, "", "z"),
    (14, 2, 1, "comment", 5, 9, 91, "", "c"),
    (16, 2, 1, "answer", "", 9, 92, "d", "gone"),
    (17, 2, 1, "answer", "", 9, 93, "", "lost"),
    (18, 99, 99, "answer", "", 9, 94, "", "elsewhere"),
)


def test_version_three(folder: Path, tmp_path: Path) -> None:
    write_table(folder / "latex_representation_v3", V3, *ROWS)
    write_table(
        folder / "slt_representation_v3",
        V3,
        (10, 1, 1, "title", "", 7, 70, "v", "<math><mi>t</mi></math>"),
        (11, 1, 1, "question", "", 8, 80, "", ""),
    )
    write_table(folder / "opt_representation_v3", V3, (10, 1, 1, "title", "", 7, 70, "v", "<math><ci>t</ci></math>"))
    made = built(tmp_path / "c", folder)
    rows = [(f.id, f.latex, f.visual_id, f.old_visual_id, f.comment_id, f.issue) for f in made.formulas()]
    assert rows == [
        (10, "t", 70, 7, None, "v"),
        (11, "a < b", 80, 8, None, ""),
        (12, 'y"s', 90, 9, None, ""),
        (13, "z", 90, 9, None, ""),
        (14, "c", 91, 9, 5, ""),
        (15, "d", OWN_IDS, None, 5, ""),  # only in the text: it has no official visual id
        (16, "gone", 92, 9, None, "d"),
        (17, "lost", 93, 9, None, "d"),  # only in the table: not in the text
        (18, "elsewhere", 94, 9, None, ""),
    ]
    assert tally(made)["formulas", "given, but not in the text (issue d)"] == 1
    assert made.posts_by_id([1])[1].title.html() == f"On {span(10, 't')}"
    assert (
        made.posts_by_id([1])[1].body.html() == f"<p>{span(11, 'a &lt; b')} and {span(12, 'y' + chr(34) + 's')}</p>"
    ), "the table is right, the span gives the place"
    first = made.expressions_by_formula([10])[10]
    assert (first.mathml, first.content) == ("<math><mi>t</mi></math>", "<math><ci>t</ci></math>")


@pytest.mark.parametrize(("columns", "version"), [(V1, 1), (V2, 2), (V3, 3)])
def test_the_header_tells_the_version(columns: tuple[str, ...], version: int, tmp_path: Path) -> None:
    write_table(tmp_path, columns)
    assert version_of(tmp_path / "1.tsv") == version


def test_versions_one_and_two_take_the_comment_from_the_text(folder: Path, tmp_path: Path) -> None:
    write_table(folder / "latex_representation", V1, (14, 2, 1, "comment", "c"), (13, 2, 1, "answer", "z"))
    made = built(tmp_path / "c", folder)
    assert made.formulas_by_id([14])[14].comment_id == 5
    assert made.formulas_by_id([10])[10].latex == "t", "a formula that no table names comes from the text"


def test_unknown_header(tmp_path: Path) -> None:
    write_table(tmp_path, ("id", "latex"))
    with pytest.raises(PorismError) as error:
        version_of(tmp_path / "1.tsv")
    assert (
        str(error.value)
        == f"{tmp_path}/1.tsv:1: the header 'id latex' is of no known version\n  fix: name a formula table of the lab"
    )


def test_parts_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("10.tsv", "2.tsv", "1.tsv"):
        write_table(tmp_path / "latex_representation_v3", V3, name=name)
    assert [path.name for path in ArqMath(tmp_path).table_files("latex")] == ["1.tsv", "2.tsv", "10.tsv"]


def test_a_bad_row_of_a_table_is_a_ledger_line(folder: Path, tmp_path: Path) -> None:
    bad = (("x", 2, 1, "answer", "y"), (1, 2, 1), (2**63, 2, 1, "answer", "z"))
    write_table(folder / "latex_representation", V1, (1, 2, 1, "answer", "x"), *bad)
    made = built(tmp_path / "c", folder)
    whys = ("id is not a number", "has 3 cells, the header 5", "id has more than 15 digits")
    assert [tally(made)["formulas", why] for why in whys] == [1, 1, 1]
    assert examples(made, "formulas", "id is not a number") == [f"{folder}/latex_representation/1.tsv:3"]


@pytest.mark.shared
def test_rows_of_the_official_posts(shared_data: Path, tmp_path: Path) -> None:
    place = tmp_path / "lab"
    place.mkdir()
    (place / "Posts.V1.0.xml").symlink_to(shared_data / "arqmath-format" / "Posts.V1.x.sample.xml")
    made = built(tmp_path / "c", place)
    assert [post.id for post in made.posts()] == [1, 3, 4, 5, 6, 7, 8]
    assert made.formulas_by_id([39])[39].latex == r"\sqrt{2}"
    assert made.posts_by_id([5])[5].body.html().count("math-container") == 2


def test_listed_formulas_are_located_in_text_without_ids(tmp_path: Path) -> None:
    place = tmp_path / "lab"
    place.mkdir()
    bare = '<span class="math-container">'
    (place / "Posts.V1.0.xml").write_text(
        xml("posts", [question(1, f"<p>{bare}$x$</span> or $y$, {span(9, 'z')}</p>", "On $t$")]), "utf-8"
    )
    (place / "Comments.V1.0.xml").write_text(
        xml("comments", [comment(3, 1, "no"), comment(4, 1, "yes $c$"), comment(5, 1, "$c$ again")]), "utf-8"
    )
    rows = [
        (1, 1, 1, "title", "t"),
        (2, 1, 1, "question", "x"),
        (3, 1, 1, "question", "y"),
        (4, 1, 1, "comment", "c"),
        (9, 1, 1, "question", "z"),
        (10, 1, 1, "question", "w"),
    ]
    write_table(place / "latex_representation", V1, *rows)
    made = built(tmp_path / "c", place)
    assert made.posts_by_id([1])[1].title.html() == f"On {span(1, 't')}"
    assert made.posts_by_id([1])[1].body.html() == f"<p>{span(2, 'x')} or {span(3, 'y')}, {span(9, 'z')}</p>"
    assert [each.body.html() for each in made.comments_by_post([1])[1]] == [
        "no",
        f"yes {span(4, 'c')}",
        f"{span(OWN_IDS, 'c')} again",
    ]
    assert made.formulas_by_id([4])[4].comment_id == 4
    assert [f.id for f in made.formulas() if f.issue] == [10]
