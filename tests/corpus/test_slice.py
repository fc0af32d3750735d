"""A cut of the lab's collection and tables of formulas."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from porism.corpus.sources.raw import OWN_IDS
from porism.errors import PorismError
from porism.text.markup import decode_latex

from .small import built, examples, tally


def write_cut(folder: Path) -> Path:
    folder.mkdir()
    posts = [
        {
            "id": 5,
            "type": "question",
            "thread_id": 5,
            "title": 'A <span class="math-container" id="31">t</span>',
            "tags": ["a", "b"],
            "body": '<p><span class="math-container" id="32">x</span></p>',
            "comments": [{"id": 8, "body": 'is 1 < 2? <span class="math-container" id="x5_1">y</span>'}],
        },
        {"id": 6, "type": "answer", "thread_id": 5, "parent_id": 5, "body": "<p>no</p>", "comments": []},
    ]
    (folder / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    rows = [
        "id\tpost_id\tthread_id\ttype\tvisual_id\tlatex\tcomment_id",
        "31\t5\t5\ttitle\t100\tt\t",
        "32\t5\t5\tquestion\t101\tx\t",
        "x5_1\t5\t5\tcomment\t\ty\t8",
        "x5_2\t9\t9\ttitle\t\tx\t",
    ]
    (folder / "formulas.tsv").write_text("\n".join(rows) + "\n")
    (folder / "links.tsv").write_text(
        "post_id\tother_id\tkind\tother_body_in_slice\tother_title\n5\t9\trelated\t0\tOther\n"
    )
    (folder / "titles.jsonl").write_text(
        json.dumps({"id": 9, "title": 'On <span class="math-container" id="x5_2">x</span>'}) + "\n"
    )
    (folder / "slt.tsv").write_text("id\tmathml\n31\t<math><mi>t</mi></math>\n")
    return folder


def test_official_ids_are_kept_and_names_get_numbers(tmp_path: Path) -> None:
    made = built(tmp_path / "c", write_cut(tmp_path / "cut"))
    rows = [(f.id, f.latex, f.visual_id, f.comment_id) for f in made.formulas()]
    # The last two are x5_1 and x5_2: y is new, x looks like formula 32. Ids of our own never equal one of the lab's.
    assert rows == [
        (31, "t", 100, None),
        (32, "x", 101, None),
        (OWN_IDS, "y", OWN_IDS, 8),
        (OWN_IDS + 1, "x", 101, None),
    ]
    assert made.posts_by_id([5])[5].tags == ("a", "b")
    assert (
        made.comments_by_post([5])[5][0].body.html()
        == f'is 1 &lt; 2? <span class="math-container" id="{OWN_IDS}">y</span>'
    )
    assert made.titles_by_id([9])[9].html() == f'On <span class="math-container" id="{OWN_IDS + 1}">x</span>'
    assert [link.other_id for link in made.threads_by_id([6])[6].links] == [9]
    assert made.expressions_by_formula([31])[31].mathml == "<math><mi>t</mi></math>"


def test_formula_table_first_or_last_gives_the_same(tmp_path: Path) -> None:
    cut = write_cut(tmp_path / "cut")
    table = tmp_path / "formulas.tsv"
    table.write_text('visual_id\tlatex\tmathml\n101\tx\t\n200\tq "r\t<math><mi>q</mi></math>\n300\t\t\n')
    one, two = built(tmp_path / "one", table, cut), built(tmp_path / "two", cut, table)
    assert one.digest == two.digest
    rows = [(f.id, f.post_id, f.visual_id, f.latex) for f in one.formulas() if f.post_id == 0]
    assert rows == [(OWN_IDS + 2, 0, 101, "x"), (OWN_IDS + 3, 0, 200, 'q "r')]
    assert tally(one)["formulas", "empty"] == 1
    assert [(v.id, v.formulas, v.posts) for v in one.visuals()] == [
        (100, 1, 1),
        (101, 3, 2),
        (200, 1, 0),
        (OWN_IDS, 1, 1),
    ]


def test_a_table_with_ids_keeps_them(tmp_path: Path) -> None:
    table = tmp_path / "formulas.tsv"
    table.write_text("id\tlatex\n7\tx\n9\ty\n7\tz\n")
    made = built(tmp_path / "c", table)
    assert [(f.id, f.latex, f.visual_id) for f in made.formulas()] == [(7, "x", 1), (9, "y", 2)]
    assert tally(made)["formulas", "the id appeared before"] == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "posts.jsonl",
            "{",
            "posts.jsonl:1: no line can be read: not a line of JSON\n  fix: fetch the file again",
        ),
        (
            "links.tsv",
            "post_id\tother_id\n1\t2\n",
            "links.tsv:1: the header has no column kind\n  fix: add the header line",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    cut = write_cut(tmp_path / "cut")
    (cut / name).write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(PorismError) as error:
        built(tmp_path / "c", cut)
    assert str(error.value) == f"{cut}/{message}"


BAD_LINES = {
    "{": "not a line of JSON",
    "[]": "not an object of JSON",
    "[" * 100_000: "cannot be read (RecursionError)",
    '{"id": 1%s}' % ("0" * 5000): "not a line of JSON",
    '{"id": 9223372036854775808, "type": "question", "body": ""}': "id has more than 15 digits",
    '{"id": true, "type": "question", "body": ""}': "id is not a number",
    '{"id": "7", "type": "question", "body": ""}': "id is not a number",
    '{"id": 71, "type": "question"}': "there is no body that is text",
    '{"id": 72, "type": "page", "body": ""}': "type is 'page', not one of question, answer",
    '{"id": 73, "type": "question", "body": "", "title": ["x"]}': "there is no title that is text",
    '{"id": 74, "type": "question", "body": "", "tags": [1]}': "cannot be read (TypeError)",
    '{"id": 75, "type": "question", "body": "", "score": "many"}': "score is not a number",
    "\udcff": "not UTF-8",
}


def test_each_bad_line_is_a_ledger_line_and_the_rest_is_built(tmp_path: Path) -> None:
    cut = write_cut(tmp_path / "cut")
    whole = built(tmp_path / "whole", cut)
    good = (cut / "posts.jsonl").read_text("utf-8").splitlines()
    text = "\n".join([good[0], *BAD_LINES, *good[1:], ""])
    (cut / "posts.jsonl").write_text(text, "utf-8", "surrogateescape")
    made = built(tmp_path / "c", cut)
    assert [post.id for post in made.posts()] == [post.id for post in whole.posts()]
    counted = tally(made)
    assert {why: counted["posts", why] for why in BAD_LINES.values()} == Counter(BAD_LINES.values())
    assert examples(made, "posts", "not UTF-8") == [f"{cut}/posts.jsonl:{len(BAD_LINES) + 1}"]


BAD_ROWS = {
    ("links.tsv", "links"): {
        "1\t2\tsame": "kind is 'same', not one of related, duplicate",
        "1\t2": "has 2 cells, the header 3",
        "x\t2\trelated": "post_id is not a number",
        "9223372036854775808\t2\trelated": "post_id has more than 15 digits",
        "1\t2\trela\udcffted": "not UTF-8",
    },
    ("slt.tsv", "formulas with MathML"): {"x9\tm": "formula id 'x9' is not in formulas.tsv"},
}


@pytest.mark.parametrize(("file", "rows"), BAD_ROWS.items())
def test_each_bad_row_of_a_table_is_a_ledger_line(file: tuple[str, str], rows: dict[str, str], tmp_path: Path) -> None:
    name, what = file
    cut = write_cut(tmp_path / "cut")
    header = {"links.tsv": "post_id\tother_id\tkind", "slt.tsv": "id\tmathml"}[name]
    (cut / name).write_text("\n".join([header, *rows, ""]), "utf-8", "surrogateescape")
    counted = tally(built(tmp_path / "c", cut))
    assert {why: counted[what, why] for why in rows.values()} == Counter(rows.values())


# Formulas that the texts of the slice hold outside their official spans, and environments without dollar signs among
# them.
UNMARKED, ENVIRONMENTS = 728, 481


@pytest.mark.shared
def test_the_real_cut_is_built_without_loss(shared_data: Path, tmp_path: Path) -> None:
    made = built(tmp_path / "c", shared_data / "slice", jobs=2)
    kinds = [post.kind for post in made.posts()]
    assert (kinds.count("question"), kinds.count("answer")) == (2769, 3395)
    assert (made.count("comments"), made.count("formulas"), made.count("links")) == (16712, 81493 + UNMARKED, 7027)
    official: dict[int, tuple[str, str]] = {}
    with open(shared_data / "slice" / "formulas.tsv", encoding="utf-8") as table:
        next(table)
        for line in table:
            cells = line.rstrip("\n").split("\t")
            if cells[0].isdecimal():
                official[int(cells[0])] = (cells[4], cells[5])
    found = {f.id: (str(f.visual_id), f.latex) for f in made.formulas()}
    assert all(found[number][1] == decode_latex(latex) for number, (_, latex) in official.items())
    broken = [number for number, (_, latex) in official.items() if decode_latex(latex) != latex]
    assert len(broken) == 181, "LaTeX in which a converter took `&amp;` for an alignment mark and letters"
    assert not any(re.search(r"(?<![A-Za-z])(?:amp|lt|gt);", found[number][1]) for number in broken)
    assert all(found[number][0] == visual for number, (visual, _) in official.items() if visual)
    placed = {
        number
        for post in made.posts()
        for number in [formula.formula_id for formula in post.title.formulas]
        + [formula.formula_id for formula in post.body.formulas]
    }
    placed |= {
        number for each in made.all_comments() for number in [formula.formula_id for formula in each.body.formulas]
    }
    here = {post.id for post in made.posts()}
    assert {f.id for f in made.formulas() if f.post_id in here} <= placed
    assert not any(f.issue for f in made.formulas())
    unmarked = [f for f in made.formulas() if not made.is_listed(f)]
    assert len(unmarked) == UNMARKED
    assert min(f.id for f in unmarked) >= OWN_IDS
    environments = [f for f in unmarked if f.latex.startswith("\\begin")]
    assert (len(environments), len({f.post_id for f in environments})) == (ENVIRONMENTS, 231)


def test_lines_of_a_table_may_end_with_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "formulas.tsv"
    path.write_bytes(b"id\tlatex\r1\tx\r2\ty\r\n3\tz\n4\tw")
    made = built(tmp_path / "c", path)
    assert [formula.latex for formula in made.formulas()] == ["x", "y", "z", "w"]
