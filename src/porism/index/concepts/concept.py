"""Concepts: names that go with formulas, learned from the collection. For example, `pythagorean theorem` goes with a² + b² = c².

A name is a tag, or a phrase that ends in a noun like `theorem`. A formula is identified by its canonical form with renamed variables. A name
and a formula form a concept when they occur in the same posts far more often than by chance (Dunning's log-likelihood ratio).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from porism.index.analysis.words import FORMULA, stems, stopwords, tokens

NAME = "concepts.tsv"
LONGEST_NAME = 3  # words


class Concept(NamedTuple):
    """A name and a formula that go together.

    `name` is in stems, `display_name` as people write it. `formula_term` is the term of the formula's canonical form, `latex` the formula as
    people write it. `posts` have both, and `strength` is the log-likelihood ratio.
    """

    name: str
    display_name: str
    formula_term: str
    latex: str
    posts: int
    strength: float


class ConceptName(NamedTuple):
    """A name in a text: its stems, and the words as written."""

    stems: str
    text: str


@lru_cache(1)
def head_nouns() -> frozenset[str]:
    """Return the stems of nouns that end a name, such as theorem, formula and law."""
    return frozenset(stems(files("porism.index.concepts").joinpath("concept_heads.txt").read_text("utf-8")))


def find_names(text: str, all_stems: list[str] | None = None) -> Iterator[ConceptName]:
    """Yield the names in a text: each head noun with the one or two words before it. Pass the stems of the text if you have them.

    >>> [tuple(name) for name in find_names("by Fermat's theorem, the quadratic formulas")]
    [('fermat theorem', 'fermat theorem'), ('quadrat formula', 'quadratic formulas')]
    """
    found_stems = stems(text) if all_stems is None else all_stems
    stop, heads = stopwords(), head_nouns()
    if heads.isdisjoint(found_stems):
        return
    phrase: list[tuple[str, str]] = []  # stem and word
    for stem, word in zip(found_stems, tokens(text), strict=True):
        if stem == "s":  # of Fermat's
            continue
        if stem == FORMULA or stem in stop or stem.isdigit():
            phrase = []
            continue
        phrase.append((stem, word))
        if stem in heads and len(phrase) > 1:
            for size in range(2, min(LONGEST_NAME, len(phrase)) + 1):
                tail = phrase[-size:]
                yield ConceptName(" ".join(stem for stem, _ in tail), " ".join(word for _, word in tail))


def log_likelihood_ratio(both: int, left: int, right: int, total: int) -> float:
    """Return Dunning's statistic, twice the log-likelihood ratio of a 2 x 2 table.

    `both` posts have both, `left` and `right` posts have the one and the other, out of `total`. The result is 0 if the two occur together no
    more often than by chance.

    >>> round(log_likelihood_ratio(3, 3, 3, 100), 1)
    26.9
    """
    if both * total <= left * right:
        return 0.0
    cells = (both, left - both, right - both, total - left - right + both)
    margins = (left * right, left * (total - right), (total - left) * right, (total - left) * (total - right))
    return 2.0 * sum(
        cell * math.log(cell * total / margin) for cell, margin in zip(cells, margins, strict=True) if cell
    )


def write_concepts(concepts: Iterable[Concept], directory: Path) -> None:
    """Write concepts as a table."""
    with (directory / NAME).open("w", encoding="utf-8", newline="") as out:
        for concept in concepts:
            latex = " ".join(concept.latex.split())
            out.write(
                f"{concept.name}\t{concept.display_name}\t{concept.formula_term}\t{concept.posts}\t{concept.strength:.2f}\t{latex}\n"
            )


def read_concepts(directory: Path) -> list[Concept]:
    """Read the concepts of an index."""
    found = []
    for line in (directory / NAME).read_text("utf-8").splitlines():
        name, display_name, formula_term, posts, strength, latex = line.split("\t", 5)
        found.append(Concept(name, display_name, formula_term, latex, int(posts), float(strength)))
    return found
