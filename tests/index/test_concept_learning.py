"""Names and formulas that stand together are found, however the posts are cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from porism.index.analysis.terms import form_term
from porism.index.concepts import learning as concept_learning
from porism.index.concepts.concept import likelihood
from porism.index.concepts.learning import learn
from porism.index.concepts.pairs import ConceptBlock, ConceptWriter, Pairs

POSTS = 60


def block(posts: range, names: dict[int, set[int]], forms: dict[int, set[int]]) -> ConceptBlock:
    """Posts in which the given keys stand."""

    def pairs(where: dict[int, set[int]]) -> Pairs:
        found = [(key, post) for post in posts for key in sorted(where) if post in where[key]]
        keys = np.array([key for key, _ in found], np.uint64)
        at = np.array([post - posts.start for _, post in found], np.uint32)
        return Pairs(keys, at, [(key, f"name {key}\tName {key}") for key in dict.fromkeys(key for key, _ in found)])

    return ConceptBlock(len(posts), pairs(names), pairs(forms))


# Name 1 and form 11 go together; name 2 is in too many posts, form 12 in one; form 13 is with name 1 by chance.
NAMES = {1: {3, 20, 41}, 2: set(range(40)), 3: {5, 50}}
FORMS = {11: {3, 20, 41}, 12: {5}, 13: {20, 30, 31}}


def note(folder: Path, size: int) -> Path:
    with ConceptWriter(folder) as writer:
        for start in range(0, POSTS, size):
            writer.add(block(range(start, min(start + size, POSTS)), NAMES, FORMS))
    return folder


@pytest.mark.parametrize("size", [1, 7, POSTS])
def test_what_stands_together_is_found(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concept_learning, "COMMON", 0.2)
    monkeypatch.setattr(concept_learning, "STRETCH", 3)
    found = learn(note(tmp_path, size), POSTS)
    assert [(one.name, one.shown, one.part, one.posts) for one in found] == [("name 1", "Name 1", form_term(11), 3)]
    assert found[0].strength == likelihood(3, 3, 3, POSTS)


def test_many_meetings_are_counted_in_several_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concept_learning, "LIKELY", 0.0)
    folder = note(tmp_path, 10)
    at_once = learn(folder, POSTS)
    monkeypatch.setattr(concept_learning, "AT_ONCE", 1)
    assert learn(folder, POSTS) == at_once != []


def test_nothing_was_noted(tmp_path: Path) -> None:
    with ConceptWriter(tmp_path):
        pass
    assert learn(tmp_path, 0) == []
