"""The operator trees of Approach Zero: the examples say how the original reads a formula (observed on pya0 0.3.7)."""

from __future__ import annotations

import pytest

from porism.systems.approach0.grammar import OperatorNode, parse
from porism.systems.approach0.lexer import UnreadableFormula, tokenize


def shown(node: OperatorNode | None) -> str:
    """A tree in one line; a variable without scripts is its letter."""
    if node is None:
        return ""
    sign = "-" if node.negative else ""
    if node.node_class == "SUBSUP" and len(node.children) == 1 and node.children[0].node_class == "BASE":
        return sign + shown(node.children[0].children[0])
    name = node.node_class if node.children else node.symbol
    return sign + name + (f"({' '.join(map(shown, node.children))})" if node.children else "")


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        ("2ab+c", "ADD(TIMES(2 a b) c)"),
        ("a b/c d", "TIMES(FRAC(TIMES(a b) c) d)"),
        ("-ab", "ADD(-TIMES(a b))"),
        ("a-{b+c}", "ADD(a b c)"),
        ("x<y=z", "GTLS(x y z)"),
        (r"x \in y=z", "INNI(x GTLS(y z))"),
        ("a,b,c", "SEP(a SEP(b c))"),
        (r"a \to b,c", "ARROW(a SEP(b c))"),
        ("((a+b))", "GROUP(ADD(a b))"),
        ("a/(b c)", "FRAC(a TIMES(b c))"),
        ("|a|b", "TIMES(vert a vert b)"),
        (r"\left|a\right|", "VERTS(a)"),
        (r"\left.a\right)", "GROUP(a)"),
        ("x_1^2", "SUBSUP(BASE(x) SUBSCRIPT(1) SUPSCRIPT(2))"),
        ("x^23", "SUBSUP(BASE(x) SUPSCRIPT(23))"),
        ("(ab)^2", "SUBSUP(SUPSCRIPT(2) BASE(GROUP(TIMES(a b))))"),
        ("f''", "SUBSUP(BASE(f) SUPSCRIPT(prime) SUPSCRIPT(prime))"),
        ("2n!", "TIMES(2 FACT(n))"),
        (r"\sum_{i}^n i", "TIMES(SUM(SUBSCRIPT(i) SUPSCRIPT(n) BASE(sum)) i)"),
        ("sinx", "TIMES(sin x)"),
        (r"\frac12x", "TIMES(FRAC(1 2) x)"),
        (r"{n \choose k}", "BINOM(n k)"),
        (r"a=b \over c", "FRAC(GTLS(a b) c)"),
        (r"\sqrt[3]{x}", "ROOT(x 3)"),
        ("1.5", "FLOAT(1 5)"),
        (r"\mathfrak{sl}_2", "TIMES(fraktur:s SUBSUP(BASE(fraktur:l) SUBSCRIPT(2)))"),
        (r"\text{if } x", "TIMES(ast x)"),
        (r"x\overset{a}{=}b", "GTLS(x b)"),
        (r"\underbrace{ab}_{c} d", "TIMES(a b d)"),
        (r"a \mod b + c", "ADD(MODULAR(a b) c)"),
        (r"\begin{matrix} a & b \\ c-1 \end{matrix}", "TAB_ROW(TAB_COL(a b) ADD(c NEG(-1)))"),
        (r"\color{red}{x}\label{e}", "x"),
        ("a=", "GTLS(a)"),
        ("a \\not= b", "GTLS(a b)"),
        (r"\unknown x", "x"),
        ("", ""),
    ],
)
def test_a_formula_is_read_as_the_original_reads_it(latex: str, tree: str) -> None:
    assert shown(parse(latex)) == tree


@pytest.mark.parametrize(
    "latex", ["{}^2", "(a", "a)", "]a,b[", "a/", r"\frac{a}", "x^(a)", "'x", r"\text{a", r"\left| a"]
)
def test_a_formula_that_the_grammar_refuses(latex: str) -> None:
    with pytest.raises(UnreadableFormula):
        parse(latex)


def test_classes_and_symbols_of_tokens() -> None:
    found = [(token.node_class, token.symbol) for token in tokenize(r"x\leq\le 0\mathbb{R}99999")]
    assert found == [
        ("VAR", "x"),
        ("GTLS", "le"),
        ("GTLS", "le"),
        ("ZERO", "0"),
        ("VAR", "blackboard-bold:R"),
        ("NUM", "bignum"),
    ]
