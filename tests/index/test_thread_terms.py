"""Threads become rows: what stands where counts as it should, whether formulas were known before or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from porism.formula import parse
from porism.index.analysis.features import features
from porism.index.analysis.terms import FAMILIES, code, latex_codes
from porism.index.formulas.codes import CodesWriter, FormulaCodes, encode
from porism.index.storage.rows import RowBlock
from porism.index.threads import terms as thread_terms
from porism.index.threads.terms import VIEWS, ThreadTerms, pieces_of
from porism.records import Comment, Post, Thread


def math(number: int, latex: str) -> str:
    return f'<span class="math-container" id="{number}">{latex}</span>'


THREAD = Thread(
    Post(
        1, "question", 1, f"<p>Prove {math(2, 'x^2+y^2')}</p>", f"Sum of squares {math(1, 'x+y')}", ("number-theory",)
    ),
    (Post(2, "answer", 1, f"squares: {math(3, 'x+y')} and {math(4, 'x+y')}", parent_id=1),),
    (Comment(7, 2, "nice proof"), Comment(8, 1, "a duplicate of questions/5")),
)


def known(folder: Path, *latex: str) -> FormulaCodes:
    with CodesWriter(folder / "codes") as writer:
        found = [(one, features(parse(one).layout, parse(one).operators)) for one in latex]
        writer.add(encode([one for one, _ in found], [row for _, row in found]))
    writer.finish(folder / "forms", None)
    return FormulaCodes(folder / "codes", folder / "forms")


def counts(block: RowBlock, row: int = 0) -> dict[int, float]:
    start = int(block.sizes[:row].sum())
    span = slice(start, start + int(block.sizes[row]))
    return dict(zip(block.codes[span].tolist(), (block.counts[span] / 2).tolist(), strict=True))


def made(formulas: FormulaCodes, links: bool = True) -> dict[tuple[str, str], RowBlock]:
    terms = ThreadTerms()
    terms.add(THREAD, pieces_of(THREAD, ["Squares"], links))
    return terms.rows(formulas)


def test_words_count_by_field(tmp_path: Path) -> None:
    rows = made(known(tmp_path))
    words = counts(rows["thread", "words"])
    assert words[code("squar")] == 20 + 4 + 1  # title, linked title, answer
    assert words[code("number")] == 5
    assert words[code("proof")] == 0.5
    assert words[code("duplic")] == 1
    assert counts(rows["answer", "words"]) == {code("squar"): 1, code("nice"): 0.5, code("proof"): 0.5}
    assert counts(rows["links", "words"]) == {code("squar"): 1}
    assert rows["thread", "words"].lengths.tolist() == [sum(words.values())]


def test_without_links_a_comment_that_points_elsewhere_is_left_out(tmp_path: Path) -> None:
    assert code("duplic") not in counts(made(known(tmp_path), links=False)["thread", "words"])


def test_formulas_count_as_often_as_they_stand(tmp_path: Path) -> None:
    rows = made(known(tmp_path))
    wanted = {family: dict(found) for family, found in latex_codes("x+y")}
    for family in ("tuples", "paths", "parts"):
        assert counts(rows["answer", family]) == {number: 2 * times for number, times in wanted[family].items()}


@pytest.mark.parametrize("latex", [(), ("x+y",), ("x^2+y^2", "x+y", "z")])
def test_it_does_not_matter_which_formulas_were_known(tmp_path: Path, latex: tuple[str, ...]) -> None:
    plain, some = made(known(tmp_path / "none")), made(known(tmp_path / "some", *latex))
    for view in VIEWS:
        for family in FAMILIES:
            for left, right in zip(plain[view, family], some[view, family], strict=True):
                assert left.tolist() == right.tolist()


def test_more_rows_than_fit_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ThreadTerms()
    parts = ThreadTerms()
    for terms in (whole, parts):
        for _ in range(5):
            terms.add(THREAD, pieces_of(THREAD, [], True))
    formulas = known(tmp_path)
    wanted = whole.rows(formulas)
    monkeypatch.setattr(thread_terms, "ROWS", 2)
    found = parts.rows(formulas)
    assert all(np.array_equal(a, b) for key in wanted for a, b in zip(wanted[key], found[key], strict=True))
