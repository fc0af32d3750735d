"""Layout trees: golden files by construct, the same tree whatever converter wrote the MathML, the Tangent format."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.formula import Node, elements_of, from_tangent, parse, parse_mathml, row_of, tangent
from porism.formula.layout import build
from porism.formula.plaintext import readable

GOLDEN = Path(__file__).parent / "golden"


def golden_cases() -> list[tuple[str, list[str]]]:
    cases: list[tuple[str, list[str]]] = []
    for path in sorted(GOLDEN.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("    "):
                cases[-1][1].append(line[4:])
            else:
                cases.append((line, []))
    return cases


@pytest.mark.parametrize(("latex", "lines"), golden_cases())
def test_golden(latex: str, lines: list[str]) -> None:
    """Each case: the LaTeX, the layout tree in the Tangent format, one line of Unicode, and the repairs if any."""
    parsed = parse(latex)
    found = [tangent(parsed.layout), readable(parsed.layout)]
    if parsed.repairs:
        found.append("repairs: " + ", ".join(parsed.repairs))
    assert found == lines


@pytest.mark.parametrize(
    ("latex", "mathml"),
    [
        (
            "f(x)",
            "<mrow><mi>f</mi><mo>⁢</mo><mrow><mo stretchy='false'>(</mo><mi>x</mi><mo stretchy='false'>)</mo></mrow></mrow>",
        ),
        ("(a)^2", "<msup><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow><mn>2</mn></msup>"),
        ("|x|^p", "<msup><mrow><mo>|</mo><mi>x</mi><mo>|</mo></mrow><mi>p</mi></msup>"),
        ("-1", "<mrow><mo>-</mo><mn>1</mn></mrow>"),
        (r"\sum_{k}^n k", "<mrow><msubsup><mo>∑</mo><mi>k</mi><mi>n</mi></msubsup><mi>k</mi></mrow>"),
        (r"\lim_{n}a", "<mrow><munder><mo>lim</mo><mi>n</mi></munder><mo>⁡</mo><mi>a</mi></mrow>"),
        (r"\mathbb{R}", "<mi>ℝ</mi>"),
        ("x", "<mi>𝑥</mi>"),
        (r"\mathcal{A}", "<mi>𝒜\ufe00</mi>"),
        (r"\int dx", "<mrow><mo>∫</mo><mrow><mo rspace='0pt'>𝑑</mo><mi>x</mi></mrow></mrow>"),
        (r"a,\ldots", "<mrow><mi>a</mi><mo>,</mo><mi mathvariant='normal'>…</mi></mrow>"),
        (r"f''", "<msup><mi>f</mi><mo>′′</mo></msup>"),
        (r"{}^nC", "<mmultiscripts><mi>C</mi><mprescripts/><none/><mi>n</mi></mmultiscripts>"),
        (r"a\gt b", "<mrow><mi>a</mi><merror><mtext>\\gt</mtext></merror><mi>b</mi></mrow>"),
        (r"\mathbb R", "<mrow><merror><mtext>\\mathbb</mtext></merror><mi>R</mi></mrow>"),
        ("a<b", "<mrow><mi>a</mi><mo>&amp;</mo><mo>⁢</mo><mi>l</mi><mo>⁢</mo><mi>t</mi><mo>;</mo><mi>b</mi></mrow>"),
        ("||x||", "<mrow><mo>||</mo><mi>x</mi><mo>||</mo></mrow>"),
        (
            r"\begin{cases}1\\0\end{cases}",
            "<mrow><mo>{</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd/></mtr><mtr><mtd><mn>0</mn></mtd></mtr></mtable></mrow>",
        ),
        (r"\frac{a}{b}", "<mstyle displaystyle='true'><mfrac><mi>a</mi><mi>b</mi></mfrac></mstyle>"),
        ("(a,b)", "<mfenced><mi>a</mi><mi>b</mi></mfenced>"),
        (
            r"x=1",
            "<semantics><mrow><mi>x</mi><mo>=</mo><mn>1</mn></mrow><annotation encoding='application/x-tex'>x=1</annotation></semantics>",
        ),
    ],
)
def test_one_tree_whatever_converter_wrote_the_mathml(latex: str, mathml: str) -> None:
    given = parse_mathml(f'<math xmlns="http://www.w3.org/1998/Math/MathML" alttext="x">{mathml}</math>')
    assert tangent(given.layout) == tangent(parse(latex).layout)


def test_a_multiscript_of_nothing_but_empty_bases_is_no_script() -> None:
    empty = "<mmultiscripts><mrow/></mmultiscripts>"
    scripts = f"<mmultiscripts><mi>x</mi><mrow>{empty}{empty}</mrow><mi>y</mi></mmultiscripts>"
    assert tangent(parse_mathml(f"<math>{scripts}</math>").layout) == tangent(parse("x^y").layout)


def test_many_primes_are_one_symbol() -> None:
    primes = parse_mathml(f"<math><mrow><mi>f</mi>{'<mo>′</mo>' * 5000}</mrow></math>").layout
    assert [node.label for node in row_of(primes)] == ["V!f", "′" * 5000]


def test_rows_and_elements() -> None:
    layout = parse("f(a,b)").layout
    assert [node.label for node in row_of(layout)] == ["V!f", "M!()1x2"]
    assert [node.label for node in elements_of(row_of(layout)[1])] == ["V!a", "V!b"]


@pytest.mark.parametrize("text", ["", "[", "[x", "x]", "[V!x]]", "[V!x,z[V!y]]", "[a][b]", "[V!x,"])
def test_a_text_that_is_not_a_tree_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a layout tree"):
        from_tangent(text)


def test_marks_of_the_notation_are_escaped() -> None:
    node = Node("a,b[c]?", [Node("?x")], "n")
    assert tangent(node) == "[a&comma;b&lsqb;c&rsqb;&quest;[?x]]"
    assert from_tangent(tangent(node)) == node


PARTS = ["<mi>", "x", "</mi>", "<mo>", "</mo>", "<mrow>", "</mrow>", "<mspace/>", "<", ">", "<mi ", "/>", ' a="1>2"', "<!--", "<1>", "&lt;", " ", "<mtext>", "</mtext >", "</", "/", "mi"]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_tags_are_read_as_the_pattern_reads_them(parts: list[str]) -> None:
    text = "".join(parts)
    expected = [build._make_piece(*found) for found in build._scan(text)]
    names = ("kind", "name", "attributes", "labels")
    found, wanted = (
        [[getattr(piece, name) for name in names] for piece in made] for made in (build._pieces_of(text), expected)
    )
    assert found == wanted
