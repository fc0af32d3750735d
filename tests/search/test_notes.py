"""A folder of notes has no answers: every search finds its documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.cli.search import print_results
from porism.corpus.build.pipeline import build
from porism.corpus.show import show_thread
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.search.engine import Engine
from porism.store.embedded.build import build_index


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("notes")
    (folder / "notes").mkdir()
    texts = {
        "roots": "# Roots\n\nThe number $\\sqrt{2}$ is irrational, since $p^2=2q^2$ has no solution in whole numbers other than zero.\n",
        "sums": "# Sums\n\nThe sum of the first $n$ squares is $\\sum_{k=1}^n k^2=\\frac{n(n+1)(2n+1)}{6}$, which induction proves.\n",
        "limits": "# Limits\n\nA sequence $a_n$ converges to $a$ when $|a_n-a|$ becomes small.\n",
    }
    for name, text in texts.items():
        (folder / "notes" / f"{name}.md").write_text(text)
    build([open_source(folder / "notes", "")], folder / "collection", jobs=1)
    with Collection.open(folder / "collection") as collection:
        build_index(collection, folder / "index")
    return Engine.open(folder / "index")


def test_a_search_for_answers_finds_documents(engine: Engine) -> None:
    found = engine.search("irrational $\\sqrt{2}$")
    assert [hit.kind for hit in found.hits[:1]] == ["question"]
    assert "irrational" in "".join(piece.text for piece in found.hits[0].snippet)


def test_a_question_gets_a_passage(engine: Engine) -> None:
    assert "induction" in engine.ask("sum of the first squares").text


def test_no_votes_are_shown_where_the_source_has_none(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    found = engine.search("irrational $\\sqrt{2}$")
    assert [hit.votes for hit in found.hits[:1]] == [None]
    print_results(found, as_json=False)
    assert "votes" not in capsys.readouterr().out
    assert "score" not in "\n".join(show_thread(engine.content, found.hits[0].thread_id))


def test_a_query_that_names_a_note_finds_it_first_in_a_tiny_collection(tmp_path: Path) -> None:
    notes = {
        "a": "# What is a qubit?\n\nA two-level system.\n",
        "b": "# Difference between a qubit and a bit\n\nA qubit is not a bit: a qubit can be in superposition. What is measured is a bit.\n",
        "c": "# Entanglement\n\nTwo qubits that share a state. What is a qubit here? One half of a pair of qubits.\n",
        "d": "# Pythagorean theorem\n\nIn a right triangle $a^2+b^2=c^2$.\n",
        "e": "# Converse\n\nThe Pythagorean theorem has a converse; the Pythagorean theorem proves it. Pythagorean theorem!\n",
    }
    (tmp_path / "notes").mkdir()
    for name, text in notes.items():
        (tmp_path / "notes" / f"{name}.md").write_text(text)
    build([open_source(tmp_path / "notes", "")], tmp_path / "collection", jobs=1)
    with Collection.open(tmp_path / "collection") as collection:
        build_index(collection, tmp_path / "index")
    engine = Engine.open(tmp_path / "index")
    for query, note in (("what is a qubit", "a"), ("pythagorean theorem", "d"), ("entanglement", "c")):
        assert "".join(one.text for one in engine.search(query, k=1).hits[0].title).startswith(f"{note} › ")
