"""Small and plain sources build without errors: few posts, no formulas, no words, one tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.cli import main
from porism.errors import PorismError

from .small import answer, built, question, write_dump


@pytest.mark.parametrize("posts", [1, 2, 3])
@pytest.mark.parametrize(
    "body", ["<p>words alone</p>", "<p>$x$</p>", "", "<hr>"], ids=["words", "formula", "nothing", "no words"]
)
def test_a_few_posts(tmp_path: Path, posts: int, body: str) -> None:
    rows = [question(1, body, "", Tags="<algebra>"), *(answer(number, 1, body) for number in range(2, posts + 1))]
    made = built(tmp_path / "c", write_dump(tmp_path / "d", Posts=rows))
    assert made.count("posts") == posts
    assert made.count("formulas") == posts * ("$" in body)
    assert [tag.name for tag in made.tags()] == ["algebra"]


def test_no_posts(tmp_path: Path) -> None:
    source = write_dump(tmp_path / "d", Posts=[])
    with pytest.raises(PorismError) as error:
        built(tmp_path / "c", source)
    assert error.value.message == "there is nothing to build: no post and no formula is left"
    assert not list(tmp_path.glob("c*"))


def test_three_plain_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / "notes").mkdir(exist_ok=True)
        (tmp_path / "notes" / f"{name}.md").write_text(f"# Note {name}\n\nNothing but words.\n")
    assert main(["build", str(tmp_path / "notes"), "-o", str(tmp_path / "c"), "--quiet"]) == 0
    assert "3 posts, 0 comments, 0 formulas, 0 distinct, 0 visual ids" in capsys.readouterr().out
