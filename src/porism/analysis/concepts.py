"""Concepts: names of formulas, learned from the collection. For example, `pythagorean theorem` is a name of a² + b² = c².

A name is a tag, or a phrase that ends in a noun like `theorem`. A formula is identified by its canonical form with renamed variables. A name
and a formula form a concept when they occur in the same posts far more often than by chance (Dunning's log-likelihood ratio).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from porism.analysis.words import FORMULA, WORD, stems, stems_of, stopwords

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
    return frozenset(stems(files("porism.analysis").joinpath("concept_heads.txt").read_text("utf-8")))


def find_names(text: str) -> Iterator[ConceptName]:
    """Yield the names in a text: each head noun with the one or two words before it.

    >>> [tuple(name) for name in find_names("by Fermat's theorem, the quadratic formulas")]
    [('fermat theorem', 'fermat theorem'), ('quadrat formula', 'quadratic formulas')]
    """
    words = WORD.findall(text)
    return names_of(words, stems_of(words))


def names_of(words: Sequence[str], stems: Sequence[str]) -> Iterator[ConceptName]:
    """Yield the names in a text, given its words and their stems."""
    heads = head_nouns()
    for at in [at for at, found in enumerate(stems) if found in heads]:
        if not _separates(stems[at]):
            phrase = _phrase(at, stems)
            for size in range(2, len(phrase) + 1):
                tail = phrase[-size:]
                name = " ".join([stems[place] for place in tail])
                yield ConceptName(name, " ".join([words[place].lower() for place in tail]))


def _phrase(end: int, stems: Sequence[str]) -> list[int]:
    """Return the positions of the words before a head noun that may belong to its name, and its own."""
    phrase = [end]
    while end > 0 and len(phrase) < LONGEST_NAME:
        end -= 1
        if stems[end] == "s":  # of Fermat's
            continue
        if _separates(stems[end]):
            break
        phrase.insert(0, end)
    return phrase


def _separates(found: str) -> bool:
    """Return whether a stem is part of no name."""
    return found == FORMULA or found in stopwords() or found.isdigit()


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
