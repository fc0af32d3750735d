"""Conversion of user text to MathML: repairs, problems and their positions, limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from porism.formula import parse, tangent
from porism.formula.latex.brackets import protect_brackets
from porism.formula.latex.convert import MAX_LENGTH, to_mathml
from porism.formula.latex.repair import _rows, commands, pattern_repairs
from porism.formula.plaintext import underlined

HERE = Path(__file__).parent


def error_cases() -> list[tuple[str, str]]:
    text = (HERE / "errors.txt").read_text(encoding="utf-8")
    blocks = text.split("\n", 1)[1].strip("\n").split("\n\n")
    return [tuple(block.split("\n", 1)) for block in blocks]  # type: ignore[misc]


@pytest.mark.parametrize(("latex", "message"), error_cases())
def test_problems_of_bad_input(latex: str, message: str) -> None:
    problems = parse(latex).problems
    assert "\n".join(underlined(latex, problem).split("\n", 1)[1] for problem in problems) == message


@pytest.mark.parametrize(
    ("latex", "letters"),
    [
        (r"\substack{a\\b}\Big x", ["a", "b", "x"]),
        (r"\begin{matrix}a\\c\hline\end{matrix}", ["a", "c"]),
        (r"\begin{matrix}a\\<b\hline\end{matrix}", ["a", "b"]),
    ],
)
def test_what_follows_a_line_break_is_no_command(latex: str, letters: list[str]) -> None:
    made = to_mathml(latex)
    assert re.findall("<mi>([^<]*)</mi>", made.mathml) == letters
    assert "text accent" not in made.repairs


@pytest.mark.parametrize("row", _rows("repairs.tsv"), ids=lambda row: row[0])
def test_every_pattern_has_an_example_that_needs_it(row: list[str]) -> None:
    name, _, _, example = row
    made = to_mathml(example)
    assert name in made.repairs
    assert made.path == "math-core"


@pytest.mark.parametrize("name", commands())
def test_every_added_command_is_converted(name: str) -> None:
    assert to_mathml(f"\\{name}" + "{x}" * commands()[name].count("#")).problems == ()


def test_patterns_are_read_in_order() -> None:
    assert [repair.name for repair in pattern_repairs()] == [row[0] for row in _rows("repairs.tsv")]


def test_a_problem_on_a_later_line_is_shown_on_that_line() -> None:
    latex = "a\n+\\foo b"
    assert underlined(latex, parse(latex).problems[0]) == "+\\foo b\n ^^^^ unknown command \\foo"


def test_the_converter_is_recorded() -> None:
    assert parse("x").path == "math-core"
    assert parse("x" * (MAX_LENGTH + 1)).path == "opaque"


@pytest.mark.parametrize(
    "latex",
    [
        "{" * 100_000 + "x" + "}" * 100_000,
        "x+" * 5_000_000,
        "(" * 5_000,
        r"\sin(" * 300,
        r"\bigl[" * 300,
        "'" * 15_000,
        r"\sqrt" * 3_000 + "{x}",
        "(x^{" * 90 + "y" + "})" * 90,
        r"\def\a{\a\a}\a",
        r"\def\a{\b\b}\def\b{\c\c}\def\c{\d\d}\def\d{xxxxxxxxxxxxxxxx}" + r"\a" * 900,
        "&" * 15_000,
        "|" * 3_000,
        r"{\root " + " " * 15_000,
        r"{\buildrel " + " a" * 7_000,
        r"{\operatorname{a^" + "$" * 15_000,
    ],
    ids=lambda latex: latex[:12],
)
def test_hostile_text_is_converted_or_kept_as_tokens(latex: str) -> None:
    parsed = parse(latex)
    assert parsed.layout.size() < 20_000
    assert len(parsed.mathml) < 2_000_000
    assert tangent(parsed.layout)
    assert parsed.operators.size() > 0


def test_too_long_a_text_is_reported() -> None:
    problem = parse("x" * (MAX_LENGTH + 5)).problems[0]
    assert (problem.message, problem.start, problem.end) == ("longer than 20,000 characters", 20_000, 20_005)


def test_too_deep_nesting_is_reported() -> None:
    assert parse("{" * 101 + "x" + "}" * 101).problems[0].message == "nested deeper than 100 levels"
    assert parse("(" * 101 + "x" + ")" * 101).problems[0].message == "nested deeper than 100 levels"


def test_unclosed_brackets_are_protected_and_look_the_same() -> None:
    assert protect_brackets("f(x)+g(y)+h(z)+(a)+(b)+(c)+(d)") == "f(x)+g(y)+h(z)+(a)+(b)+(c)+(d)"
    assert protect_brackets("(" * 7 + "x") == "{({}}" * 7 + "x"
    assert tangent(parse("(" * 8 + "x").layout) == "[(" * 8 + "[V!x]" + "]" * 8


def test_wildcards() -> None:
    assert tangent(parse(r"?x+\qvar{y}", wildcards=True).layout) == "[?x[+[?y]]]"
    assert tangent(parse(r"?x").layout) == "[&quest;[V!x]]"
