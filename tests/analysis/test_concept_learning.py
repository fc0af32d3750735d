"""Names and formulas that occur together are found, whatever the sizes of blocks and batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from porism.analysis.learned import log_likelihood_ratio
from porism.analysis.terms import form_term
from porism.store.embedded import learned
from porism.store.embedded.learned import ConceptBlock, ConceptWriter, KeyOccurrences, learn

POSTS = 60


def block(posts: range, names: dict[int, set[int]], forms: dict[int, set[int]]) -> ConceptBlock:
    """Return the block of posts in which the given keys occur."""

    def occurrences(posts_of: dict[int, set[int]]) -> KeyOccurrences:
        found = [(key, post) for post in posts for key in sorted(posts_of) if post in posts_of[key]]
        keys = np.array([key for key, _ in found], np.uint64)
        at = np.array([post - posts.start for _, post in found], np.uint32)
        return KeyOccurrences(keys, at, {key: f"name {key}\tName {key}" for key, _ in found})

    return ConceptBlock(len(posts), occurrences(names), occurrences(forms))


# Name 1 and form 11 go together; name 2 is in too many posts, form 12 in one; form 13 is with name 1 by chance.
NAMES = {1: {3, 20, 41}, 2: set(range(40)), 3: {5, 50}}
FORMS = {11: {3, 20, 41}, 12: {5}, 13: {20, 30, 31}}


def write_occurrences(folder: Path, size: int) -> Path:
    with ConceptWriter(folder) as writer:
        for start in range(0, POSTS, size):
            writer.add(block(range(start, min(start + size, POSTS)), NAMES, FORMS))
    return folder


@pytest.mark.parametrize("size", [1, 7, POSTS])
def test_a_name_and_a_formula_of_the_same_posts_are_a_concept(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "MAX_SHARE", 0.2)
    monkeypatch.setattr(learned, "BATCH", 3)
    found = learn(write_occurrences(tmp_path, size), POSTS)
    assert [concept[:3] for concept in found] == [("name 1", "Name 1", form_term(11))]
    assert found[0].posts == 3
    assert found[0].strength == log_likelihood_ratio(3, 3, 3, POSTS)


def test_several_passes_find_the_same_concepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "MIN_STRENGTH", 0.0)
    folder = write_occurrences(tmp_path, 10)
    in_one_pass = learn(folder, POSTS)
    monkeypatch.setattr(learned, "PAIRS_IN_MEMORY", 1)
    assert learn(folder, POSTS) == in_one_pass != []


def test_no_posts_give_no_concepts(tmp_path: Path) -> None:
    with ConceptWriter(tmp_path):
        pass
    assert learn(tmp_path, 0) == []
