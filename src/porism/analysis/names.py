"""Names: a title or a defined term as one term, and the names that a text emphasises."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from porism.text.segment import STORED, TAG, WORDS, Text
from porism.text.words import FORMULA, WORD, stem

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
    """Yield what a text emphasises, as definitions do with the name that they define. What contains a formula is left
    out."""
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
