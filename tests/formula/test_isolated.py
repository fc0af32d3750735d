"""Formulas that cost the converters exponential time are converted in a process that can be killed, or not at all."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest

from porism.formula import parse
from porism.formula.latex import brackets, isolated
from porism.formula.latex.brackets import has_few_brackets, protect_brackets
from porism.formula.latex.isolated import Refused, Task, TooExpensive, convert_isolated

DEEP = "(" * 40 + r"a\over b" + ")" * 40
TABLE = Path(brackets.__file__).with_name("openers.tsv")
OPENERS = [line for line in TABLE.read_text("utf-8").splitlines() if not line.startswith("#")]


def test_the_table_is_that_of_the_installed_converter() -> None:
    """After an upgrade of math-core, run `python -m bench openers`."""
    assert f"math-core {version('math-core')}," in TABLE.read_text("utf-8").splitlines()[0]
    assert len(OPENERS) > 50


@pytest.mark.parametrize("tail", ["x", r"\displaystyle x", r"a\over b"])
@pytest.mark.parametrize("opener", OPENERS)
def test_no_opener_freezes_the_process(opener: str, tail: str) -> None:
    group = "{" if opener[1:].isalpha() else ""
    used = time.thread_time()
    parsed = parse(f"{opener}{group}" * 40 + tail)
    assert time.thread_time() - used < 2  # of this process; the converter's own time is limited elsewhere
    assert parsed.layout.size() > 1


def test_what_takes_too_long_is_searched_by_its_symbols() -> None:
    parsed = parse(DEEP)
    assert parsed.path == "opaque"
    assert [problem.message for problem in parsed.problems] == ["takes too long to convert"]
    assert parsed.layout.size() > 40


def test_a_killed_converter_is_replaced_and_others_go_on() -> None:
    with pytest.raises(TooExpensive):
        convert_isolated(Task("math-core", DEEP))
    assert "<mi>x</mi>" in convert_isolated(Task("math-core", "x"))
    assert "<mi>x</mi>" in convert_isolated(Task("latex2mathml", "x"))
    with pytest.raises(Refused, match="Unknown command"):
        convert_isolated(Task("math-core", r"\nosuchcommand"))
    assert "nosuchcommand" in convert_isolated(Task("math-core", r"\nosuchcommand", lenient=True))


def test_other_threads_run_while_a_formula_is_converted() -> None:
    done = threading.Event()
    steps = 0

    def count() -> None:
        nonlocal steps
        while not done.wait(0.005):
            steps += 1

    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(count)
        parse(DEEP)
        done.set()
        counting.result()
    assert steps > 10


def test_waiting_for_a_converter_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "WAIT_SECONDS", 0.05)
    taken = [isolated._free.get() for _ in range(isolated.PROCESSES)]
    try:
        with pytest.raises(TooExpensive, match="busy"):
            convert_isolated(Task("math-core", "x"))
    finally:
        for process in taken:
            isolated._free.put(process)


@pytest.mark.parametrize(
    ("latex", "few"),
    [
        ("f(x)" * 10, True),
        ("f(x)" * 11, False),
        ("(" * 10 + "x" + ")" * 10, True),
        ("⟪" * 11, False),
        (r"\ket{x}" * 11, False),
        (r"\{\norm)" * 11, False),
    ],
)
def test_number_of_brackets(latex: str, few: bool) -> None:
    assert has_few_brackets(latex) is few


@pytest.mark.parametrize("unit", [r"\{\norm)", r"\cancel)\lang", r"(\frac1)", "(^)", r"[\sqrt]"])
def test_a_bracket_that_is_an_argument_closes_nothing(unit: str) -> None:
    assert parse(unit * 40).latex == unit * 40  # never ended, in this process


@pytest.mark.parametrize("opener", ["\\bigl)", "\\Biggl|", "\\biggl\\rangle ", "\\Bigl /", "("])
def test_a_sign_that_is_made_an_opening_bracket_is_never_searched_here(opener: str) -> None:
    """math-core doubles its work with each of these: thirty of them would never end in this process."""
    assert not has_few_brackets(opener * 24)
    assert parse(opener * 30 + "x").path in ("math-core", "opaque")


def test_brackets_with_sizes_are_pairs() -> None:
    latex = r"\bigl|a\bigr|+\Bigl(b\Bigr]+\biggl\langle c\biggr\rangle" * 5
    assert protect_brackets(latex) == latex


def test_a_long_formula_is_never_converted_here() -> None:
    """Blanks take math-core time that grows with the square of the length, and meanwhile no other thread runs."""
    began = time.thread_time()
    assert parse("~" * 19_000).path in ("math-core", "opaque")
    assert time.thread_time() - began < 0.5
