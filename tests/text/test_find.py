"""Finding formulas, our way and the lab's way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.text.find import find_formulas, lab_formulas
from porism.text.read import PLACEHOLDER, without_placeholders

SPAN = '<span class="math-container">'


def shape(text: str) -> str:
    """Return the text with {n} in place of formula n."""
    return PLACEHOLDER.sub(lambda match: f"{{{match[1]}}}", text)


def test_lab_numbers_by_class_then_from_left_to_right() -> None:
    text = f"$e$ $$d$$ {SPAN}c</span> {SPAN}$b$</span> {SPAN}$$a$$</span> $e2$"
    found = lab_formulas(text)
    assert found.latex == ("a", "b", "c", "d", "e", "e2")
    assert shape(found.text) == "{4} {3} {2} {1} {0} {5}"


def test_formulas_are_numbered_in_the_same_order() -> None:
    text = f"$e$ $$d$$ {SPAN}c</span> {SPAN}$b$</span> {SPAN}$$a$$</span> \\(g\\) \\[f\\] $e2$"
    assert find_formulas(text, "html").latex == ("a", "b", "c", "d", "e", "e2", "f", "g")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no formula, 5$", ()),
        (f"{SPAN}\\begin{{align}}a\\end{{align}}</span>", ()),  # fewer than two dollar signs: the lab's guard
        ("$5 and $6", ("5 and ",)),
        ("<code>$x$</code>", ("x",)),
        (r"costs \$5 or \$6", ("5 or \\",)),
        ("$a\nb$", ("a b",)),
        ("$a &lt; b$", ("a < b",)),
        (r"\(a\) and $b$", ("b",)),
        ("$$$$", ("$",)),  # at least one character inside: the last pattern takes the second sign
    ],
)
def test_lab_formulas(text: str, expected: tuple[str, ...]) -> None:
    assert lab_formulas(text).latex == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$5 and $6", ()),
        ("from $5-$10 a piece", ()),
        ("$5$ and $6$", ("5", "6")),
        ("$2 for apples, and $x$", ("x",)),
        ("$3x + 2$", ("3x + 2",)),
        (r"costs \$5 or \$6, $x$", ("x",)),
        ("<code>$x$</code> $y$", ("y",)),
        ("<pre><code>a $x$\n</code></pre> $y$", ("y",)),
        ("<p>$x</p><p>y$</p>", ()),
        (r"\(a\) and \[b\]", ("b", "a")),
        (r"\begin{align}a &amp;= b\end{align}", (r"\begin{align}a &= b\end{align}",)),
        (r"\begin{cases}\begin{cases}a\end{cases}\end{cases}", (r"\begin{cases}\begin{cases}a\end{cases}\end{cases}",)),
        (r"$$\begin{array}{c}a\end{array}$$", (r"\begin{array}{c}a\end{array}",)),
        (r"$a \text{ if $b$ holds } c$", (r"a \text{ if $b$ holds } c",)),
        (r"$a_{b$ and $c}$", ("a_{b", "c}")),
        (f"{SPAN}\\begin{{align}}a\\end{{align}}</span>", (r"\begin{align}a\end{align}",)),
        (f"{SPAN}$\\text{{a <span>b</span>}}$</span>", (r"\text{a b}",)),
        ("$a<em>b$ and $c</em>d$", ("a*b", "c*d")),
        ('<a href="x$1$">$y$</a>', ("y",)),
        ("$a&notin b$", ("a&notin b",)),
        ("$$x$", ("x",)),
        ("$ $", ()),
        ("$x\r\ny$", ("x y",)),
        ("<!-- $x$ --> $y$", ("y",)),
    ],
)
def test_formulas_in_html(text: str, expected: tuple[str, ...]) -> None:
    assert find_formulas(text, "html").latex == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`$x$` and $a<b$", ("a<b",)),
        ("``a ` $x$`` and $y$", ("y",)),
        ("$|0><0|$", ("|0><0|",)),
    ],
)
def test_formulas_in_text(text: str, expected: tuple[str, ...]) -> None:
    assert find_formulas(text, "text").latex == expected


def test_formulas_in_latex() -> None:
    text = r"``Quoted'' $x$ \verb|$y$| \begin{verbatim}$z$\end{verbatim} a \\[2pt] b \[w\]"
    assert find_formulas(text, "latex").latex == ("x", "w")
    assert find_formulas(r"\begin{displaymath} x \end{displaymath}", "latex").latex == ("x",)


def test_only_spans() -> None:
    assert find_formulas(f"$x$ {SPAN}y</span>", "html", "spans").latex == ("y",)


PIECES = st.sampled_from(
    [
        "$",
        "$$",
        "\\(",
        "\\)",
        "\\[",
        "{",
        "}",
        "\\",
        "<p>",
        "</p>",
        "<code>",
        "`",
        "5",
        "x",
        " and ",
        "\\begin{align}",
        SPAN,
        "</span>",
        "&lt;",
        "\n",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_each_formula_has_one_placeholder(text: str) -> None:
    for found in (
        lab_formulas(text),
        find_formulas(text, "html"),
        find_formulas(text, "text"),
        find_formulas(text, "latex"),
    ):
        numbers = sorted(int(match[1]) for match in PLACEHOLDER.finditer(found.text))
        assert numbers == list(range(len(found.latex)))


@given(st.text(alphabet="$\\()[]{}<>&;`ax5 \n\ue000\ue001", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    clean = without_placeholders(text)
    for found in (lab_formulas(clean), find_formulas(clean, "html"), find_formulas(clean, "text")):
        assert len(PLACEHOLDER.findall(found.text)) == len(found.latex)


HOSTILE = {
    "open dollars": "$ ",
    "words": "$\\text{ ",
    "environments": "\\begin{align}",
    "brackets": "\\[",
    "spans": SPAN,
    "braces": "${",
    "ticks": "`$",
    "prices": "$5 or ",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    for syntax in ("html", "text"):
        found = find_formulas(text, syntax)  # type: ignore[arg-type]
        assert len(PLACEHOLDER.findall(found.text)) == len(found.latex)


def test_macros_of_a_field_are_expanded_in_its_other_formulas() -> None:
    text = r"$\newcommand{\RR}{\mathbb R} \newcommand{\norm}[1]{\lVert #1\rVert}$ Let $x\in\RR$, $\norm{x}\ge0$ and $\alpha$."
    assert find_formulas(text, "html").latex[1:] == (r"x\in\mathbb R", r"\lVert x\rVert\ge0", r"\alpha")
    assert lab_formulas(text).latex[1:] == (r"x\in\RR", r"\norm{x}\ge0", r"\alpha")


@pytest.mark.timeout(60)
def test_macros_that_grow_without_end_are_stopped() -> None:
    text = r"$\def\a{\a\a}\def\b{\a\a\b}$ $\a$ $\b$"
    assert all(len(latex) < 100_000 for latex in find_formulas(text, "html").latex)
