from __future__ import annotations

from pathlib import Path

import pytest

import porism
from porism.search.query import MAX_FORMULAS, read_query
from porism.store.records import Filter
from porism.text.typed.box import split_query


def kinds(text: str) -> list[tuple[str, str]]:
    return [(part.kind, part.source.strip()) for part in split_query(text) if part.source.strip()]


@pytest.mark.parametrize(
    "text",
    [r"why $x^2$ grows", r"why $$x^2$$ grows", r"why \(x^2\) grows", r"why \[x^2\] grows", "why x^2 grows"],
)
def test_every_delimiter_of_a_formula(text: str) -> None:
    assert kinds(text) == [("text", "why"), ("formula", "x^2"), ("text", "grows")]


def test_html_of_a_post() -> None:
    html = '<p>Let <span class="math-container" id="7">a&lt;b</span> &amp; more.</p>'
    assert kinds(html) == [("text", "Let"), ("formula", "a<b"), ("text", "& more.")]


def test_pasted_mathml() -> None:
    query = read_query("see <math><msup><mi>x</mi><mn>2</mn></msup></math>")
    assert len(query.formulas) == 1
    assert query.formulas[0].parsed.path == "mathml"


def test_formulas_are_distinct_and_have_a_field() -> None:
    query = read_query("about $x^2$", "<p>$x^2$ and $y$</p>", ("algebra",))
    assert [(one.parsed.latex, one.field) for one in query.formulas] == [("x^2", "title"), ("y", "body")]


def test_an_unpaired_dollar_gives_a_note() -> None:
    query = read_query("it costs $5")
    assert query.formulas == ()
    assert query.notes == ("a $ has no closing $, so the text after it is not read as a formula",)


def test_a_formula_without_delimiters_gives_a_note() -> None:
    assert read_query("a^2+b^2=c^2").notes == ("a^2+b^2=c^2 is read as a formula",)
    assert read_query("sqrt(2)").notes == ("sqrt(2) is read as the formula $\\sqrt{2}$",)


def test_wildcards_are_recognised() -> None:
    formula = read_query("$?x^2$").formulas[0]
    assert any(
        node.label.startswith("?") or "wild" in node.label.lower() or "?" in node.label
        for node in formula.parsed.layout.walk()
    )


def test_too_many_formulas_are_cut_with_a_note() -> None:
    query = read_query(" ".join(f"$x_{{{number}}}$" for number in range(MAX_FORMULAS + 5)))
    assert len(query.formulas) == MAX_FORMULAS
    assert query.notes[-1] == f"only the first {MAX_FORMULAS} of {MAX_FORMULAS + 5} formulas are searched"


@pytest.mark.parametrize("text", ["", " ", "$", "$$", "<", "<p", "\\(", "$\\frac{$", "\x00", "?" * 50])
def test_any_string_is_legal(text: str) -> None:
    query = read_query(text)
    assert query.empty or query.formulas or query.title.strip()


def test_an_empty_query() -> None:
    assert read_query("  ").empty
    assert not read_query("word").empty


@pytest.mark.parametrize(
    "text", ["$x^2$", "why $?a+1$ and $\\frac{1}{2}$", "<math><mi>x</mi></math>", "a^2+b^2=c^2", "words only"]
)
def test_queries_compare_by_value(text: str) -> None:
    read = read_query.__wrapped__  # not the cached result
    query, again = read(text, "body $y$", ("algebra",)), read(text, "body $y$", ("algebra",))
    assert query is not again
    assert query == again
    assert hash(query) == hash(again)
    assert query != read_query(text, "body $z$", ("algebra",))


def test_the_engine_recognises_a_repeated_query_with_a_formula(demo: Path) -> None:
    engine = porism.open(demo / "index")
    first = engine.rank(engine.read("right angles $p^2+q^2=r^2$"), "answers")
    assert engine.rank(engine.read("right angles $p^2+q^2=r^2$"), "answers") is first
    allow = Filter(years=(2010, 2020))
    filtered = engine.rank(engine.read("right angles $p^2+q^2=r^2$"), "answers", allow)
    assert engine.rank(engine.read("right angles $p^2+q^2=r^2$"), "answers", Filter(years=(2010, 2020))) is filtered


def test_an_environment_without_dollar_signs_is_one_formula() -> None:
    query = read_query(r"solve \begin{align} x &= 1 \\ y &= 2 \end{align} quickly")
    assert [one.parsed.latex for one in query.formulas] == [r"\begin{align} x &= 1 \\ y &= 2 \end{align}"]


def test_prices_are_words_as_in_posts() -> None:
    assert read_query("from $5 to $10 a month").formulas == ()
