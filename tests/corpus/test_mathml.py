"""Trees from the MathML of the source instead of from LaTeX."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from porism.corpus.build.parsing import EMPTY, ERROR, ILL_FORMED, read_mathml
from porism.corpus.build.select import Options
from porism.corpus.sources.arqmath import V1
from porism.formula import Parsed, tangent
from porism.formula.binary import unpack

from .small import built, question, tally, write_dump
from .test_arqmath import write_table
from .test_slice import write_cut

OFFICIAL = Options(trees="official")
LAYOUT = "<math><semantics><mrow><mi>f</mi><mo>+</mo><mi>g</mi></mrow></semantics></math>"
CONTENT = "<math><apply><times/><ci>f</ci><ci>g</ci></apply></math>"


def test_both_trees_come_from_the_files_and_have_no_positions() -> None:
    parsed = read_mathml("x", LAYOUT, CONTENT)
    assert isinstance(parsed, Parsed)
    assert tangent(parsed.layout) == "[V!f[+[V!g]]]"
    assert parsed.operators.label == "U!times"
    assert not any(node.places for tree in (parsed.layout, parsed.operators) for node in tree.walk())


@pytest.mark.parametrize("content", [None, "<math><apply><times/>"])
def test_without_readable_content_the_operators_come_from_the_layout(content: str | None) -> None:
    parsed = read_mathml("x", LAYOUT, content)
    assert isinstance(parsed, Parsed)
    assert parsed.operators.label == "U!plus"


@pytest.mark.parametrize(
    ("mathml", "why"),
    [
        ("<math><mi>a</mi><mo><</mo></math>", ILL_FORMED),
        ("<math><mi>a</mi>", ILL_FORMED),
        (r"<math><merror><mtext>\foo</mtext></merror></math>", ERROR),
        ("<math><mspace/></math>", EMPTY),
    ],
)
def test_unusable_mathml(mathml: str, why: str) -> None:
    assert read_mathml("a", mathml, None) == why


def write_tables(folder: Path) -> None:
    write_dump(folder, Posts=[question(1, "<p>$a$ $b$ $c$</p>")])
    (folder / "Posts.xml").rename(folder / "Posts.V1.3.xml")
    rows = [(at, 1, 1, "question", latex) for at, latex in enumerate("abc", 1)]
    write_table(folder / "latex_representation", V1, *rows)
    slt = ["<math><mi>p</mi></math>", "<math><mi>q</math>", ""]
    write_table(folder / "slt_representation", V1, *((*row[:4], text) for row, text in zip(rows, slt, strict=True)))
    write_table(folder / "opt_representation", V1, (*rows[0][:4], "<math><ci>p</ci></math>"))


def test_a_build_uses_given_mathml_and_counts_what_is_unusable(tmp_path: Path) -> None:
    write_tables(tmp_path / "lab")
    made = built(tmp_path / "c", tmp_path / "lab", options=OFFICIAL)
    found = made.expressions_by_formula([1, 2, 3])
    labels = [[tree.label for tree in unpack(found[number].trees)] for number in (1, 2, 3)]
    assert labels == [["V!p", "V!p"], ["V!b", "V!b"], ["V!c", "V!c"]]
    counts = tally(made)
    assert (counts["official MathML", "read"], counts["official MathML", "kept"]) == (2, 1)
    assert counts["official MathML", ILL_FORMED] == 1
    assert found[2].problem == ILL_FORMED
    assert made.manifest["options"]["trees"] == "official"


def test_by_default_trees_come_from_latex(tmp_path: Path) -> None:
    write_tables(tmp_path / "lab")
    made = built(tmp_path / "c", tmp_path / "lab")
    assert unpack(made.expressions_by_formula([1])[1].trees)[0].label == "V!a"
    assert made.manifest["options"]["trees"] == "latex"
    assert ("official MathML", "read") not in tally(made)


def test_a_cut_and_a_table_of_formulas_with_mathml(tmp_path: Path) -> None:
    cut = write_cut(tmp_path / "cut")
    (cut / "slt.tsv").write_text("id\tmathml\n31\t<math><mi>T</mi></math>\n")
    table = tmp_path / "formulas.tsv"
    table.write_text(f"id\tlatex\tmathml\tcontent\n900\tv\t<math><mi>V</mi></math>\t{CONTENT}\n")
    made = built(tmp_path / "c", cut, table, options=OFFICIAL)
    trees = {number: unpack(one.trees) for number, one in made.expressions_by_formula([31, 32, 900]).items()}
    assert [layout.label for layout, _ in trees.values()] == ["V!T", "V!x", "V!V"]
    assert trees[900][1].label == "U!times"


@pytest.mark.shared
def test_the_official_topic_formulas(shared_data: Path) -> None:
    csv.field_size_limit(10**9)
    tables = []
    for kind in ("latex", "slt", "opt"):
        path = shared_data / f"arqmath-format/topic-formulas/2021_formulas_{kind}.tsv"
        with open(path, encoding="utf-8", newline="") as file:
            tables.append({row["id"]: row["formula"] for row in csv.DictReader(file, delimiter="\t")})
    latex, slt, opt = tables
    found = [read_mathml(latex[number], slt[number], opt[number]) for number in latex]
    causes = Counter(each for each in found if isinstance(each, str))
    assert (len(found), causes[ILL_FORMED]) == (843, 0), "none of 2021 is ill-formed"
    assert set(causes) == {ERROR}
    assert sum(isinstance(each, Parsed) for each in found) > 700
