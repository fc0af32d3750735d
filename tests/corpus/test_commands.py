"""The commands of the collection, as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from porism.cli import main
from porism.corpus.build.select import parse_years
from porism.errors import PorismError

from .small import answer, comment, question, write_dump


@pytest.fixture
def demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    source = write_dump(
        tmp_path / "d",
        Posts=[
            question(1, "<p>$x^2$ and $y$</p>", "On $x$", AcceptedAnswerId=2),
            answer(2, 1, "<p>$x^{2}$</p>"),
            {"Id": 3, "PostTypeId": 4},
        ],
        Comments=[comment(1, 2, "$y$?")],
        PostLinks=[{"Id": 1, "PostId": 1, "RelatedPostId": 50, "LinkTypeId": 1}],
    )
    assert main(["build", str(source), "-o", str(tmp_path / "demo"), "--quiet", "--jobs", "1"]) == 0
    return tmp_path / "demo"


def test_build_reports_every_row(demo: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["build", str(tmp_path / "d"), "-o", str(tmp_path / "two"), "--jobs", "1"]) == 0
    out, words = capsys.readouterr()
    assert words.startswith(f"{tmp_path}/d: a Stack Exchange dump\n")
    lines = out.splitlines()
    assert lines[0].split() == ["read", "kept", "dropped"]
    assert any(line.split() == ["posts", "3", "2", "1"] for line in lines)
    assert "posts: 1 type 4 (tag wiki excerpt)" in lines
    assert f"    {tmp_path}/d/Posts.xml:5" in lines
    assert "2 posts, 1 comments, 5 formulas, 4 distinct, 3 visual ids" in lines


def test_build_reports_errors(demo: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["build", str(tmp_path / "d"), "-o", str(demo)]) == 1
    assert capsys.readouterr().err.endswith(
        f"porism: {demo}: already exists\n  fix: remove it (rm -r {demo}) or choose another name\n"
    )


def test_stats(demo: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    capsys.readouterr()
    assert main(["collection", "stats", str(demo), "--plots", str(tmp_path / "plots")]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert ["counts", "formulas", "5"] in rows
    assert ["posts by year and kind", "2015 answer", "1"] in rows
    assert ["commonest formulas", "x^2", "2"] in rows
    assert ["commonest tags", "algebra", "1"] in rows
    assert ["formulas per post", "3-4", "1"] in rows or ["formulas per post", "2", "1"] in rows
    assert (tmp_path / "plots" / "commonest-formulas.svg").read_text().startswith("<?xml")
    assert main(["collection", "stats", str(demo), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["posts"] == 2
    assert {"year": 2015, "kind": "answer", "posts": 1} in found["posts_by_year"]
    assert {"latex": "x^2", "formulas": 2} in found["common_formulas"]
    assert {"tag": "algebra", "questions": 1} in found["common_tags"]
    assert all(isinstance(row, dict) for rows in found.values() if isinstance(rows, list) for row in rows)


def test_show(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["collection", "show", str(demo), "thread", "2"]) == 0
    assert capsys.readouterr().out == (
        "question 1  score 1  2015-03-01\nOn $x$\n[algebra]\n\n$x^2$ and $y$\n\n"
        "answer 2  score 2  2015-03-01  ✓ accepted\n\n$x^{2}$\n    (0) $y$?\n\n"
        "related: [50] (outside the collection)\n"
    )
    assert main(["collection", "show", str(demo), "formula", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "formula 2  visual id 2  in the question of post 1, thread 1"
    assert lines[2] == "layout     [V!x,a[N!2]]"
    assert lines[4:] == ["2 formulas in 2 posts look the same:", "  2  post 1  x^2", "  4  post 2  x^{2}"]
    assert main(["collection", "show", str(demo), "post", "77"]) == 1
    assert (
        capsys.readouterr().err
        == f"porism: {demo}: no post 77 in this collection\n  fix: porism collection stats shows what it holds\n"
    )


@pytest.mark.parametrize(
    ("text", "years"),
    [("2010-2018", (2010, 2018)), ("-2018", (None, 2018)), ("2015-", (2015, None)), ("2015", (2015, 2015))],
)
def test_years(text: str, years: tuple[int | None, int | None]) -> None:
    assert parse_years(text) == years


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-", "years '-' are not understood\n  fix: write --years 2010-2018, --years -2018 or --years 2015-"),
        ("abc", "years 'abc' are not understood\n  fix: write --years 2010-2018, --years -2018 or --years 2015-"),
        ("2018-2010", "years '2018-2010' end before they begin\n  fix: write --years 2010-2018"),
    ],
)
def test_invalid_years(text: str, message: str) -> None:
    with pytest.raises(PorismError) as error:
        parse_years(text)
    assert str(error.value) == message
