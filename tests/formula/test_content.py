"""Writing and reading Content MathML."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from lxml import etree
from operator_trees import LINES

from porism.formula import parse
from porism.formula.canonical.forms import canonical
from porism.formula.mathml.content_reader import from_content
from porism.formula.mathml.content_writer import to_content
from porism.formula.operators.parse import operator_tree
from porism.formula.plaintext import tree_text

MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">'


def test_standard_elements_are_used_where_they_exist() -> None:
    assert to_content(operator_tree(parse("x^2+1").layout)) == (
        f"{MATH}<apply><plus/><apply><power/><ci>x</ci><cn>2</cn></apply><cn>1</cn></apply></math>"
    )


@pytest.mark.parametrize("latex", [line[0] for line in LINES])
def test_content_mathml_is_well_formed(latex: str) -> None:
    root = etree.fromstring(to_content(operator_tree(parse(latex).layout)).encode())
    assert root.tag.endswith("math")
    assert len(root) == 1


SAME = [
    "x^2+1=y",
    r"\frac{a-b}{c}",
    "f(x,y)",
    r"\sqrt[3]{x}",
    r"\sin x+\log y",
    "[a,b)",
    r"\{1,2\}",
    r"\binom nk",
    "a<b<c",
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
    r"|x|+\|y\|",
    r"A\cup B\subseteq C",
    r"P\Rightarrow\neg Q",
    "n!",
]


@pytest.mark.parametrize("latex", SAME)
def test_writing_and_reading_gives_the_same_tree(latex: str) -> None:
    tree = canonical(operator_tree(parse(latex).layout), "normalised").tree
    assert tree_text(canonical(from_content(to_content(tree)), "normalised").tree) == tree_text(tree)


READS = [
    (
        "<apply><csymbol cd='ambiguous'>superscript</csymbol><ci>𝑥</ci><cn>2</cn></apply>",
        "O!SUP(V!x, N!2)",
    ),
    (
        "<apply><apply><csymbol cd='ambiguous'>superscript</csymbol><apply><csymbol cd='ambiguous'>subscript</csymbol><sum/>"
        "<apply><eq/><ci>𝑘</ci><cn>1</cn></apply></apply><ci>𝑛</ci></apply><ci>𝑘</ci></apply>",
        "O!sum(V!k, U!eq(V!k, N!1), V!n)",
    ),
    (
        "<apply><and/><apply><lt/><ci>a</ci><ci id='b'>b</ci></apply><apply><leq/><share href='#b'/><ci>c</ci></apply></apply>",
        "O!chain(V!a, O!lt, V!b, O!leq, V!c)",
    ),
    (
        "<apply><int/><apply><times/><ci>𝑓</ci><apply><csymbol cd='latexml'>differential-d</csymbol><ci>𝑥</ci></apply></apply></apply>",
        "O!int(V!f, V!x)",
    ),
    (
        "<apply><apply><csymbol cd='ambiguous'>superscript</csymbol><sin/><cn>2</cn></apply><ci>x</ci></apply>",
        "O!SUP(F!sin(V!x), N!2)",
    ),
    (
        "<apply><divide/><apply><partialdiff/><ci>f</ci></apply><apply><partialdiff/><ci>x</ci></apply></apply>",
        "O!partialdiff(V!f, V!x)",
    ),
    ("<interval closure='open'><ci>a</ci><ci>b</ci></interval>", "M!V-2(V!a, V!b)"),
    ("<cerror><csymbol cd='ambiguous'>fragments</csymbol><ci>a</ci><ci>)</ci></cerror>", "E!fragments(V!a, V!))"),
    ("<apply><ci>⋅</ci><ci>a</ci><ci>b</ci></apply>", "U!dot(V!a, V!b)"),
    ("<ci>a</ci", "V!a"),
    ("", "W!"),
]


@pytest.mark.parametrize(("text", "tree"), READS)
def test_content_of_latexml_is_read(text: str, tree: str) -> None:
    assert tree_text(from_content(f"{MATH}{text}</math>")) == tree


@pytest.mark.shared
def test_official_trees_are_similar_to_ours(shared_data: Path) -> None:
    csv.field_size_limit(sys.maxsize)
    folder = shared_data / "arqmath-format/topic-formulas"
    with open(folder / "2021_formulas_latex.tsv", encoding="utf-8") as file:
        latex = {line.split("\t")[0]: line.rstrip("\n").split("\t")[4] for line in file}
    equal = count = 0
    with open(folder / "2021_formulas_opt.tsv", encoding="utf-8", newline="") as file:
        for row in list(csv.reader(file, delimiter="\t"))[1::4]:
            theirs = from_content(row[4])
            if "E!" not in tree_text(theirs) and "(" not in latex[row[0]]:
                ours = operator_tree(parse(latex[row[0]]).layout)
                equal += tree_text(canonical(ours, "commutative").tree) == tree_text(
                    canonical(theirs, "commutative").tree
                )
                count += 1
    assert count > 100
    assert equal / count > 0.85
