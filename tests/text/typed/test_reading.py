from __future__ import annotations

import random
from pathlib import Path

import pytest

from porism.formula import parse
from porism.text.typed.box import split_query, typed_formula
from porism.text.typed.grammar import MAX_TOKENS, latex_readings
from porism.text.typed.runs import find_runs, is_words
from porism.text.typed.tokens import names, tokenise

GOLDEN = [
    line.split("\t")
    for line in Path(__file__).with_name("typed.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


def read(text: str) -> str:
    return "".join(f"${part.latex}$" if part.kind == "formula" else part.source for part in split_query(text))


@pytest.mark.parametrize(("typed", "expected"), GOLDEN, ids=[row[0] for row in GOLDEN])
def test_golden(typed: str, expected: str) -> None:
    assert read(typed) == expected


def test_every_golden_formula_converts() -> None:
    assert len(GOLDEN) >= 300
    for typed, _ in GOLDEN:
        for part in split_query(typed):
            if part.kind == "formula":
                formula = parse(part.latex, wildcards=True)
                assert formula.path == "math-core", part
                assert not formula.problems, part


@pytest.mark.parametrize(
    ("typed", "readings"),
    [
        ("1/2x", (r"\frac{1}{2x}", r"\frac{1}{2}x")),
        ("C(n,k)", (r"\binom{n}{k}", "C(n,k)")),
        ("e^2x", ("e^{2}x", "e^{2x}")),
        ("k pi/2", (r"k\frac{\pi}{2}", r"\frac{k\pi}{2}")),
        ("x+1", ("x+1",)),
    ],
)
def test_ambiguous_input_keeps_its_readings(typed: str, readings: tuple[str, ...]) -> None:
    assert latex_readings(typed) == readings


@pytest.mark.parametrize(
    "text",
    [
        "find the sum of n",
        "**The** gamma function",
        "**not** a group",
        "cost of the model",
        "a",
        "i",
        "is a group of order n abelian",
        "sum of two independent random variables",
        "let f be a function from A to B",
        "how do I log in",
        "integral by parts",
        "limit of a sequence",
        "product rule",
        "AM-GM",
        "x-axis",
        "e.g. a ring",
        "the n-th prime",
        "24 hours, 7 days",
        "P vs NP",
        "pi",
        "F test and t test",
        "mail me at a.b@c.org",
        "see https://example.org/x_1?a=b",
        "from 2010-2015",
        "max flow min cut",
        "1-1 correspondence",
    ],
)
def test_words_that_look_like_variables_stay_words(text: str) -> None:
    assert find_runs(text) == []


def test_words_of_operators_are_searched_as_words_too() -> None:
    (part,) = split_query("integral of 1/x from 1 to 2")
    assert part.words == "integral"
    part, *_ = split_query("square root of 2 is irrational")
    assert part.words == "square root of 2"


def test_delimiters_are_read_as_latex() -> None:
    assert read("why $x^12$ and a^12") == "why $x^12$ and $a^{12}$"
    assert [part.source for part in split_query("x^2 is 4", typed=False)] == ["x^2 is 4"]


def test_pasted_mathml_and_html() -> None:
    (part,) = split_query("<math><msup><mi>x</mi><mn>2</mn></msup></math>")
    assert part.mathml
    assert read("<p>a &lt; b</p>").strip() == "$a< b$".replace(" ", "")


def test_a_whole_text_as_a_formula() -> None:
    assert typed_formula("pi").latex == "\\pi"
    assert typed_formula(r"\alpha^12").latex == r"\alpha^12"
    assert is_words("words only")
    assert not is_words("x y")


def test_any_string_is_legal() -> None:
    random.seed(16)
    alphabet = "abxyzC012 ()[]{}^_+-*/=<>|!?'\\.,;:$&@#∑∫√²ⁿ→≤∞πφ¦■〖〗~%\"\n"
    words = (
        "sin ",
        "lim ",
        "sum ",
        "int(",
        "from ",
        "to ",
        "of ",
        "mod ",
        "choose ",
        "x->0 ",
        "sqrt",
        "dx",
        "integral ",
    )
    for _ in range(150):
        text = "".join(random.choice(alphabet) if random.random() < 0.8 else random.choice(words) for _ in range(40))
        assert "".join(part.source for part in split_query(text, typed=False)) is not None
        list(split_query(text))
        latex_readings(text)


@pytest.mark.parametrize("text", ["(", "C(", "|(", "x^", "|C(", "sqrt ", "[[", "lim x->0 ", "a=b mod ", "^{"])
def test_nested_and_repeated_input_ends(text: str) -> None:
    latex_readings(text * 120)
    assert latex_readings(text * MAX_TOKENS * 2) == ()


def test_every_name_has_a_kind_and_is_a_token() -> None:
    for form, name in names().items():
        (token, *_) = tokenise(form)
        assert token.kind == name.kind, form
