"""What is counted of a thread, per post and field, whether its formulas were known before or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.post import Comment, Post, Thread
from porism.formula import parse
from porism.index.analysis.features import features
from porism.index.analysis.terms import formula_terms
from porism.index.formulas.codes import CodesWriter, FormulaCodes, encode, new_vocabularies
from porism.index.posts.occurrences import Occurrences, VisualUse
from porism.index.posts.pieces import pieces_of
from porism.index.schema import FIELDS, FORMULA_FAMILIES
from porism.index.storage.rows import FIELD_SHIFT, MOST_COUNT
from porism.index.terms.blocks import LocalRows
from porism.index.terms.dictionary import DictionaryWriter, hash_terms
from porism.text.read import read_plain

THREAD = Thread(
    Post(1, "question", 1, read_plain("Prove $x^2+y^2$"), read_plain("Sum of squares $x+y$"), ("number-theory",)),
    (Post(2, "answer", 1, read_plain("squares: $x+y$ and $x+y$"), parent_id=1),),
    (Comment(7, 2, read_plain("nice proof")), Comment(8, 1, read_plain("a duplicate of questions/5"))),
)


def known(folder: Path, *latex: str) -> FormulaCodes:
    vocabularies, dictionaries = new_vocabularies(), {family: DictionaryWriter() for family in FORMULA_FAMILIES}
    with CodesWriter(folder / "codes") as writer:
        encoded = encode(latex, [features(parse(one).layout, parse(one).operators) for one in latex], vocabularies)
        writer.add(encoded, {name: dictionaries[name].intern(one.hashes()) for name, one in vocabularies.items()})
    writer.finish(dictionaries, folder / "forms", None)
    return FormulaCodes(folder / "codes", folder / "forms")


Counts = dict[tuple[int, str, int], int]  # post, field, hash of the term


def counts(found: LocalRows) -> Counts:
    assert found.hashes is not None
    result: Counts = {}
    at = 0
    for post, size in enumerate(found.rows.sizes.tolist()):
        for code, cell in zip(
            found.rows.codes[at : at + size].tolist(), found.rows.cells[at : at + size].tolist(), strict=True
        ):
            result[post, FIELDS[cell >> FIELD_SHIFT], int(found.hashes[code])] = cell & MOST_COUNT
        at += size
    return result


def made(formulas: FormulaCodes, links: bool = True) -> dict[str, LocalRows]:
    occurrences = Occurrences()
    occurrences.add(
        THREAD,
        pieces_of(THREAD, [read_plain("Squares")], links),
        [VisualUse(1, "answer", 42), VisualUse(0, "title", 42)],
    )
    return occurrences.rows(formulas)


def term(text: str) -> int:
    return int(hash_terms([text])[0])


def test_words_are_counted_raw_in_the_field_they_occur_in(tmp_path: Path) -> None:
    words = counts(made(known(tmp_path))["words"])
    assert {place[:2]: count for place, count in words.items() if place[2] == term("squar")} == {
        (0, "title"): 1,
        (0, "linked_titles"): 1,
        (1, "answer"): 1,
    }
    assert words[0, "tags", term("number")] == 1
    assert words[1, "answer_comments", term("proof")] == 1
    assert words[0, "question_comments", term("duplic")] == 1


def test_lengths_are_exact(tmp_path: Path) -> None:
    rows = made(known(tmp_path))["words"].rows
    assert rows.lengths[0].tolist() == [2, 1, 2, 1, 2, 0, 0]  # title, question, tags, linked titles, comments
    assert rows.lengths[1].tolist() == [0, 0, 0, 0, 0, 1, 2]


def test_without_links_a_comment_that_points_elsewhere_is_left_out(tmp_path: Path) -> None:
    assert (0, "question_comments", term("duplic")) not in counts(made(known(tmp_path), links=False)["words"])


def test_formulas_count_as_often_as_they_occur(tmp_path: Path) -> None:
    found = made(known(tmp_path))
    for family, terms in formula_terms(parse("x+y")).items():
        for one in set(terms):
            assert counts(found[family])[1, "answer", term(one)] == 2 * terms.count(one)


def test_tags_and_visual_ids_are_terms(tmp_path: Path) -> None:
    found = made(known(tmp_path))
    assert counts(found["tag"]) == {(0, "tags", term("number-theory")): 1}
    assert counts(found["formula"]) == {(0, "title", term("42")): 1, (1, "answer", term("42")): 1}


@pytest.mark.parametrize("latex", [(), ("x+y",), ("x^2+y^2", "x+y", "z")])
def test_it_does_not_matter_which_formulas_were_known(tmp_path: Path, latex: tuple[str, ...]) -> None:
    plain, some = made(known(tmp_path / "none")), made(known(tmp_path / "some", *latex))
    for family, rows in plain.items():
        assert counts(rows) == counts(some[family])
