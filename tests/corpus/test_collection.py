"""Opening a collection, or saying why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.formula.binary import unpack

from .small import answer, built, question, write_dump


@pytest.fixture
def made(tmp_path: Path) -> Collection:
    return built(tmp_path / "c", write_dump(tmp_path / "d", Posts=[question(1, "<p>$x$</p>"), answer(2, 1)]))


def test_no_collection(tmp_path: Path) -> None:
    with pytest.raises(PorismError) as error:
        Collection.open(tmp_path)
    assert (
        str(error.value) == f"{tmp_path}: not a collection (no manifest.json)\n  fix: porism build SOURCE -o {tmp_path}"
    )


def test_another_format(made: Collection) -> None:
    path = made.path / "manifest.json"
    path.write_text(json.dumps({**made.manifest, "format": 99}))
    with pytest.raises(PorismError) as error:
        Collection.open(made.path)
    message = f"{made.path}: a collection of format 99, not a collection of format 2"
    assert str(error.value) == f"{message}\n  fix: build the collection again with this version"
    path.write_text("{")
    with pytest.raises(PorismError, match="is damaged: it is not an object of JSON"):
        Collection.open(made.path)


def test_missing_store(made: Collection) -> None:
    (made.path / "collection.sqlite").unlink()
    with pytest.raises(PorismError, match=r"collection\.sqlite is missing"):
        Collection.open(made.path)


def test_a_collection_opens_on_a_read_only_disk(made: Collection) -> None:
    made.close()
    made.path.chmod(0o555)
    (made.path / "collection.sqlite").chmod(0o444)
    with Collection.open(made.path) as again:
        assert [post.id for post in again.posts("answer")] == [2]
    assert sorted(path.name for path in made.path.iterdir()) == ["collection.sqlite", "manifest.json"]


def test_unknown_ids_are_errors(made: Collection) -> None:
    by_id = (made.posts_by_id, made.formulas_by_id, made.expressions_by_id, made.visuals_by_id, made.threads_by_id)
    for ask in (*by_id, made.expressions_by_formula):
        with pytest.raises(PorismError, match=r"no .* 77 in this collection"):
            ask([1, 77])
    assert not made.users_by_id([77])
    assert 77 not in made.titles_by_id([1, 77])
    assert made.known_posts([1, 77]) == {1}


def test_expressions_carry_both_trees(made: Collection) -> None:
    layout, operators = unpack(made.expressions_by_id([1])[1].trees)
    assert (layout.label, operators.label) == ("V!x", "V!x")
