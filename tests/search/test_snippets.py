"""Snippets and highlights: their shortcuts show the same as the plain definitions."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import porism
from porism.analysis.terms import formula_terms
from porism.formula import Parsed, parse
from porism.formula.match.matcher import find
from porism.search.display.highlight import MIN_SHARE, Highlighter, highlight, query_pattern
from porism.search.display.post_formulas import SharedParts, parsed_formula
from porism.search.display.post_formulas import formula_terms as terms_of_query
from porism.search.display.snippet import (
    QueryMatches,
    SnippetBuilder,
    joined_segments,
    split_pieces,
    with_unmarked,
)
from porism.search.engine import Engine
from porism.search.query import read_query
from porism.search.retrieval.context import QueryContext
from porism.text.segment import Segment, Text, expression_ids, prose

QUERIES = (
    "$a^2+b^2=c^2$",
    r"$\sqrt{2}$",
    r"$\sum_{k=1}^n k$",
    "$x^2$",
    "$n+1$",
    "$?x^2+y$",
    r"$\frac{1}{n^2}$",
    "$a<b$",
)


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def shared_parts(engine: Engine, formulas: list[Parsed]) -> SharedParts:
    """The sub-expressions of formulas of a query, and which of them the expressions of all posts have."""
    parts = QueryMatches(QueryContext(read_query(" ".join(QUERIES)), engine.index).terms, formulas).parts
    parts.use(engine.snapshot.posts([post.id for post in engine.content.posts()], parts.terms).parts)
    return parts


def plainly_split(text: Text) -> list[Segment]:
    """Split a text at sentence ends, segment by segment."""
    found: list[Segment] = []
    for segment in prose(with_unmarked(text)):
        if segment.is_formula:
            found.append(segment)
            continue
        ends = [match.end() for match in re.finditer(r"[.?!:;]\s+|\n+", segment.text)]
        cuts = [0, *ends, len(segment.text)]
        pieces = [segment.text[start:end] for start, end in pairwise(cuts)]
        found += [Segment("text", piece.replace("\n", " ")) for piece in pieces if piece]
    return found


def test_pieces_are_the_sentences_and_formulas(engine: Engine) -> None:
    for post in engine.content.posts():
        assert [one for piece in split_pieces(post.body) for one in joined_segments([piece])] == plainly_split(
            post.body
        )


@pytest.mark.parametrize(
    "segments",
    [
        [],
        [Segment("text", "One. Two! Three")],
        [Segment("text", "no.end"), Segment("tag", "<em>"), Segment("text", "here. "), Segment("tag", "</em>")],
        [Segment("text", "Let."), Segment("tag", "</p>"), Segment("tag", "<p>"), Segment("text", "Next")],
        [Segment("formula", "a.b", 1, 1), Segment("formula", "c; d", 2, 2, True), Segment("text", ". End")],
        [Segment("text", "stop."), Segment("formula", "x", 1, 1), Segment("tag", "<br>"), Segment("tag", "<b>")],
        [Segment("text", "by \\begin{align} a&=b. \\end{align} done: $y^2$; yes")],
        [Segment("text", "\n\n wide \t: \n space?  \n")],
    ],
)
def test_pieces_of_small_texts(segments: list[Segment]) -> None:
    text = Text.of(segments)
    assert [one for piece in split_pieces(text) for one in joined_segments([piece])] == plainly_split(text)


def test_neighbouring_sentences_are_one_text() -> None:
    text = Text.of([Segment("text", "One. Two:\nthree "), Segment("formula", "x", 1, 1), Segment("text", ". Four")])
    assert joined_segments(split_pieces(text)) == [
        Segment("text", "One. Two: three "),
        Segment("formula", "x", 1, 1),
        Segment("text", ". Four"),
    ]
    assert joined_segments([]) == []


def test_expression_ids_are_those_of_the_formulas(engine: Engine) -> None:
    for post in engine.content.posts("question"):
        assert set(expression_ids(post.body.stored)) == {formula.expression_id for formula in post.body.formulas}


@pytest.mark.parametrize("query", QUERIES)
def test_needed_parts_rule_out_no_occurrence(engine: Engine, query: str) -> None:
    formula = parse(query.strip("$"), wildcards=True)
    pattern = query_pattern(formula, engine.index.formulas.symbols)  # type: ignore[arg-type]
    parts = shared_parts(engine, [formula])
    occurrences = ruled_out = 0
    for expression in engine.content.expressions():
        impossible = parts.needed[0].impossible_levels(parts.positions(expression.id))
        ruled_out += len(impossible)
        target = parsed_formula(expression.latex).operators
        found = find(pattern.operators, target).match
        if found is not None:
            occurrences += 1
            assert found.level not in impossible, expression.latex
            assert find(pattern.operators, target, skip=impossible).match == found
    assert occurrences or ruled_out


@pytest.mark.parametrize("query", QUERIES)
def test_alignments_reach_at_most_their_bound(engine: Engine, query: str) -> None:
    pattern = query_pattern(parse(query.strip("$"), wildcards=True), engine.index.formulas.symbols)  # type: ignore[arg-type]
    for expression in list(engine.content.expressions())[::7]:
        item = parsed_formula(expression.latex)
        assert pattern.share(pattern.align(item)) <= pattern.most_aligned(item) or len(item.layout.labels) > 80


@pytest.mark.parametrize("latex", ["a^2+b^2=c^2", "x", "", r"\frac{1}{n^2}", "b+a", r"\bad{", "?x+1"])
def test_the_terms_of_a_whole_formula_are_the_first_of_its_parts(latex: str) -> None:
    formula = parse(latex, wildcards=True)
    assert list(terms_of_query(formula).whole) == formula_terms(formula)["parts"][:2]


def test_the_best_match_is_that_of_all_comparisons(engine: Engine) -> None:
    symbols = engine.index.formulas.symbols
    formulas = [parse(query.strip("$"), wildcards=True) for query in QUERIES]
    highlighter = Highlighter(formulas, symbols, len(formulas), shared_parts(engine, formulas))
    patterns = [query_pattern(formula, symbols) for formula in formulas]  # type: ignore[arg-type]
    for question in engine.content.posts("question"):
        for segment in question.body.formulas:
            item = parsed_formula(segment.text)
            matches = [highlight(pattern, item) for pattern in patterns]
            best = max(matches, key=lambda match: (match.share, len(match.item_nodes)))
            assert highlighter.best_nodes(segment, range(len(formulas))) == best.item_nodes
            assert best.share == 0 or best.share >= MIN_SHARE


def test_the_most_similar_formula_is_the_first_with_the_largest_share(engine: Engine) -> None:
    symbols = engine.index.formulas.symbols
    formulas = [parse(query.strip("$"), wildcards=True) for query in QUERIES]
    highlighter = Highlighter(formulas, symbols, 1, shared_parts(engine, formulas))
    for post in list(engine.content.posts())[::3]:
        for number, formula in enumerate(formulas):
            pattern = query_pattern(formula, symbols)  # type: ignore[arg-type]
            shares = [highlight(pattern, parsed_formula(segment.text)).share for segment in post.body.formulas]
            best = highlighter.most_similar(number, post.body.formulas)
            expected = post.body.formulas[shares.index(max(shares))] if any(shares) else None
            assert best == expected


def test_words_match_by_their_stems_also_with_punctuation(engine: Engine) -> None:
    builder: SnippetBuilder = engine.highlights("primes numbers", ())
    shown = builder.words("The (prime)-number, numbering non-prime sets.")
    assert [segment.text for segment in shown if segment.highlighted] == ["prime", "number", "numbering", "prime"]
    assert "".join(segment.text for segment in shown) == "The (prime)-number, numbering non-prime sets."


def test_a_text_without_matches_is_one_segment(engine: Engine) -> None:
    assert len(engine.highlights("prime", ()).words("nothing of the kind, is it?")) == 1
