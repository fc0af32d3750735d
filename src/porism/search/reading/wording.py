"""Wording of typed queries: phrases that say nothing are left out, and other words for the same idea are added."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from porism.text.words import WORD, stem

MAX_ADDED = 6  # words and phrases that are added to a query

# Punctuation at the edges of a query. A question mark before a letter is a wildcard, an exclamation mark behind a
# symbol a factorial. The end starts where no such mark precedes: a long run is read once.
_EDGES = re.compile(r"\A(?:[ ,;:!]|\?(?![A-Za-z]))+|(?<![ ,;:?])(?:[ ,;:?]|(?<=[^\W\d_]{2})!+|(?<=[\s?])!+)+\Z")


def _rows(name: str) -> list[str]:
    lines = files(__package__).joinpath(name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@cache
def _stop_phrases() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(_rows('phrases.tsv'))})(?!\w)[?,.!]*", re.IGNORECASE)


def without_stop_phrases(text: str) -> str:
    """Return a text without phrases that say nothing about its subject; the text itself if nothing else is left.

    >>> without_stop_phrases("please help, how do I integrate by parts")
    'integrate by parts'
    """
    left = _EDGES.sub("", " ".join(_stop_phrases().sub(" ", text).split()))
    return left if WORD.search(left) else text


@cache
def _synonyms() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the other words of an idea by the stems of each of its words."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in _rows("synonyms.tsv"):
        group = row.replace(" →", "").split("\t")
        for form in group[:1] if "→" in row else group:
            key = _stems(form)
            others = tuple(other for other in group if _stems(other) != key)
            found[key] = (*found.get(key, ()), *others)
    return found


def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in WORD.findall(text))


def synonyms_in(text: str) -> tuple[str, ...]:
    """Return other words for the ideas that a text names.

    >>> synonyms_in("eigen value of an abelian group")
    ('eigenvalue', 'commutative')
    """
    words = _stems(text)
    longest = max(map(len, _synonyms()))
    added: dict[str, None] = {}
    at = 0
    while at < len(words):
        size = next((n for n in range(longest, 0, -1) if words[at : at + n] in _synonyms() and at + n <= len(words)), 0)
        added |= dict.fromkeys(_synonyms()[words[at : at + size]] if size else ())
        at += max(1, size)
    new = (" ".join(word for word in WORD.findall(one) if stem(word) not in words) for one in added)
    return tuple(dict.fromkeys(one for one in new if one))[:MAX_ADDED]


def has_synonyms(word: str) -> bool:
    """Return whether a word is listed, so that it is spelt right."""
    return (stem(word),) in _synonyms()
