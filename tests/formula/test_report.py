"""The report on one formula: as lines, as JSON, by the command."""

from __future__ import annotations

import io
import json

import pytest

from porism.cli import main
from porism.formula import parse
from porism.formula.plaintext import outline, readable


def test_the_command_shows_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", r"\frac{a}{b}+\foo"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("formula: a/b + \\foo\nconverted by: math-core\nproblems:\n")
    assert "  \\frac{a}{b}+\\foo\n              ^^^^ unknown command \\foo\n" in out
    for part in ("layout tree", "operator tree", "canonical, renamed", "MathML", "Content MathML"):
        assert f"\n{part}:" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "x^2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["tangent"] == "[V!x,a[N!2]]"
    assert shown["layout"] == {
        "label": "V!x",
        "edges": "a",
        "places": [2],
        "children": [{"label": "N!2", "places": [3]}],
    }
    assert shown["understood"] is True
    assert shown["problems"] == []


def test_an_opaque_formula_exits_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * 20_001 + "\n"))
    assert main(["formula", "-"]) == 1
    assert "longer than 20,000 characters" in capsys.readouterr().out


def test_mathml_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "<math><mi>x</mi></math>"]) == 0
    assert "converted by: mathml" in capsys.readouterr().out


def test_outline() -> None:
    assert outline(parse(r"\frac{a+b}{c}=d").layout) == "O!divide\n  o V!a\n    +\n    V!b\n  u V!c\n=\nV!d"
    assert outline(parse("(a,b)c").layout) == "M!()1x2\n  w V!a\n    ,\n  e V!b\nV!c"


def test_one_line_of_unicode() -> None:
    assert readable(parse(r"x^2+y^2=z^2").layout) == "x² + y² = z²"


def test_guesses_are_reported() -> None:
    from porism.formula import parse
    from porism.formula.plaintext import guesses

    assert guesses(parse("C_n^k + c(x)")) == ["O!apply(V!c, V!x) is read as an application", "rule binomial-upper"]
    assert guesses(parse(r"\binom{n}{k} + f(x)")) == []
