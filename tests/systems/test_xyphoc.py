"""XYPhoc: the layout model, regions and bits, cosine, idf, MathJax where it is at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.formula import parse
from porism.search.query import read_query
from porism.search.retriever import Retriever
from porism.systems.loading import open_system
from porism.systems.topic_queries import topic_query
from porism.systems.xyphoc.boxes import GlyphBox, glyph, glyphs_of, mathjax_formula, typeset
from porism.systems.xyphoc.retriever import Levels, count_bits, symbol_bits

TOPICS = Path(__file__).resolve().parents[2] / "sample" / "topics"


def boxes(latex: str) -> dict[str, GlyphBox]:
    return {box.name: box for box in typeset(parse(latex).layout)}


def middle(box: GlyphBox) -> float:
    return (box.bottom + box.top) / 2


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def system(demo: Path, cache: Path, name: str) -> Retriever:
    return open_system(demo / "index", name, 2, cache=cache)


def test_rows_run_to_the_right_and_scripts_are_smaller_and_shifted() -> None:
    found = boxes("x^a_b+y")
    assert found["𝑥"].right <= found["𝑎"].left == found["𝑏"].left
    assert middle(found["𝑎"]) > middle(found["𝑥"]) > middle(found["𝑏"])
    assert found["𝑎"].top - found["𝑎"].bottom < glyph("a").height
    assert found["+"].right < found["𝑦"].left


def test_fractions_have_a_bar_between_their_parts() -> None:
    found = boxes(r"\frac{a}{b+c}")
    assert middle(found["𝑎"]) > middle(found["-"]) > middle(found["𝑏"])
    assert found["-"].left < found["𝑏"].left
    assert found["-"].right > found["𝑐"].right


def test_roots_limits_brackets_and_tables() -> None:
    root = boxes(r"\sqrt[3]{x}")
    assert root["√"].left < root["𝑥"].left < root["𝑥"].right <= root["√"].right
    assert root["3"].left < root["𝑥"].left
    limits = boxes(r"\sum_{a}^{b} c")
    assert limits["𝑎"].top < limits["∑"].bottom < limits["∑"].top < limits["𝑏"].bottom
    tall = boxes(r"\left(\frac{a}{b}\right)")
    assert tall["("].top >= tall["𝑎"].top
    assert tall["("].bottom <= tall["𝑏"].bottom
    cells = boxes(r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}")
    assert middle(cells["𝑎"]) > middle(cells["𝑐"])
    assert cells["𝑎"].right < cells["𝑏"].left


def test_names_are_upright_and_spelled() -> None:
    assert [one.name for one in glyphs_of("V!sin")] == ["s", "i", "n"]
    assert [one.name for one in glyphs_of("V!x")] == ["𝑥"]
    assert [one.name for one in glyphs_of("N!12")] == ["1", "2"]
    assert glyphs_of("W!") == []


def test_number_of_bits() -> None:
    assert Levels(5, 5).bits == 29
    assert Levels(7, 7, 4).bits == 64


def test_a_wide_symbol_is_in_several_columns_and_in_one_row() -> None:
    wide = GlyphBox("w", 0, 0, 10, 1)
    narrow = GlyphBox("n", 0, 9, 1, 10)
    found = symbol_bits([wide, narrow], Levels(2, 2))
    # Bits: 0 present, 1 and 2 columns from the left, 3 and 4 rows from below.
    assert [bin(bits) for bits in found.bits.tolist()] == ["0b1111", "0b10011"]


def test_occurrences_of_a_symbol_are_united() -> None:
    found = symbol_bits([GlyphBox("x", 0, 0, 1, 1), GlyphBox("x", 9, 9, 10, 10)], Levels(2, 2))
    assert found.names == ["x"]
    assert bin(found.bits[0]) == "0b11111"


def test_ellipses_have_a_disc_in_the_middle_and_corners_outside() -> None:
    corner, centre = GlyphBox("a", 0, 0, 0.1, 0.1), GlyphBox("b", 4.9, 4.9, 5.1, 5.1)
    frame = GlyphBox("c", 9.9, 9.9, 10, 10)
    found = symbol_bits([corner, centre, frame], Levels(0, 0, 3))
    # Bits: 0 present, 1 and 2 of level 2, 3 to 5 of level 3; the first of a level is outside, the last is the disc.
    assert [bin(bits) for bits in found.bits.tolist()] == ["0b1011", "0b100101", "0b1011"]


def test_bits_are_counted() -> None:
    assert [count_bits(np.uint64(bits)) for bits in (0, 1, 7, 2**64 - 1)] == [0, 1, 3, 64]


@pytest.mark.parametrize("name", ["XYPhoc/xy7o4", "XYPhoc/xy5", "XYPhoc/xy5IDF"])
def test_cosine_and_explanation(demo: Path, cache: Path, name: str) -> None:
    made = system(demo, cache, name)
    query = topic_query(read_topics(TOPICS / "task2.xml")[0], 2)
    found = made.search(query, 10)
    assert 0 < found.scores[-1] <= found.scores[0] <= 1 + 1e-9
    hit = next(iter(found))
    assert made.explain(query, hit.id).value == pytest.approx(hit.score)
    assert made.notes == ("glyph boxes: our own layout model",)  # type: ignore[attr-defined]
    assert len(made.search(read_query("prime numbers"), 5)) == 0


def test_the_three_runs_differ(demo: Path, cache: Path) -> None:
    query = topic_query(read_topics(TOPICS / "task2.xml")[0], 2)
    names = ("XYPhoc/xy7o4", "XYPhoc/xy5", "XYPhoc/xy5IDF")
    orders = [tuple(system(demo, cache, name).search(query, 50).ids.tolist()) for name in names]
    assert len(set(orders)) == 3


def test_mathjax_that_is_not_at_hand_is_reported(
    demo: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NODE_PATH", raising=False)
    mathjax_formula.cache_clear()
    with pytest.raises(PorismError, match="boxes=mathjax needs"):
        open_system(demo / "index", "XYPhoc/xy5", 2, cache=cache, options={"xy_phoc": {"boxes": "mathjax"}})
