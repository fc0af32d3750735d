"""Small and plain collections are the first thing a person tries: no post, one, two or three; no formula, no word, one
tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.search.engine import Engine
from porism.store.embedded.build import build_index

NOTES = {
    "one note": {"a.md": "# Primes\n\nThere are many primes.\n"},
    "two notes": {"a.md": "# Primes\n\nThere are many primes.\n", "b.md": "# Sums\n\nA sum of squares.\n"},
    "three plain notes": {name: f"# Note {name}\n\nSome words about {name}.\n" for name in ("a.md", "b.md", "c.md")},
    "three times the same": dict.fromkeys(("a.md", "b.md", "c.md"), "# Same\n\nThe same words.\n"),
    "formulas alone": {"a.md": "$x^2$\n", "b.md": "$y^2+1$\n", "c.md": "$\\sqrt{2}$\n"},
    "one formula": {"a.md": "# A\n\n$a^2+b^2=c^2$\n", "b.md": "# B\n\nwords\n"},
    "stop words alone": {"a.md": "# The\n\nof and the\n", "b.md": "# And\n\nthe of\n"},
}
QUERIES = ("", "primes", "words", "$x^2$", "sum of $a^2+b^2$", "1", "\\frac{", "zzz")


def open_engine(folder: Path, source: Path) -> Engine:
    build([open_source(source, "")], folder / "collection", jobs=1)
    with Collection.open(folder / "collection") as collection:
        build_index(collection, folder / "index")
    return Engine.open(folder / "index")


def search_everything(engine: Engine) -> None:
    for query in QUERIES:
        for kind in ("answers", "questions"):
            found = engine.search(query, kind=kind)  # type: ignore[arg-type]
            for hit in found.hits:
                assert engine.explain(query, hit.id).value == pytest.approx(hit.score, rel=1e-4)
            assert engine.search(query, kind=kind, tags=("absent",)).hits == ()  # type: ignore[arg-type]
        engine.ask(query)
        engine.formulas(query or "x")


@pytest.mark.parametrize("name", list(NOTES))
def test_notes_are_indexed_and_searched(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes").mkdir()
    for file, text in NOTES[name].items():
        (tmp_path / "notes" / file).write_text(text, "utf-8")
    engine = open_engine(tmp_path, tmp_path / "notes")
    assert engine.content.count("posts") == len(NOTES[name])
    search_everything(engine)


def test_a_search_without_hits_says_what_to_try(tmp_path: Path) -> None:
    for name, text in (("plain", "Words."), ("formulas", "$x^2$")):
        (tmp_path / name / "notes").mkdir(parents=True)
        (tmp_path / name / "notes" / "a.md").write_text(f"# A\n\n{text}\n", "utf-8")
    plain, formulas = (open_engine(tmp_path / name, tmp_path / name / "notes") for name in ("plain", "formulas"))
    wildcard = "replace a part of the formula by a wildcard, for example ?x"
    assert plain.formulas("x^2").suggestions == ("no post of this index contains a formula: search for words",)
    assert formulas.formulas("\\int", mode="exact").suggestions == ("search for similar formulas", wildcard)


def dump(folder: Path, rows: str) -> Path:
    folder.mkdir()
    (folder / "Posts.xml").write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{rows}</posts>\n', "utf-8")
    return folder


QUESTION = '  <row Id="1" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Score="1" Title="Why?" Body="&lt;p&gt;words&lt;/p&gt;" Tags="&lt;algebra&gt;" OwnerUserId="1" />\n'
ANSWER = '  <row Id="2" PostTypeId="2" ParentId="1" CreationDate="2020-01-02T00:00:00" Score="1" Body="&lt;p&gt;words $x^2$&lt;/p&gt;" OwnerUserId="1" />\n'


@pytest.mark.parametrize("rows", [QUESTION, QUESTION + ANSWER], ids=["a question", "a question and an answer"])
def test_small_dumps_are_indexed_and_searched(tmp_path: Path, rows: str) -> None:
    engine = open_engine(tmp_path, dump(tmp_path / "dump", rows))
    search_everything(engine)
    assert engine.search("words", tags=("algebra",), kind="questions").hits


def test_a_dump_without_posts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="there is nothing to build: no post and no formula is left"):
        open_engine(tmp_path, dump(tmp_path / "dump", ""))
