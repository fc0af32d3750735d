"""Names in texts, and what is learned from a collection: concepts, which are names of formulas, and the vocabulary that
corrections of spelling choose from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.compiled import compiled
from porism.text.segment import STORED, TAG, WORDS, Text
from porism.text.words import FORMULA, WORD, stem, stems, stems_of, stopwords

MOST_WORDS = 12  # of a name; a longer text is a sentence
# Other stop words tell names apart: under determined, determined.
LEFT_OUT = frozenset(("a", "an", "the", "of", "for", "in", "on", "to", "and", "by", "de", "la", "le", "les", "des"))
_COMMAND = re.compile(r"\\[A-Za-z]+")  # of LaTeX that is no formula, for lack of a closing dollar sign
_POSSESSIVE = re.compile(r"['’]s\b")
_HYPHEN = re.compile(r"(?<=\w)[-‐‑–](?=\w)")
# Adjectives of people, and their names: Pythagorean, Pythagoras, Gaussian, Noetherian.
_OF_PERSON = re.compile(r"(?<=\w{4})(?:e?an|ian|as?)$")
_EMPHASIS = re.compile(r"<(/?)(?:em|i|b|strong|dfn)\b", re.IGNORECASE)
_NOT_IN_LATEX = re.compile(r"[\s{}$]+|\\[,;:! ]")
LONGEST_NAME = 3  # words
LONGEST = 40  # letters of a word; longer ones are no words


def name_keys(text: str, formulas: Sequence[str] = ()) -> list[str]:
    """Return the terms of a name: one, or two if it has hyphens, which people leave out. The mark FORMULA replaces each
    formula of the text.

    >>> name_keys("The Cauchy-Schwarz inequality"), name_keys("inequalities of Schwarz and Cauchy")
    (['cauchi inequ schwarz', 'cauchyschwarz inequ'], ['cauchi inequ schwarz'])
    >>> name_keys("Pythagorean theorem") == name_keys("Pythagoras' theorem")
    True
    """
    plain = _POSSESSIVE.sub("", _COMMAND.sub(" ", text))
    texts = (plain, _HYPHEN.sub("", plain)) if _HYPHEN.search(plain) else (plain,)
    symbols = [_NOT_IN_LATEX.sub("", latex) for latex in formulas]
    return [key for key in dict.fromkeys(_key(one, symbols) for one in texts) if key]


def query_keys(text: str, formulas: Sequence[str] = ()) -> list[str]:
    """Return the terms of what may be a name in a query: also with neighbouring words written as one.

    >>> query_keys("half plane")
    ['half plane', 'halfplan']
    """
    words = text.split()
    joined = (" ".join((*words[:at], words[at] + words[at + 1], *words[at + 2 :])) for at in range(len(words) - 1))
    texts = (text, *joined) if len(words) <= MOST_WORDS else (text,)
    return list(dict.fromkeys(key for one in texts for key in name_keys(one, formulas)))


def _key(text: str, symbols: Sequence[str]) -> str:
    words = [word for word in WORD.findall(text) if word != FORMULA]
    if len(words) > MOST_WORDS:
        return ""
    stems = [_OF_PERSON.sub("", stem(word)) for word in words if word.lower() not in LEFT_OUT]
    return " ".join(sorted((*stems, *symbols)))


def defined_terms(text: Text) -> Iterator[str]:
    """Yield the terms of the names that a text emphasises."""
    for name in emphasised_names(text):
        yield from name_keys(name)


def emphasised_names(text: Text) -> Iterator[str]:
    """Yield what a text emphasises, as definitions do with names; not what contains a formula."""
    words: list[str] | None = None
    for mark, content in STORED.findall(text.stored):
        if mark == TAG:
            if emphasis := _EMPHASIS.match(content):
                if words and emphasis[1]:
                    yield "".join(words)
                words = None if emphasis[1] else []
        elif words is not None and mark == WORDS:
            words.append(content)
        else:
            words = None


class Concept(NamedTuple):
    """A name and a formula that go together.

    `name` is in stems, `display_name` as people write it. `formula_term` is the term of the formula's canonical form,
    `latex` the formula as people write it. `posts` have both, and `strength` is the log-likelihood ratio."""

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

    `both` posts have both, `left` and `right` posts have the one and the other, out of `total`. The result is 0 if the
    two occur together no more often than by chance.

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


class NearWord(NamedTuple):
    """A word of the vocabulary near another one: how often it occurs, and how many letters were inserted, deleted,
    replaced or exchanged."""

    word: str
    uses: int
    distance: int


class Vocabulary:
    """The words of an index and their counts."""

    def __init__(self, read: Callable[[], Mapping[str, int]] = dict) -> None:
        """`read` returns the count of every word; it is called when the first word is looked up."""
        self._read = read

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The count of every word."""
        return self._read()

    @cached_property
    def _letters(self) -> tuple[list[str], npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """All words, their letters one after another, and where each word ends."""
        words = list(self.counts)
        letters = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
        return words, letters, np.cumsum([len(word) for word in words], dtype=np.int64)

    def near(self, word: str, distance: int) -> list[NearWord]:
        """Return the words within a distance (optimal string alignment), the nearest first, then the most frequent."""
        if not self.counts or not word or len(word) > LONGEST:
            return []
        words, letters, ends = self._letters
        wanted = np.frombuffer(word.encode("utf-32-le"), np.uint32)
        found = np.zeros(len(ends), np.uint8)
        _distances(wanted, letters, ends, distance, found)
        rows = np.flatnonzero(found <= distance).tolist()
        near = [NearWord(words[row], self.counts[words[row]], int(found[row])) for row in rows]
        return sorted(near, key=lambda one: (one.distance, -one.uses, one.word))


@compiled
def _distances(wanted: Any, letters: Any, ends: Any, limit: int, out: Any) -> None:
    """Write the distance of each word, or limit + 1 where it is larger."""
    size = len(wanted)
    rows = np.zeros((3, size + 1), np.int64)
    start = 0
    for number in range(len(ends)):
        end = ends[number]
        length = end - start
        if abs(length - size) > limit:
            out[number] = limit + 1
            start = end
            continue
        for column in range(size + 1):
            rows[0, column] = column
        smallest = 0
        for at in range(1, length + 1):
            now, last, before = at % 3, (at - 1) % 3, (at - 2) % 3
            rows[now, 0] = at
            smallest = at
            letter = letters[start + at - 1]
            for column in range(1, size + 1):
                cost = 0 if wanted[column - 1] == letter else 1
                best = min(rows[last, column] + 1, rows[now, column - 1] + 1, rows[last, column - 1] + cost)
                is_exchange = at > 1 and column > 1 and wanted[column - 2] == letter
                if is_exchange and wanted[column - 1] == letters[start + at - 2]:
                    best = min(best, rows[before, column - 2] + 1)
                rows[now, column] = best
                smallest = min(smallest, best)
            if smallest > limit + 1:
                break
        out[number] = min(limit + 1, rows[length % 3, size]) if smallest <= limit + 1 else limit + 1
        start = end
