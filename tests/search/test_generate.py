"""Answers written from passages: prompt, citations, marks, length; the passage where the model does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import porism
from endpoints import endpoint_server
from porism.search.display.results import Extract, HighlightedSegment, QuotedPost
from porism.search.engine import Engine
from porism.search.generation.answer_text import AnswerBasis, Writing, cited_text, generate_answer, stream_answer
from porism.search.generation.endpoint import Endpoint

PASSAGE = (HighlightedSegment("text", "Because "), HighlightedSegment("formula", "2q^2=p^2"))
TITLE = (HighlightedSegment("text", "Is the root of two rational?"),)
SOURCES = tuple(QuotedPost(number, 1, TITLE, PASSAGE) for number in (11, 12))
EXTRACT = Extract("Because $2q^2=p^2$.", PASSAGE, SOURCES[:1], 0.01)
BASIS = AnswerBasis("why is $\\sqrt2$ irrational?", EXTRACT, SOURCES)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with endpoint_server() as url:
        yield url


def at(server: str, behaviour: str, seconds: float = 5.0) -> Endpoint:
    return Endpoint(f"{server}/{behaviour}/v1/chat/completions", "tiny", seconds=seconds)


def test_the_model_reads_the_passages_and_its_sentences_have_citations(server: str) -> None:
    answer = generate_answer(at(server, "good"), BASIS)
    assert answer.generated
    assert answer.text == (
        "It is irrational, since $p^2=2q^2$ has no solution. [1] Both would be even. [2] This has no source."
    )
    assert [sentence.cited for sentence in answer.sentences] == [(1,), (2,), ()]
    assert [piece.kind for piece in answer.sentences[0].segments] == ["text", "formula", "text"]
    assert answer.sources == SOURCES


def test_passages_are_numbered_for_the_model() -> None:
    system, user = BASIS.messages()
    assert "cite" in system.content
    assert "[1] From “Is the root of two rational?”:\nBecause $2q^2=p^2$" in user.content
    assert "[2] From" in user.content
    assert user.content.endswith("Question: why is $\\sqrt2$ irrational?")


def test_a_citation_of_a_passage_that_was_not_given_is_removed_and_reported(server: str) -> None:
    answer = generate_answer(at(server, "unknown-citation"), BASIS)
    assert answer.text == "It is so. [1] And so."
    assert [sentence.unknown for sentence in answer.sentences] == [(77,), (99,)]
    assert answer.notes[-1].startswith("the model cited [77], [99], which it was not given")


def test_a_long_answer_is_cut_after_a_sentence(server: str) -> None:
    answer = generate_answer(at(server, "long"), BASIS)
    assert 1000 < len(answer.text) <= 1200
    assert answer.text.endswith("about $x^2$.")
    assert answer.notes[-1] == "the answer of the model was longer; it is cut after a sentence"


@pytest.mark.parametrize("behaviour", ["fail", "nonsense", "other-json", "empty", "redirect", "half-body", "hang"])
def test_without_an_answer_the_passage_remains(server: str, behaviour: str) -> None:
    endpoint = at(server, behaviour, 0.5 if behaviour == "hang" else 5)
    answer = generate_answer(endpoint, BASIS)
    assert (answer.text, answer.generated, answer.sources) == (EXTRACT.text, False, EXTRACT.sources)
    assert answer.notes[-1].startswith("the language model did not answer (")
    assert list(stream_answer(endpoint, BASIS))[-1].notes[-1].startswith("the language model did not answer (")  # type: ignore[union-attr]


def test_a_stream_gives_sentences_then_the_whole_answer(server: str) -> None:
    *writing, last = stream_answer(at(server, "good"), BASIS)
    whole = generate_answer(at(server, "good"), BASIS)
    sentences = [one.sentence for one in writing if isinstance(one, Writing) and one.sentence]
    assert tuple(sentences) == whole.sentences[: len(sentences)]
    assert len(sentences) == 2  # the last one ends with the stream
    assert isinstance(last, Extract)
    assert (last.text, last.sentences) == (whole.text, whole.sentences)


def test_half_an_answer_is_no_answer(server: str) -> None:
    *_, last = stream_answer(at(server, "half-stream"), BASIS)
    assert isinstance(last, Extract)
    assert not last.generated
    assert "the answer broke off before its end" in last.notes[-1]


def test_a_stream_of_a_long_answer_ends_early(server: str) -> None:
    *_, last = stream_answer(at(server, "long"), BASIS)
    assert isinstance(last, Extract)
    assert len(last.text) <= 1200


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("One [1]. Two. [2] Three [1, 2].", [(1,), (2,), (1, 2)]),
        ("An interval $[1,2]$ is no citation.", [()]),
        ("<think>One [1]. Two [2].</think>Three [2].", [(2,)]),
        ("<think>not yet", []),
    ],
)
def test_citations(text: str, cited: list[tuple[int, ...]]) -> None:
    assert [sentence.cited for sentence in cited_text(text, 2).sentences] == cited


def test_the_engine_passes_the_best_passages(demo: Path, server: str) -> None:
    engine: Engine = porism.open(demo / "index")
    engine.endpoint = at(server, "good")
    answer = engine.ask("why is $\\sqrt{2}$ irrational?")
    assert answer.generated
    assert len(answer.sources) == 5
    assert all(source.passage for source in answer.sources)
    assert not engine.ask("why is $\\sqrt{2}$ irrational?", generate=False).generated
