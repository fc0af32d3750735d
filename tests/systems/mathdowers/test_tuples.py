"""Math tuples of Tangent-L from Presentation MathML, and their agreement with the tokens that the original programs
wrote."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porism.systems.mathdowers.tuples import ERROR, L1, L8, TANGENT_L_2021, TupleRules, coded, math_tokens

YEARS = ("2020", "2021")


def tokens(inside: str, rules: TupleRules = L8) -> list[str]:
    """Return the tokens between `#(start)#` and `#(end)#`, without the number signs."""
    found = math_tokens(f"<math>{inside}</math>", rules)
    assert (found[0], found[-1]) == ("#(start)#", "#(end)#")
    return [token.strip("#") for token in found[1:-1]]


def plain(inside: str) -> list[str]:
    return tokens(inside, L1)


def row(*items: str) -> str:
    """Write a row: letters, numbers, other marks; items that are MathML stay."""
    tag = {True: "mi", False: "mo"}
    return "".join(
        item
        if item.startswith("<")
        else f"<mn>{item}</mn>"
        if item.isdigit()
        else f"<{tag[item.isalpha()]}>{item}</{tag[item.isalpha()]}>"
        for item in items
    )


def test_pairs_compounds_terminals_and_duplicates_with_their_locations() -> None:
    """The worked example: y_i^n = n + x^n. Below the relation sign locations begin anew."""
    scripted = f"<msubsup>{row('y', 'i', 'n')}</msubsup>"
    found = tokens(row(scripted, "=", "n", "+", f"<msup>{row('x', 'n')}</msup>"))
    assert len(found) == 30
    assert found[:4] == ["(v!y,[n,a,b])", "(v!y,[n,a,b],-)", "(v!y,=,n)", "(v!y,=,n,-)"]
    assert {"(=,v!n,n,n)", "(v!n,+,n,-)", "(+,v!x,n,n)", "(v!x,v!n,a,nn)", "(v!n,!0,nna)", "(v!i,!0,b)"} <= set(found)
    assert {"{v!n,nna}", "{?v,nna,-}", "{v!n,-,a}", "{?v,-,a,-}"} <= set(found)


def test_without_locations_only_the_plain_tuples_are_left() -> None:
    assert plain(row("x", "+", "x")) == ["(v!x,+,n)", "(+,v!x,n)", "(v!x,!0)", "{v!x,nn}", "{?v,nn}"]


def test_locations_end_at_seven_edges_and_tuples_at_a_hundred() -> None:
    found = tokens(row(*"abcdefghij"))
    assert "(v!g,v!h,n,6n)" in found
    assert "(v!h,v!i,n)" in found
    assert not [token for token in found if token.endswith(",7n)")]
    long = tokens(row(*["x"] * 150), L1)
    assert long.count("(v!x,v!x,n)") == 101


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (row("(", "a", ",", "b", ")"), ["(m!()1x2,v!a,w)", "(v!a,v!b,e)", "(v!b,!0)"]),
        (row("(", "<mrow>" + row("a", ",", "b") + "</mrow>", ")"), ["(m!()1x2,v!a,w)", "(v!a,v!b,e)", "(v!b,!0)"]),
        (row("[", "a", "]"), ["(m!lsqbrsqb1x1,v!a,w)", "(v!a,!0)"]),
        (row("(", ")"), ["(m!(),!0)"]),
        # Only the opening bracket is recognised: the last item is the other fence, and its script is lost.
        (row("(", "a", f"<msup>{row(')', '2')}</msup>"), ["(m!()1x1,v!a,w)", "(v!a,!0)"]),
        (row("(", "a", "b"), ["(m!(v!b1x1,v!a,w)", "(v!a,!0)"]),
        (row("-", "2"), ["(n!-2,!0)"]),
        (row("-", f"<msup>{row('2', 'x')}</msup>"), ["(n!-2,!0)"]),
        (row("−", "2"), ["(−,n!2,n)", "(n!2,!0)"]),
        (f"<mfrac>{row('1', 'x')}</mfrac>", ["(f!,[o,u])", "(f!,n!1,o)", "(n!1,!0)", "(f!,v!x,u)", "(v!x,!0)"]),
        (f"<msqrt>{row('x')}</msqrt>", ["(r!,v!x,w)", "(v!x,!0)"]),
        (f"<mroot>{row('x', '3')}</mroot>", ["(r!,[c,w])", "(r!,n!3,c)", "(n!3,!0)", "(r!,v!x,w)", "(v!x,!0)"]),
        (f"<msub>{row('∑', 'k')}</msub>", ["(∑,v!k,u)", "(v!k,!0)"]),
        (f"<msub>{row('x', 'k')}</msub>", ["(v!x,v!k,b)", "(v!k,!0)"]),
        (
            f"<msup><mrow>{row('a', 'b')}</mrow><mn>2</mn></msup>",
            ["(m!1x1,[a,w])", "(m!1x1,n!2,a)", "(n!2,!0)", "(m!1x1,v!a,w)", "(v!a,v!b,n)", "(v!b,!0)"],
        ),
        ("<mi>x</mi><mo>\u2062</mo><mi>y</mi>", ["(v!x,v!y,n)", "(v!y,!0)"]),
        ("<mo>&lt;</mo><mo>*</mo><mo>?</mo>", ["(lt,ast,n)", "(ast,quest,n)", "(quest,!0)"]),
        ("<mtext>if x</mtext>", ["(t!if␣x,!0)"]),
        ("<mi>A</mi>", ["(v!a,!0)"]),
        ("<mfenced open='[' close=')'><mi>a</mi><mi>b</mi></mfenced>", ["(m!lsqb)1x2,v!a,w)", "(v!a,v!b,e)", "(v!b,!0)"]),
        ("<merror><mtext>u</mtext></merror>", ["(e!,t!u,w)", "(t!u,!0)"]),
        ("<menclose notation='box'><mi>x</mi></menclose>", ["(box,v!x,w)", "(v!x,!0)"]),
        ("<mmultiscripts><mi>x</mi><mn>1</mn><none/><mprescripts/><mn>2</mn><none/></mmultiscripts>", ["(v!x,[b,d])", "(v!x,n!1,b)", "(n!1,!0)", "(v!x,n!2,d)", "(n!2,!0)"]),
    ],
)  # fmt: skip
def test_constructs(inside: str, expected: list[str]) -> None:
    assert plain(inside) == expected


def table(*rows: str) -> str:
    cells = "".join("<mtr>" + "".join(f"<mtd><mi>{cell}</mi></mtd>" for cell in line) + "</mtr>" for line in rows)
    return f"<mtable>{cells}</mtable>"


def test_matrices_are_fenced_filled_and_merged() -> None:
    assert plain(row("(", table("ab", "cd"), ")"))[0] == "(m!()2x2,v!a,w)"
    assert "(v!b,w!,e)" not in plain(table("ab", "c"))
    assert "(v!c,w!,e)" in plain(table("ab", "c"))
    assert plain(table("a", "c") + table("b", "d"))[:4] == [
        "(m!2x2,v!a,w)",
        "(v!a,v!b,e)",
        "(v!b,v!c,e)",
        "(v!c,v!d,e)",
    ]


def test_the_version_of_2021_pairs_all_equal_labels_and_writes_the_location_first() -> None:
    found = tokens(row("x", "x", "x", "*"), TANGENT_L_2021)
    assert found[:2] == ["(v!x,v!x,n,-)", "(v!x,v!x,n)"]
    assert [token for token in found if token[0] == "{"] == ["{v!x,n,n}", "{v!x,n}", "{v!x,nn,-}", "{v!x,nn}", "{v!x,n,-}", "{v!x,n}"]  # fmt: skip
    assert "(v!x,/*,n)" in found


def test_paths_are_run_length_coded_when_longer_than_five() -> None:
    assert [coded(path) for path in ("", "nnnnn", "nnnnna")] == ["-", "nnnnn", "5n1a"]


def test_what_cannot_be_read_is_an_error_token_and_what_is_empty_is_none() -> None:
    assert math_tokens("<math><mrow></mrow></math>") == []
    for text in ("<math><strange/></math>", "<math><mi>x</math>", "", "<math><mtd><mo></mo><mo></mo></mtd></math>"):
        assert math_tokens(text) == [ERROR]


def test_deep_nesting_and_long_rows_do_not_overflow_the_stack() -> None:
    deep = "<msup><mi>x</mi>" * 3000 + "<mi>x</mi>" + "</msup>" * 3000
    assert len(math_tokens(f"<math>{deep}</math>")) < 1000
    assert len(plain(row(*["x", "="] * 5000))) > 5000


_TAGS = (
    *("mrow", "mi", "mo", "mn", "msub", "msup", "msubsup", "mfrac", "mtable", "mtr", "mtd", "mfenced", "mmultiscripts"),
    *("mprescripts", "none", "munder", "mroot", "msqrt", "mspace", "menclose", "semantics", "mstyle", "merror"),
)
_SIGNS = st.sampled_from(("x", "(", ")", "{", "|", ",", "-", "2", "", "=", "\u2062", "[", "∑", "*"))
_ELEMENTS = st.recursive(
    st.builds("<{0}>{1}</{0}>".format, st.sampled_from(("mi", "mo", "mn", "mtext")), _SIGNS),
    lambda inner: st.builds("<{0}>{1}</{0}>".format, st.sampled_from(_TAGS), st.lists(inner, max_size=5).map("".join)),
)


@given(_ELEMENTS, st.sampled_from((L8, L1, TANGENT_L_2021)))
def test_any_mathml_gives_tokens_or_an_error(inside: str, rules: TupleRules) -> None:
    found = math_tokens(f"<math>{inside}</math>", rules)
    assert found in ([], [ERROR]) or (found[0], found[-1]) == ("#(start)#", "#(end)#")
    assert found == math_tokens(f"<math>{inside}</math>", rules)


def topic_mathml(shared_data: Path, year: str) -> dict[str, list[tuple[str, str]]]:
    csv.field_size_limit(sys.maxsize)
    table: dict[str, list[tuple[str, str]]] = {}
    path = shared_data / f"arqmath-format/topic-formulas/{year}_formulas_slt.tsv"
    with open(path, encoding="utf-8", newline="") as stream:
        for number, topic, _, _, mathml in list(csv.reader(stream, delimiter="\t"))[1:]:
            table.setdefault(topic, []).append((number, mathml))
    return table


@pytest.mark.shared
@pytest.mark.parametrize("year", YEARS)
def test_tokens_equal_those_of_the_original_program(shared_data: Path, year: str) -> None:
    """Fidelity data F1: L8 tokens of all topic formulas."""
    mathml = dict(pair for pairs in topic_mathml(shared_data, year).values() for pair in pairs)
    lines = (shared_data / f"fidelity/l8-tokens.{year}.tsv").read_text("utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    equal = sum(" ".join(math_tokens(mathml[number])) == expected for number, _, _, expected in rows)
    assert equal == len(rows) > 800


@pytest.mark.shared
@pytest.mark.parametrize("year", YEARS)
def test_tokens_of_2021_equal_those_of_the_original_program(shared_data: Path, year: str) -> None:
    """Fidelity data F2: tokens within the text of topics; two empty formulas of A.50 are `W!` there."""
    mathml = topic_mathml(shared_data, year)
    total = equal = 0
    for topic in json.loads((shared_data / f"fidelity/tangent-l-2021-tokens.topics-{year}.json").read_text("utf-8")):
        ours = Counter(" ".join(math_tokens(text, TANGENT_L_2021)) for _, text in mathml.get(topic["query_id"], ()))
        theirs = Counter(
            " ".join(found.split())
            for found in re.findall(r"#\(start\)#.*?#\(end\)#", topic["title"] + " " + topic["body"], re.DOTALL)
        )
        total, equal = total + theirs.total(), equal + (ours & theirs).total()
    assert equal >= total - 2 > 600
