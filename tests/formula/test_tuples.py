"""Math tuples, on the test vectors of their description."""

from __future__ import annotations

from porism.formula import parse
from porism.formula.layout.tuples import mathtuples


def test_mathtuples_of_the_reference_example() -> None:
    tokens = mathtuples(parse("y_i^n = n + x^n").layout)
    plain = [
        "(v!y,[n,a,b])",
        "(v!y,=,n)",
        "(v!y,v!n,a)",
        "(v!y,v!i,b)",
        "(=,v!n,n)",
        "(v!n,+,n)",
        "(+,v!x,n)",
        "(v!x,v!n,a)",
        "(v!n,!0)",
        "(v!n,!0)",
        "(v!i,!0)",
        "{v!n,nna}",
        "{?v,nna}",
        "{v!n,-,a}",
        "{?v,-,a}",
    ]
    placed = [
        "(v!y,[n,a,b],-)",
        "(v!y,=,n,-)",
        "(v!y,v!n,a,-)",
        "(v!y,v!i,b,-)",
        "(=,v!n,n,n)",
        "(v!n,+,n,-)",
        "(+,v!x,n,n)",
        "(v!x,v!n,a,nn)",
        "(v!n,!0,nna)",
        "(v!n,!0,a)",
        "(v!i,!0,b)",
        "{v!n,nna,-}",
        "{?v,nna,-}",
        "{v!n,-,a,-}",
        "{?v,-,a,-}",
    ]
    assert (tokens[0], tokens[-1], len(tokens)) == ("#(start)#", "#(end)#", 32)
    assert sorted(tokens[1:-1]) == sorted(plain + placed)


def test_mathtuples_of_a_sum() -> None:
    tokens = mathtuples(parse(r"\sum_{k=1}^{n} k^2").layout)
    assert len(tokens) == 26
    assert {"{v!k,n,u}", "{?v,n,u}"} <= set(tokens)


def test_mathtuples_of_a_fraction_with_a_root() -> None:
    tokens = mathtuples(parse(r"\frac{a+b}{\sqrt{x}}").layout)
    assert len(tokens) == 18
    assert {"(f!,[o,u])", "(r!,v!x,w)"} <= set(tokens)


def test_one_symbol_gives_only_its_terminal() -> None:
    assert mathtuples(parse("x").layout) == ["#(start)#", "(v!x,!0)", "(v!x,!0,-)", "#(end)#"]


def test_without_locations() -> None:
    tokens = mathtuples(parse("y_i^n = n + x^n").layout, window=1)
    assert len(tokens) == 17


def test_long_paths_are_run_length_coded_and_marks_spelled() -> None:
    tokens = mathtuples(parse("a+b+c+d<e").layout)
    assert "(+,v!d,n,5n)" not in tokens
    assert "(+,v!d,n,nnnnn)" in tokens
    assert "(v!d,lt,n,6n)" in tokens
    assert "(comma,v!b,n)" in mathtuples(parse("a,b").layout)
