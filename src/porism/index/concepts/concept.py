"""Which names go with which formulas, learned from the collection: `pythagorean theorem` stands where a² + b² = c² stands.

A name is a phrase that ends in a word like theorem, or a tag. A formula is known by its renamed form. A name and a formula belong together
when posts that have the one have the other far more often than chance (Dunning's log-likelihood ratio) and often enough.
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
LONGEST = 3  # words of a name


class Concept(NamedTuple):
    """A name, as stems and as it is first written, and a formula that goes with it, by its renamed part and as it is first written."""

    name: str
    shown: str
    part: str
    latex: str
    posts: int
    strength: float


@lru_cache(1)
def heads() -> frozenset[str]:
    """Stems of words that end a name."""
    return frozenset(stems(files("porism.index.concepts").joinpath("concept_heads.txt").read_text("utf-8")))


def names(text: str) -> Iterator[tuple[str, str]]:
    """The names in a text, each as stems and as written: a head with the one or two words before it.

    >>> list(names("by Fermat's theorem, the quadratic formulas"))
    [('fermat theorem', 'fermat theorem'), ('quadrat formula', 'quadratic formulas')]
    """
    return names_of(text, stems(text))


def names_of(text: str, all_stems: list[str]) -> Iterator[tuple[str, str]]:
    """The names in a text whose stems are known."""
    stop, ends = stopwords(), heads()
    if ends.isdisjoint(all_stems):
        return
    row: list[tuple[str, str]] = []
    for stem, word in zip(all_stems, tokens(text), strict=True):
        if stem == "s":  # of Fermat's
            continue
        if stem == FORMULA or stem in stop or stem.isdigit():
            row = []
            continue
        row.append((stem, word))
        if stem in ends and len(row) > 1:
            for size in range(2, min(LONGEST, len(row)) + 1):
                yield " ".join(one for one, _ in row[-size:]), " ".join(one for _, one in row[-size:])


def likelihood(both: int, left: int, right: int, total: int) -> float:
    """Twice the log-likelihood ratio of a 2 x 2 table; 0 when the two are together no more often than by chance.

    >>> round(likelihood(3, 3, 3, 100), 1)
    26.9
    """
    if both * total <= left * right:
        return 0.0
    cells = (both, left - both, right - both, total - left - right + both)
    sums = (left * right, left * (total - right), (total - left) * right, (total - left) * (total - right))
    return 2.0 * sum(cell * math.log(cell * total / whole) for cell, whole in zip(cells, sums, strict=True) if cell)


def write_concepts(concepts: Iterable[Concept], directory: Path) -> None:
    """Write concepts as a table."""
    with (directory / NAME).open("w", encoding="utf-8", newline="") as out:
        for one in concepts:
            latex = " ".join(one.latex.split())
            out.write(f"{one.name}\t{one.shown}\t{one.part}\t{one.posts}\t{one.strength:.2f}\t{latex}\n")


def read_concepts(directory: Path) -> list[Concept]:
    """The concepts of an index."""
    found = []
    for line in (directory / NAME).read_text("utf-8").splitlines():
        name, shown, part, posts, strength, latex = line.split("\t", 5)
        found.append(Concept(name, shown, part, latex, int(posts), float(strength)))
    return found
