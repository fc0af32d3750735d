"""Formulas that the official list lacks: found, shown and highlighted, but never returned in a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import porism
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.sources.raw import OWN_IDS
from porism.records import Topic
from porism.store import open_content
from porism.store.embedded.build import build_index
from porism.systems.runs.run import RunOptions, make_run

ALIGN = r"\begin{align*} a^2+b^2 &amp;= c^2 \end{align*}"
SPAN = '<span class="math-container" id="{}">{}</span>'


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unlisted")
    posts = [
        {"id": 1, "type": "question", "title": "Right triangles", "body": f"<p>Why {ALIGN}?</p>"},
        {"id": 2, "type": "answer", "parent_id": 1, "body": f"<p>Since {SPAN.format(7, 'c=5')}.</p>"},
    ]
    (folder / "cut").mkdir()
    (folder / "cut" / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    rows = ["id\tpost_id\tthread_id\ttype\tvisual_id\tlatex\tcomment_id", "7\t2\t1\tanswer\t70\tc=5\t"]
    (folder / "cut" / "formulas.tsv").write_text("\n".join(rows) + "\n")
    build([open_source(folder / "cut")], folder / "collection", jobs=1)
    build_index(open_content(folder / "collection"), folder / "index")
    return folder / "index"


def test_an_unlisted_formula_is_found_shown_and_highlighted(index: Path) -> None:
    engine = porism.open(index)
    formula = engine.formulas("a^2+b^2", mode="subformula").hits[0]
    assert formula.latex.startswith(r"\begin{align*} a^2+b^2 &= c^2")
    assert formula.highlighted_nodes
    assert [use.formula_id for use in formula.uses] == [OWN_IDS]
    hit = engine.search("why $a^2+b^2=c^2$", kind="questions").hits[0]
    shown = [segment for segment in hit.snippet if segment.kind == "formula"]
    assert [segment.formula_id for segment in shown] == [OWN_IDS]
    assert shown[0].highlighted_nodes


def test_a_run_returns_only_listed_formulas(index: Path, tmp_path: Path) -> None:
    topics = [Topic("B.1", "", latex="a^2+b^2=c^2"), Topic("B.2", "", latex="c=5")]
    make_run(index, topics, 2, tmp_path / "run.tsv", RunOptions())
    lines = [line.split("\t") for line in (tmp_path / "run.tsv").read_text().splitlines()]
    assert {cells[1] for cells in lines} == {"7"}
