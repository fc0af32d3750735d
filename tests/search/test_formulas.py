"""Formula search: modes, wildcards, arbitrary strings, order, explanations."""

from __future__ import annotations

from pathlib import Path

import pytest

import porism
from formula_indexes import FormulaIndex
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.errors import PorismError
from porism.formula import parse
from porism.formula.match.matcher import match
from porism.records import Binding
from porism.search.formulas.features import FEATURES
from porism.search.formulas.searcher import Mode

LATEX = [
    "a>b",
    "b<a",
    "a<b",
    r"\sqrt{x^2+1}",
    r"y=\frac{1}{\sqrt{1+x^2}}",
    r"\sqrt{u^2+1}",
    r"\frac{n}{n+1}",
    r"\frac{n+2}{(n+2)+1}",
    r"\frac{n}{m+1}",
    r"\sum_{k=0}^n k",
    r"\sum_{k=1}^n k",
    r"\sum_{j=0}^n j",
    r"\prod_{k=0}^n k",
    "x+y+z=1",
    "x",
    r"\begin{oops",
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FormulaIndex:
    return FormulaIndex.make(tmp_path_factory.mktemp("search"), LATEX)


def found(index: FormulaIndex, query: str, mode: Mode = "similar", k: int = 100) -> list[str]:
    return [index.latex(hit.visual_id) for hit in index.searcher.search(query, k, mode)]


@pytest.mark.parametrize("latex", LATEX)
def test_a_formula_finds_itself_first(index: FormulaIndex, latex: str) -> None:
    assert found(index, latex)[0] == latex


def test_exact_ignores_notation_and_order_of_operands(index: FormulaIndex) -> None:
    assert found(index, "a>b", "exact") == ["a>b", "b<a"]
    assert found(index, "x", "exact") == ["x"]
    assert found(index, "q^9", "exact") == []


def test_subformula_ranks_the_strictest_level_first(index: FormulaIndex) -> None:
    hits = found(index, r"\sqrt{1+x^2}", "subformula")
    assert hits == [r"y=\frac{1}{\sqrt{1+x^2}}", r"\sqrt{x^2+1}", r"\sqrt{u^2+1}"]


def test_some_operands_of_a_sum_are_a_subformula(index: FormulaIndex) -> None:
    assert "x+y+z=1" in found(index, "x+z", "subformula")


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> FormulaIndex:
    """Formulas in which a query is a run of some operands, ranked below many more similar ones."""
    crowd = [f"a=b_{{{number}}}" for number in range(400)] + [f"a+b^{{{number}}}" for number in range(2, 400)]
    rare = [
        r"\frac{s}{t}+u=v=\int_0^1 q(r)\,dr+\sum_k w_k+\prod_k z_k",
        r"\sin(gh+m+\sqrt{7})+\cos\theta+\log\zeta+g",
        "p<q<r",
        "p<q\\le s",
    ]
    return FormulaIndex.make(tmp_path_factory.mktemp("longer"), [*crowd, *rare, "a=b=c", "a+b+c", "xyz"])


@pytest.mark.parametrize(
    ("query", "inside"),
    [
        ("a=b", "a=b=c"),
        ("b=c", "a=b=c"),
        ("a+b", "a+b+c"),
        ("xy", "xyz"),
        ("yz", "xyz"),
        (r"v=\frac{s}{t}+u", r"\frac{s}{t}+u=v=\int_0^1 q(r)\,dr+\sum_k w_k+\prod_k z_k"),
        ("v=?x", r"\frac{s}{t}+u=v=\int_0^1 q(r)\,dr+\sum_k w_k+\prod_k z_k"),
        (r"gh+\sqrt{7}", r"\sin(gh+m+\sqrt{7})+\cos\theta+\log\zeta+g"),
        ("q<r", "p<q<r"),
        ("p<q", "p<q\\le s"),
    ],
)
def test_some_operands_of_a_chain_a_sum_or_a_product_are_a_subformula(
    longer: FormulaIndex, query: str, inside: str
) -> None:
    assert match(parse(query, wildcards=True).operators, parse(inside).operators) is not None
    assert inside in found(longer, query, "subformula", 1000)


def test_a_wildcard_has_one_value(index: FormulaIndex) -> None:
    hits = found(index, r"\frac{?a}{?a+1}", "subformula")
    assert hits[0] == r"\frac{n}{n+1}"
    assert r"\frac{n}{m+1}" not in hits
    assert found(index, r"\frac{?a}{?a+1}")[0] == r"\frac{n}{n+1}"


def test_diverse_ranks_one_formula_of_each_shape_first(index: FormulaIndex) -> None:
    hits = found(index, r"\sum_{k=0}^n k", "diverse")
    shapes = [hits.index(text) for text in (r"\sum_{k=0}^n k", r"\prod_{k=0}^n k")]
    assert max(shapes) < hits.index(r"\sum_{j=0}^n j")
    scores = [hit.score for hit in index.searcher.search(r"\sum_{k=0}^n k", 100, "diverse")]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "query", ["", " ", "\\", "{{{", r"\frac", "$", "?", "?x", "\x00", "a" * 3000, "∑∑∑", r"\qvar{x}"]
)
@pytest.mark.parametrize("mode", ["similar", "exact", "subformula", "diverse"])
def test_any_string_is_a_query(index: FormulaIndex, query: str, mode: Mode) -> None:
    assert len(index.searcher.search(query, 5, mode)) <= 5


def test_at_most_k_hits(index: FormulaIndex) -> None:
    assert len(index.searcher.search("x", 3)) == 3
    assert len(index.searcher.search("x+y", 1000)) == index.searcher.size
    assert index.searcher.search("x+y", 2**70) == index.searcher.search("x+y", 1000)
    assert len(index.searcher.most_similar([parse("x+y")], 2**70)[0].scores) == index.searcher.size


def test_contributions_sum_to_the_score_and_scores_fall(index: FormulaIndex) -> None:
    hits = index.searcher.search(r"\sum_{k=0}^n k")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert len(hit.contributions) == len(FEATURES)
        assert hit.score == pytest.approx(sum(hit.contributions))


def test_an_unknown_mode_is_an_error(index: FormulaIndex) -> None:
    with pytest.raises(PorismError) as caught:
        index.searcher.search("x", 5, "fuzzy")  # type: ignore[arg-type]
    assert str(caught.value) == (
        'formula search: mode cannot be "fuzzy"\n  fix: pass one of "similar", "exact", "subformula", "diverse"'
    )


def test_an_index_without_formulas(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "words.md").write_text("# Words\n\nThis note has no formula.\n")
    collection = build([open_source(tmp_path / "notes", "")], tmp_path / "collection", jobs=1)
    searcher = FormulaIndex(collection, tmp_path / "index").searcher
    assert searcher.search("x") == []
    assert [len(found.visual_ids) for found in searcher.most_similar([parse("x"), parse("y")], 5)] == [0, 0]


def test_equal_indexes_give_equal_hits(index: FormulaIndex, tmp_path: Path) -> None:
    again = FormulaIndex.make(tmp_path, LATEX)
    for query in LATEX:
        assert index.searcher.search(query) == again.searcher.search(query)


def test_explanation_of_a_renamed_formula(index: FormulaIndex) -> None:
    number = index.visual_id(r"\sqrt{u^2+1}")
    why = index.searcher.explain(r"\sqrt{x^2+1}", number)
    score = next(hit.score for hit in index.searcher.search(r"\sqrt{x^2+1}") if hit.visual_id == number)
    assert why.value == pytest.approx(score)
    assert sum(part.value for part in why.parts) == pytest.approx(why.value)
    assert why.reason == "the query occurs with other variable names"
    assert why.bindings == (Binding("x", "u"),)
    assert len(why.query_nodes) == len(why.item_nodes) > 0


def test_explanation_of_a_wildcard(index: FormulaIndex) -> None:
    why = index.searcher.explain(r"\frac{?a}{?a+1}", index.visual_id(r"\frac{n}{n+1}"))
    assert Binding("?a", "n") in why.bindings


def test_the_value_of_a_wildcard_is_written_as_a_reader_would_write_it(index: FormulaIndex) -> None:
    why = index.searcher.explain(r"\frac{n}{?b}", index.visual_id(r"\frac{n}{n+1}"))
    assert Binding("?b", "n + 1") in why.bindings


def test_explanation_of_a_formula_that_is_only_similar(index: FormulaIndex) -> None:
    why = index.searcher.explain(r"\sum_{k=0}^n k", index.visual_id(r"\sum_{k=1}^n k"))
    assert why.reason == "6 of 6 symbols match in order"
    elements = parse(r"\sum_{k=1}^n k").mathml.count("<") // 2
    assert 0 < len(set(why.item_nodes)) <= elements


def test_explaining_an_unknown_formula(index: FormulaIndex) -> None:
    with pytest.raises(PorismError, match="formula 77777 is not a result of this query"):
        index.searcher.explain("x", 77777)


@pytest.mark.parametrize("mode", ["similar", "exact", "subformula", "diverse"])
def test_a_page_is_a_slice_of_all_hits(index: FormulaIndex, mode: Mode) -> None:
    whole = index.searcher.search(r"\sum_{k=0}^n ?x", 100, mode)
    page = index.searcher.page(r"\sum_{k=0}^n ?x", 1, 3, mode)
    assert page[:3] == (whole[1:4], len(whole), 0)
    assert page.latex() == [index.latex(hit.visual_id) for hit in page.hits]
    beyond = index.searcher.page(r"\sum_{k=0}^n ?x", 200, 3, mode)
    assert (*beyond[:3], beyond.latex()) == ([], len(whole), 0, [])


def test_mathml_and_latex_of_one_formula_find_the_same(demo: Path) -> None:
    engine = porism.open(demo / "index")
    mathml = engine.formulas(parse("a^2+b^2=c^2").mathml, k=5)
    latex = engine.formulas("a^2+b^2=c^2", k=5)
    assert mathml.hits == latex.hits
    assert mathml.notes == ()
    found = engine.search(parse("a^2+b^2=c^2").mathml, k=5).hits
    assert [hit.id for hit in found] == [hit.id for hit in engine.search("$a^2+b^2=c^2$", k=5).hits]
