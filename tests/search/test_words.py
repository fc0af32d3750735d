from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import porism
from porism.analysis.learned import Vocabulary
from porism.corpus.post import Post
from porism.search.engine import Engine
from porism.search.reading.reader import synonyms_in, without_stop_phrases
from porism.store.embedded.learned import read_vocabulary
from porism.store.local import LocalSnapshot, TextMatcher
from porism.store.records import Hits, Search, StoredPost, TextQuery
from porism.text.segment import Segment, Text
from porism.text.typed.box import Box, read_box

MATHML = '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block"><mi>x</mi></math>'


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def vocabulary(tmp_path: Path, **counts: int) -> Vocabulary:
    (tmp_path / "vocabulary.tsv").write_text("".join(f"{word}\t{count}\n" for word, count in counts.items()), "utf-8")
    return read_vocabulary(tmp_path)


@pytest.mark.parametrize(
    ("word", "near"),
    [("feild", "field"), ("fild", "field"), ("fieeld", "field"), ("fiald", "field"), ("field", "field")],
)
def test_one_letter_inserted_deleted_replaced_or_exchanged(tmp_path: Path, word: str, near: str) -> None:
    found = vocabulary(tmp_path, field=9, group=8, fie=1).near(word, 1)
    assert [one.word for one in found] == [near]
    assert found[0].distance == (word != near)


def test_the_vocabulary_of_an_index_without_one_is_empty(tmp_path: Path) -> None:
    assert read_vocabulary(tmp_path).near("field", 2) == []
    assert Vocabulary().counts == {}


def test_the_index_has_a_vocabulary(engine: Engine) -> None:
    counts = engine.snapshot.learned.vocabulary.counts
    assert counts["triangle"] > 3
    assert list(counts) == sorted(counts)


def test_a_misspelt_word_is_corrected_and_the_reading_says_so(engine: Engine) -> None:
    wrong, right = engine.search("right trinagle", k=1), engine.search("right triangle", k=1)
    assert wrong.reading.corrected == "right triangle"
    assert wrong.hits[0].id == right.hits[0].id
    assert right.reading.corrected == ""
    assert "showing results for “right triangle” instead of “right trinagle”" in wrong.notes
    assert engine.search("right trinagle", k=1, verbatim=True).reading.corrected == ""


def test_unknown_words_are_reported(engine: Engine) -> None:
    results = engine.search("Beweis: $\\sqrt2$", k=1)
    assert results.reading.unknown_words == ("Beweis",)
    assert "no post contains “Beweis”; only the formulas are searched" in results.notes
    assert results.hits


def test_formulas_are_not_corrected(engine: Engine) -> None:
    assert engine.search("sqrt(2) trinagle").reading.corrected == "sqrt(2) triangle"


def test_a_typed_formula_can_be_searched_as_words(engine: Engine) -> None:
    reading = engine.search("sqrt(2) irrational", k=1).reading
    assert [(part.kind, part.latex or part.source.strip()) for part in reading.parts] == [
        ("formula", "\\sqrt{2}"),
        ("text", "irrational"),
    ]
    assert reading.has_typed_formulas
    assert not engine.search("sqrt(2) irrational", k=1, as_words=True).reading.has_typed_formulas


@pytest.mark.parametrize(
    ("typed", "box"),
    [
        ("prime numbers", Box("prime numbers")),
        ('the "4" and "2" of a formula', Box('the "4" and "2" of a formula')),
        ('"a $x$ b" and "by parts"', Box('"a $x$ b" and by parts', phrases=("by parts",))),
        (f'"{"long " * 50}" and "by parts"', Box(f'"{"long " * 50}" and by parts', phrases=("by parts",))),
        ('"axiom of choice" zorn', Box("axiom of choice zorn", phrases=("axiom of choice",))),
        ("prime -twin", Box("prime", excluded=("twin",))),
        ("integral tag:Calculus", Box("integral", tags=("calculus",))),
        ('limit user:"Ada L"', Box("limit", users=("Ada L",))),
        ("limit is:accepted after:2015 before:2018-03", Box("limit", accepted=True, first_year=2015, last_year=2018)),
        ("x^2 -sin x", Box("x^2 -sin x")),
        ("a -b", Box("a -b")),
        ("after:soon is:odd", Box("after:soon is:odd")),
        ("f: A -> B", Box("f: A -> B")),
        ("$a -beta$ x", Box("$a -beta$ x")),
        (f"{MATHML} limit", Box(f"{MATHML} limit")),
        (f'{MATHML} "by parts" {MATHML}', Box(f"{MATHML} by parts {MATHML}", phrases=("by parts",))),
    ],
)
def test_operators_of_the_box(typed: str, box: Box) -> None:
    assert read_box(typed) == box


def test_phrases_and_excluded_words_narrow_the_hits(engine: Engine) -> None:
    def texts(query: str) -> list[str]:
        stored = engine.snapshot.posts([hit.id for hit in engine.search(query, k=50).hits]).posts
        return [f"{one.question.title.plain()} {one.post.body.plain()}".lower() for one in stored]

    assert any("square" in text for text in texts("irrational"))
    assert texts("irrational -square")
    assert not any(" square " in text for text in texts("irrational -square"))
    assert texts('"right triangle"')
    assert all("right triangle" in text for text in texts('"right triangle"'))


def test_the_next_page_of_a_phrase_reads_its_hits_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[TextQuery] = []
    search = LocalSnapshot.search

    def counted(self: LocalSnapshot, searches: Sequence[Search]) -> list[Hits]:
        calls.extend(one for one in searches if isinstance(one, TextQuery))
        return search(self, searches)

    monkeypatch.setattr(LocalSnapshot, "search", counted)
    first = engine.search('"right angle" in a circle', k=1)
    second = engine.search('"right angle" in a circle', k=1, offset=1)
    assert first.total == second.total
    assert len(calls) == 1
    engine.search('"right triangle" in a circle', k=1)
    assert len(calls) == 2


def test_a_phrase_is_found_across_inline_tags(engine: Engine) -> None:
    title, body = (
        Text.of([Segment("text", "Roots")]),
        Text.of(
            [
                Segment("text", "the n"),
                Segment("tag", "<sup>"),
                Segment("text", "TH"),
                Segment("tag", "</sup>"),
                Segment("text", " root"),
            ]
        ),
    )
    question = Post(1, "question", 1, body, title)
    stored = [StoredPost(question, question, False)]

    def total(typed: str) -> int:
        box = read_box(typed)
        return sum(TextMatcher(TextQuery([1], box.phrases, box.excluded)).matching(stored, engine.content))

    assert total('"nth root"') == 1
    assert total('"roots the nth"') == 1
    assert total('"root nth"') == 0
    assert total('"nth root" algebra -roots') == 0
    assert total('"nth root" algebra -cubic') == 1


def test_operators_filter_as_arguments_do(engine: Engine) -> None:
    typed = engine.search("integral tag:calculus is:accepted after:2012", k=20)
    given = engine.search("integral", k=20, tags=("calculus",), accepted=True, years=(2012, 9999))
    assert [hit.id for hit in typed.hits] == [hit.id for hit in given.hits]
    assert typed.reading.operators == ("tag:calculus", "is:accepted", "after:2012")


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("please help, how do I integrate by parts", "integrate by parts"),
        ("can someone explain the chain rule", "the chain rule"),
        ("how to", "how to"),
        ("help", "help"),
        ("?a^2-?b^2", "?a^2-?b^2"),
        ("what is n!", "n!"),
        ("what is (2n)!!?", "(2n)!!"),
        ("why does it converge?!!", "why does it converge"),
    ],
)
def test_stop_phrases(typed: str, left: str) -> None:
    assert without_stop_phrases(typed) == left


def test_a_word_that_no_post_contains_is_not_a_stop_word(engine: Engine) -> None:
    reading = engine.search("monty hwhen").reading
    assert "when" not in reading.corrected


def test_a_single_letter_that_is_a_stop_word_is_a_formula(engine: Engine) -> None:
    assert [(part.kind, part.latex) for part in engine.search("what is i").reading.parts] == [("formula", "i")]


@pytest.mark.parametrize("typed", ["доказать что √2 иррационально", "√2 是无理数"])
def test_words_of_other_scripts_are_reported_and_formulas_found(engine: Engine, typed: str) -> None:
    found = engine.search(typed)
    assert [part.latex for part in found.reading.parts if part.kind == "formula"] == ["\\sqrt{2}"]
    assert found.hits
    assert any("no post contains" in note for note in found.reading.notes)


def test_synonyms() -> None:
    assert synonyms_in("eigen value of an abelian group") == ("eigenvalue", "commutative")
    assert synonyms_in("prob of 2 heads") == ("probability", "two")
    assert synonyms_in("probability") == ()
