"""Reading and writing MathML: ill-formed files, safety, places."""

from __future__ import annotations

import re
from xml.etree.ElementTree import fromstring

import pytest

from porism.formula import latex_to_mathml, parse, parse_mathml, tangent
from porism.formula.binary import pack, unpack
from porism.formula.latex.convert import to_mathml
from porism.formula.mathml.clean import clean, clean_converted, read
from porism.formula.mathml.presentation import add_class


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ('<math alttext="a<b"><mi>a</mi><mo><</mo><mi>b</mi></math>', "[V!a[<[V!b]]]"),
        ("<math><mi>a</mi><mo>&</mo><mi>b</mi></math>", "[V!a[&[V!b]]]"),
        ("<math><mi>a</mi><mo>&nbsp;</mo><mi>&alpha;</mi></math>", "[V!a[V!α]]"),
        ("<math><mi>a</mi><mrow><mi>b</mi></math>", "[V!a[V!b]]"),
        ("<m:math xmlns:m='http://www.w3.org/1998/Math/MathML'><m:mi>a</m:mi></m:math>", "[V!a]"),
        ("<?xml version='1.0' encoding='UTF-8'?> <math>  <mi>c</mi> </math> ", "[V!c]"),
        ("<math></math>", "[W!]"),
        ("", "[W!]"),
        ("no markup", "[W!]"),
        ("<math><mfrac><mi>a</mi></mfrac></math>", "[V!a]"),
        ("<math><msup><mi>a</mi></msup></math>", "[V!a]"),
        ("<math><mtable></mtable></math>", "[M!1x1,w[W!]]"),
    ],
)
def test_any_mathml_is_read(text: str, layout: str) -> None:
    assert tangent(parse_mathml(text).layout) == layout


@pytest.mark.parametrize(
    "text",
    [
        "<math><script>alert(1)</script><mi>x</mi></math>",
        "<math onclick='a()'><mi href='javascript:a()' style='background:url(x)'>x</mi></math>",
        "<math><mtext><img src=x onerror=a()></mtext></math>",
        "<math><maction actiontype='x'><mi>x</mi></maction><annotation-xml><svg/></annotation-xml></math>",
        "<math><mi>&lt;script&gt;</mi></math>",
        "<math><mi mathvariant='&quot;&gt;&lt;b'>x</mi></math>",
    ],
)
def test_only_harmless_mathml_is_written(text: str) -> None:
    made = parse_mathml(text).mathml
    fromstring(made)
    assert not re.search(r"<(?:script|img|svg|maction|annotation)|<[^>]*(?:on\w+=|href|javascript:|url\()", made)


def test_colours_and_columns_survive() -> None:
    assert 'style="color:#FF0000;"' in parse(r"\color{red}{x}").mathml
    assert "text-align: left" in parse(r"\begin{cases}1\\2\end{cases}").mathml


def test_clean_mathml_stays_as_it_is() -> None:
    mathml = parse(r"\frac{a}{b}+\begin{pmatrix}1&2\end{pmatrix}\text{if }\textbf{v}").mathml
    assert clean(read(mathml)) == mathml


def test_places_are_the_numbers_of_elements() -> None:
    parsed = parse(r"\frac{a}{b}+x^2")
    elements = list(fromstring(parsed.mathml).iter())
    for node in parsed.layout.walk():
        for place in node.places:
            element = elements[place]
            shown = "".join(element.itertext())
            assert node.label in (f"V!{shown}", f"N!{shown}", shown) or (node.label, element.tag) == (
                "O!divide",
                "mfrac",
            )


def test_classes_of_places() -> None:
    assert (
        add_class(parse("a+b").mathml, [1, 3])
        == '<math><mi class="highlight">a</mi><mo>+</mo><mi class="highlight">b</mi></math>'
    )
    assert add_class(parse("a").mathml, {0}, "found") == '<math class="found"><mi>a</mi></math>'


@pytest.mark.parametrize(
    "text",
    [
        "<math>" + "<mrow>" * 50_000 + "<mi>x</mi>" + "</mrow>" * 50_000 + "</math>",
        "<math>" + "<msqrt>" * 50_000 + "</msqrt>" * 50_000 + "</math>",
        "<math>" + "<mrow>" * 50_000,
        "<math>" + "<mi>x</mi>" * 200_000 + "</math>",
        "<math><mi style='color:" + " " * 100_000 + "!'>x</mi></math>",
        "<math>" + "<apply>" * 20_000,
    ],
    ids=lambda text: text[:20],
)
def test_hostile_mathml(text: str) -> None:
    parsed = parse_mathml(text)
    assert parsed.layout.size() < 20_000
    assert parsed.mathml.startswith("<math>")
    assert parsed.operators.size() > 0


CONVERTED = (
    *(
        r"a^2+b^2=c^2",
        r"\log(1+x) \bmod 8",
        r"\begin{align} a&=b\\ c&<d \end{align}",
        r"\text{a<b & c}",
        "",
        "?",
        "a'b",
    ),
    *(
        r"\unknowncommand x",
        r"\color{red}{x}",
        r"\boxed{x}",
        "x\x0by",
        r"\operatorname{<}x",
        r"\binom{n}{k}\not\subset\hat{x}",
        r"\frac{",
    ),
    "+".join(["x^2"] * 60),
    "(" * 120 + "x" + ")" * 120,
)


@pytest.mark.parametrize("latex", CONVERTED)
def test_the_mathml_of_a_converter_is_cleaned_the_same_without_parsing_it(latex: str) -> None:
    source = to_mathml(latex).mathml.replace("<</", "&lt;</")
    if source:
        assert clean_converted(source) == clean(read(source))
    assert latex_to_mathml(latex) == parse(latex).mathml


def test_an_attribute_that_a_converter_writes_twice_is_written_once() -> None:
    twice = '<math><mo stretchy="false" stretchy="true" lspace="0">|</mo></math>'
    assert clean_converted(twice) == '<math><mo stretchy="false" lspace="0">|</mo></math>'
    written = latex_to_mathml(r"\mathop\middle|")
    assert "stretchy" in fromstring(written)[0].attrib


@pytest.mark.parametrize(
    "damage", ['<mi onclick="x()">x</mi>', "<script>x</script>", "<mrow>x</mrow>", '<mi style="url(x)">x</mi>']
)
def test_anything_that_is_not_clean_is_parsed(damage: str) -> None:
    source = f"<math>{damage}</math>"
    assert clean_converted(source) == clean(read(source)) != source


@pytest.mark.parametrize(
    "text",
    [
        "<math><mi>" + "&gt; a" * 70_000 + "</mi></math>",
        "<math>" + "<plus/>" * 70_000 + "</math>",
        "<math><mi>x</mi>" + "<mi>&gt;&gt; a</mi>" * 7_000 + "</math>",
    ],
    ids=["one element", "content", "many elements"],
)
def test_a_formula_of_too_many_symbols_is_opaque(text: str) -> None:
    found = parse_mathml(text)
    assert found.path == "opaque"
    assert any("more than 8,000 symbols" in problem.message for problem in found.problems)
    assert unpack(pack(found))[0].label == "E!"


def test_content_of_too_many_symbols_is_left_out() -> None:
    found = parse_mathml("<math><mi>x</mi></math>", content="<math>" + "<plus/>" * 70_000 + "</math>")
    assert str(found.operators) == "V!x"
