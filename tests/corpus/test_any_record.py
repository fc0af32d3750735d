"""One bad record never ends a build: it becomes a line of the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from porism.corpus.build import fields

from .small import built, examples, question, tally, write_dump


def test_a_text_that_cannot_be_segmented_is_kept_as_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = fields.find_formulas

    def fail(text: str, *arguments: object) -> object:
        if "poison" in text:
            raise IndexError(text)
        return find(text, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(fields, "find_formulas", fail)
    source = write_dump(tmp_path / "d", Posts=[question(1), question(2, "<p>poison $x$</p>"), question(3)])
    made = built(tmp_path / "c", source)
    assert [post.id for post in made.posts()] == [1, 2, 3]
    assert made.posts_by_id([2])[2].body.plain() == "<p>poison $x$</p>"
    assert examples(made, "texts", "formulas cannot be found (IndexError), kept as plain text") == ["post 2"]


@pytest.mark.parametrize("identifier", ["9" * 19, "9" * 30])
def test_an_official_id_that_no_database_can_store_is_numbered_anew(identifier: str, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.mkdir()
    body = f'<p><span class="math-container" id="{identifier}">x^2</span></p>'
    (cut / "posts.jsonl").write_text(json.dumps({"id": 1, "type": "question", "title": "t", "body": body}) + "\n")
    (cut / "formulas.tsv").write_text("id\tpost_id\tthread_id\ttype\tlatex\n7\t1\t1\tquestion\ty\n")
    made = built(tmp_path / "c", cut)
    assert "x^2" in [formula.latex for formula in made.formulas_by_post([1])[1]]


NOTEBOOKS: tuple[object, ...] = (
    {"cells": [{"cell_type": "heading", "level": 10**9, "source": "deep"}]},
    {"cells": [{"cell_type": "heading", "level": "x", "source": "deep"}]},
    {"cells": [{"cell_type": "heading", "level": -(10**30), "source": "deep"}]},
    {"cells": [7, None, [], {"cell_type": "markdown", "source": ["deep", 7, None]}]},
    {"cells": [{"cell_type": "markdown", "source": {"deep": 1}}]},
    {"worksheets": [7, {"cells": 3}, {"cells": [{"cell_type": "markdown", "source": "deep"}]}]},
)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_absurd_notebooks_are_read(notebook: object, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.ipynb").write_text(json.dumps(notebook))
    (folder / "b.md").write_text("# Good\n\ntext")
    made = built(tmp_path / "c", folder)
    assert any("deep" in f"{post.title.plain()} {post.body.plain()}" for post in made.posts())


def test_notebooks_that_are_none_are_ledger_lines(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in (("a", "7"), ("b", '{"cells": 7}'), ("c", "[" * 100_000), ("d", "")):
        (folder / f"{name}.ipynb").write_text(text)
    (folder / "e.md").write_text("# Good\n\ntext")
    made = built(tmp_path / "c", folder)
    assert sum(number for (what, why), number in tally(made).items() if what == "documents" and why != "read") == 4
