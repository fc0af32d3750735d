"""Terms of texts and formulas, and names of concepts."""

from __future__ import annotations

from porism.analysis.features import RENAMED
from porism.analysis.learned import find_names, log_likelihood_ratio
from porism.analysis.terms import SMALLEST, form_term, formula_terms, text_terms
from porism.formula import parse
from porism.text.words import FORMULA, WORD, stems, stems_of


def whole_form(terms: dict[str, list[str]]) -> int:
    """Return the hash of the whole formula at the renamed level; 0 for a small formula."""
    if len(terms["tuples"]) < SMALLEST:
        return 0
    return next((int(term[1:], 16) for term in terms["parts"] if term[0] == RENAMED), 0)


def test_words_are_stemmed_and_stop_words_dropped() -> None:
    assert text_terms("Proving the inequalities")["words"] == ["prove", "inequ"]


def test_no_pair_spans_a_formula() -> None:
    assert text_terms(f"right {FORMULA} triangle")["pairs"] == []
    assert text_terms("right triangle")["pairs"] == ["right_triangl"]


def test_each_stem_has_its_word() -> None:
    text = "Cauchy-Schwarz, l'Hôpital & 3 x2"
    assert stems_of(WORD.findall(text)) == stems(text) == ["cauchi", "schwarz", "l", "hopit", "3", "x2"]


def test_lone_surrogates_are_no_words() -> None:
    assert stems("\ud800word") == ["word"]


def test_names_end_in_a_head_noun() -> None:
    assert list(find_names("by Fermat's little theorem")) == [
        ("littl theorem", "little theorem"),
        ("fermat littl theorem", "fermat little theorem"),
    ]


def test_the_log_likelihood_ratio_of_chance_is_zero() -> None:
    assert log_likelihood_ratio(1, 10, 10, 100) == 0.0
    assert log_likelihood_ratio(5, 5, 5, 100) > log_likelihood_ratio(3, 5, 5, 100) > 0


def test_a_form_is_the_term_of_the_whole_up_to_renaming() -> None:
    terms = formula_terms(parse("a^2+b^2=c^2"))
    assert terms["parts"][1] == form_term(whole_form(terms))
    assert whole_form(terms) == whole_form(formula_terms(parse("x^2+y^2=z^2"))) != 0
    assert whole_form(formula_terms(parse("a+b"))) == 0
