"""Words of a text, their stems by the Snowball stemmer for English (Porter2), and names: a title or a defined term as one term."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any
from unicodedata import normalize

from porism.text.segment import STORED, TAG, WORDS, Text

# A letter that nobody writes. It replaces each formula of a text, so that no pair of words spans a formula.
FORMULA = "\ua66e"
WORD = re.compile(r"[^\W_]+")
STEMS_KEPT = 200_000
LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i"}  # that are no letter with an accent


@lru_cache(1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)  # without its own cache: ours is shared and bounded


class _Stems(dict[str, str]):
    """Stems by word. A look-up is cheaper than a call of a cached function."""

    def __missing__(self, word: str) -> str:
        """Compute a stem and keep it."""
        if len(self) >= STEMS_KEPT:
            self.clear()
        found: str = _stemmer().stemWord(without_accents(word.lower()))
        self[word] = found
        return found


_stems = _Stems()


def without_accents(word: str) -> str:
    """Return a word without the accents of Latin letters: people search for Kollar and mean Kollár.

    >>> without_accents("kollár"), without_accents("й")
    ('kollar', 'й')
    """
    return word if word.isascii() else "".join(map(_plain_letter, word))


def _plain_letter(sign: str) -> str:
    base = normalize("NFKD", sign)[:1]
    return base if base.isascii() and base.isalpha() else LETTERS.get(sign, sign)


def stem(word: str) -> str:
    """Return the stem of a word in any case."""
    return _stems[word]


def stems_of(words: Iterable[str]) -> list[str]:
    """Return the stems of words."""
    return list(map(_stems.__getitem__, words))


@lru_cache(1)
def stopwords() -> frozenset[str]:
    """Return the stop words, as written and as stems."""
    plain = files("porism.analysis").joinpath("stopwords.txt").read_text("utf-8").split()
    return frozenset(plain) | frozenset(stem(word) for word in plain)


def stems(text: str) -> list[str]:
    """Return all words of a text as stems, stop words too, in order.

    >>> stems("Proving the Cauchy-Schwarz inequality")
    ['prove', 'the', 'cauchi', 'schwarz', 'inequ']
    """
    return stems_of(WORD.findall(text))


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


def name_keys(text: str, formulas: Sequence[str] = ()) -> list[str]:
    """Return the terms of a name: one, or two if it has hyphens, which people leave out. The mark FORMULA replaces each formula of the
    text.

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
    """Yield what a text emphasises, as definitions do with the name that they define. What contains a formula is left out."""
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
