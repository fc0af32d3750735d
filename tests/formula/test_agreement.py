"""Agreement of our layout trees with the official files, on a sample; the bench compares all."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.formula import parse, parse_mathml, tangent

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def sample(shared_data: Path) -> list[tuple[str, str]]:
    """LaTeX and LaTeXML's Presentation MathML of every 60th formula of the slice."""
    pairs = []
    with (
        open(shared_data / "slice/formulas.tsv", encoding="utf-8", newline="\n") as formulas,
        open(shared_data / "slice/slt.tsv", encoding="utf-8", newline="\n") as trees,
    ):
        slt = dict(line.rstrip("\n").split("\t", 1) for line in trees)
        for number, line in enumerate(formulas):
            fields = line.rstrip("\n").split("\t")
            if number % 60 == 1 and slt.get(fields[0], "").startswith("<"):
                pairs.append((fields[5], slt[fields[0]]))
    return pairs


def test_agrees_with_latexml(sample: list[tuple[str, str]]) -> None:
    same = sum(tangent(parse(latex).layout) == tangent(parse_mathml(mathml).layout) for latex, mathml in sample)
    assert same / len(sample) >= 0.98


def test_none_is_opaque(sample: list[tuple[str, str]]) -> None:
    assert not [latex for latex, _ in sample if parse(latex).path == "opaque"]


def test_official_layout_strings(shared_data: Path) -> None:
    """The official strings of the judged formulas, except characters for which we have one label. (Limits differ by
    design: `lim` is a name with scripts.)"""
    same = count = 0
    with open(shared_data / "formula-pool-2020/formulas.tsv", encoding="utf-8", newline="\n") as file:
        names = next(file).rstrip("\n").split("\t")
        for number, line in enumerate(file):
            row = dict(zip(names, line.rstrip("\n").split("\t"), strict=False))
            if number % 10 or not row.get("slt"):
                continue
            count += 1
            official = row["slt"].replace("[-", "[−").replace("∥", "‖").replace("[𝑑", "[V!d").replace("V!¬", "¬")
            same += tangent(parse(row["latex"]).layout).replace("O!binom", "O!divide") == official
    assert same / count >= 0.75
