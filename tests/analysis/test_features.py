"""Terms of a formula: sub-expressions that are equal at a canonical level have equal terms at this level."""

from __future__ import annotations

from porism.analysis.features import COMMUTATIVE, NORMALISED, RENAMED, WRITTEN, features, features_of_many
from porism.formula import parse


def parts(latex: str, level: str) -> set[str]:
    parsed = parse(latex)
    return {term for term in features(parsed.layout, parsed.operators).parts if term[0] == level}


def test_levels() -> None:
    assert parts("a+b", WRITTEN) == parts("a + b", WRITTEN)
    assert not parts("a+b", NORMALISED) & parts("b+a", NORMALISED)
    assert parts("a+b^2", COMMUTATIVE) == parts("b^2+a", COMMUTATIVE)
    assert parts(r"\frac{a}{b}", NORMALISED) == parts("a/b", NORMALISED)
    assert parts("x^2+y", RENAMED) == parts("u^2+v", RENAMED)
    assert not parts("x^2+y", RENAMED) & parts("u^3+v", RENAMED)


def test_a_sub_expression_shares_its_terms_with_the_whole() -> None:
    assert parts(r"\sqrt{x+1}", COMMUTATIVE) < parts(r"y=\frac{1}{\sqrt{1+x}}", COMMUTATIVE)


def test_path_terms_with_symbols_distinguish_symbols() -> None:
    one, other = features_of_many([(parsed.layout, parsed.operators) for parsed in (parse("x+1"), parse("y+1"))])
    shared = set(one.paths) & set(other.paths)
    assert 0 < len(shared) < len(set(one.paths))


def test_terms_contain_no_whitespace() -> None:
    parsed = parse(r"\text{if } x > 0 \begin{cases} a & b \\ c & d \end{cases}")
    found = features(parsed.layout, parsed.operators)
    assert not any(set(term) & set(" \t\n") for term in (*found.tuples, *found.paths, *found.parts))
