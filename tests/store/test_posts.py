"""Term counts of a thread per post and field, whether or not its formulas were encoded before."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.analysis.schema import FIELDS, FORMULA_FAMILIES
from porism.analysis.terms import formula_terms, split_thread
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.formula import parse
from porism.store.embedded.formulas.codes import CodesWriter, FormulaCodes, encode_expressions
from porism.store.embedded.posts.build import FieldFormulas, Occurrences
from porism.store.embedded.storage.rows import FIELD_SHIFT, MOST_COUNT
from porism.store.embedded.terms.dictionary import DictionaryWriter, LocalRows, hash_terms
from porism.text.read import read_plain

ROWS = """  <row Id="1" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Score="1" Title="Sum of squares $x+y$" Body="&lt;p&gt;Prove $x^2+y^2$&lt;/p&gt;" Tags="&lt;number-theory&gt;" OwnerUserId="1" />
  <row Id="2" PostTypeId="2" ParentId="1" CreationDate="2020-01-02T00:00:00" Score="1" Body="&lt;p&gt;squares: $x+y$ and $x+y$&lt;/p&gt;" OwnerUserId="1" />
"""
COMMENTS = """  <row Id="7" PostId="2" Score="0" Text="nice proof" CreationDate="2020-01-03T00:00:00" UserId="1" />
  <row Id="8" PostId="1" Score="0" Text="a duplicate of questions/5" CreationDate="2020-01-03T00:00:00" UserId="1" />
"""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("posts")
    (folder / "dump").mkdir()
    for name, rows in (("Posts", ROWS), ("Comments", COMMENTS)):
        (folder / "dump" / f"{name}.xml").write_text(f"<{name.lower()}>\n{rows}</{name.lower()}>\n", "utf-8")
    return Collection.open(build([open_source(folder / "dump", "")], folder / "collection", jobs=1))


def known(folder: Path, collection: Collection, *latex: str) -> FormulaCodes:
    """Return the codes of the expressions of the collection that have this LaTeX."""
    dictionaries = {family: DictionaryWriter() for family in FORMULA_FAMILIES}
    found = [one.id for one in collection.expressions() if one.latex in latex]
    with CodesWriter(folder / "codes") as writer:
        encoded, hashes = encode_expressions(collection, found)
        writer.add(encoded, {family: dictionaries[family].intern(own) for family, own in hashes.items()})
    writer.finish(dictionaries, folder / "forms")
    return FormulaCodes(folder / "codes", folder / "forms")


Counts = dict[tuple[int, str, int], int]  # post, field, hash of the term


def counts(found: LocalRows) -> Counts:
    result: Counts = {}
    at = 0
    for post, size in enumerate(found.rows.sizes.tolist()):
        for code, cell in zip(
            found.rows.codes[at : at + size].tolist(), found.rows.cells[at : at + size].tolist(), strict=True
        ):
            result[post, FIELDS[cell >> FIELD_SHIFT], int(found.hashes[code])] = cell & MOST_COUNT
        at += size
    return result


def made(folder: Path, collection: Collection, *latex: str, links: bool = True) -> dict[str, LocalRows]:
    occurrences = Occurrences()
    thread = collection.threads_by_id([1])[1]
    pieces = split_thread(thread, [read_plain("Squares")], links)
    occurrences.add(thread, pieces, [FieldFormulas(1, "answer", [42]), FieldFormulas(0, "title", [42])])
    return occurrences.rows(known(folder, collection, *latex), collection)


def term(text: str) -> int:
    return int(hash_terms([text])[0])


def test_words_are_counted_raw_in_the_field_they_occur_in(collection: Collection, tmp_path: Path) -> None:
    words = counts(made(tmp_path, collection)["words"])
    assert {place[:2]: count for place, count in words.items() if place[2] == term("squar")} == {
        (0, "title"): 1,
        (0, "linked_titles"): 1,
        (1, "answer"): 1,
    }
    assert words[0, "tags", term("number")] == 1
    assert words[1, "answer_comments", term("proof")] == 1
    assert words[0, "question_comments", term("duplic")] == 1


def test_lengths_are_exact(collection: Collection, tmp_path: Path) -> None:
    rows = made(tmp_path, collection)["words"].rows
    assert rows.lengths[0].tolist() == [2, 1, 2, 1, 2, 0, 0, 0, 0, 0]  # title, question, tags, linked titles, comments
    assert rows.lengths[1].tolist() == [0, 0, 0, 0, 0, 1, 2, 0, 0, 0]


def test_without_links_a_comment_with_a_link_is_left_out(collection: Collection, tmp_path: Path) -> None:
    assert (0, "question_comments", term("duplic")) not in counts(made(tmp_path, collection, links=False)["words"])


def test_every_occurrence_of_a_formula_counts(collection: Collection, tmp_path: Path) -> None:
    found = made(tmp_path, collection)
    for family, terms in formula_terms(parse("x+y")).items():
        for one in set(terms):
            assert counts(found[family])[1, "answer", term(one)] == 2 * terms.count(one)


def test_tags_and_visual_ids_are_terms(collection: Collection, tmp_path: Path) -> None:
    found = made(tmp_path, collection)
    assert counts(found["tag"]) == {(0, "tags", term("number-theory")): 1}
    assert counts(found["formula"]) == {(0, "title", term("42")): 1, (1, "answer", term("42")): 1}


@pytest.mark.parametrize("latex", [(), ("x+y",), ("x^2+y^2", "x+y", "z")])
def test_rows_do_not_depend_on_which_formulas_were_encoded_before(
    collection: Collection, tmp_path: Path, latex: tuple[str, ...]
) -> None:
    plain, some = made(tmp_path / "none", collection), made(tmp_path / "some", collection, *latex)
    for family, rows in plain.items():
        assert counts(rows) == counts(some[family])
