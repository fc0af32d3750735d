"""Characters that XML forbids: found by fuzzing, they made MathML that no XML parser reads, or raised errors."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from porism.formula import parse, parse_mathml
from porism.formula.binary import pack
from porism.formula.characters import xml_source, xml_text
from porism.formula.mathml.content_writer import to_content
from porism.formula.parsed import latex_to_mathml

FORBIDDEN = ["\x00", "\x1f", "\x0b", "\ud800", "\udfff", "\ufffe", "\uffff"]


@pytest.mark.parametrize("character", FORBIDDEN)
@pytest.mark.parametrize("latex", ["x{}y", r"\text{{a{}b}}", r"\nosuch{{{}}}", r"\begin{{pma\{}trix}}x", "{}"])
def test_latex_with_a_forbidden_character_gives_mathml(latex: str, character: str) -> None:
    text = latex.format(character)
    parsed = parse(text)
    assert parsed.latex == text
    fromstring(parsed.mathml)
    assert latex_to_mathml(text) == parsed.mathml
    assert pack(parsed)


@pytest.mark.parametrize(
    "mathml",
    [
        *(f"<math><mi>a{character}</mi></math>" for character in FORBIDDEN),
        *(f'<math><mfenced open="[{character}"<mi>a</mi></math>' for character in FORBIDDEN),
        "<m:math>x<mi>x</mi",
        "<m:apply><m:plus/><m:ci>x</m:ci></m:apply>",
        "<math><style type='7' type=''/><semantics><!DOCTYPE x [<!ENTITY a 'b'>]><mi x=1 x=2>&a;",
        "<math>&#0;&#xd800;</math>",
        "<set><ci>x<ms style='&#0;&#xd800;&#x110000;&#999999999'>&#xd800;&#57343;</set>",
    ],
)
def test_odd_mathml_gives_a_formula(mathml: str) -> None:
    parsed = parse_mathml(mathml, "", mathml)
    fromstring(parsed.mathml)
    assert pack(parsed)


def test_an_integral_without_bounds_is_written() -> None:
    parsed = parse_mathml("<apply><int/><ci>x</ci></apply>")
    assert "<int/>" in to_content(parsed.operators)


def test_other_characters_stay() -> None:
    text = "a\tb\n\u2028\U0010ffff\ue000"
    assert xml_text(text) is text
    assert xml_text("a\x00b") == "a\ufffdb"


def test_references_to_forbidden_characters_are_replaced() -> None:
    assert xml_source("&#0; &#xD800; &#1114112; &#x41; &#10;") == "\ufffd \ufffd \ufffd &#x41; &#10;"
    assert xml_source("&#x0000000000041;&#99999999999999999999;") == "&#x0000000000041;\ufffd"
