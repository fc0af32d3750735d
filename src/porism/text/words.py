"""Words of a text, and their stems by the Snowball stemmer for English (Porter2)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from unicodedata import normalize

# A letter that nobody writes. It replaces each formula of a text, so that no pair of words spans a formula.
FORMULA = "\ua66e"
WORD = re.compile(r"[^\W_]+")
STEMS_KEPT = 200_000
LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i"}  # that are no letter with an accent
STOPWORDS = frozenset(
    [
        "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any", "anyone", "are",
        "aren", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
        "can", "could", "couldn", "d", "did", "didn", "do", "does", "doesn", "doing", "don", "down", "during",
        "each", "edit", "few", "for", "from", "further", "get", "got", "had", "hadn", "has", "hasn", "have", "haven",
        "having", "he", "hello", "help", "her", "here", "hers", "herself", "hi", "him", "himself", "his", "how", "i",
        "if", "in", "into", "is", "isn", "it", "its", "itself", "just", "know", "let", "ll", "m", "me", "more",
        "most", "my", "myself", "need", "no", "nor", "not", "now", "o", "of", "off", "on", "once", "one", "only",
        "or", "other", "our", "ours", "ourselves", "out", "over", "own", "please", "question", "answer", "re", "s",
        "same", "see", "she", "should", "so", "some", "such", "t", "than", "thank", "thanks", "that", "the", "their",
        "theirs", "them", "themselves", "then", "there", "these", "they", "this", "those", "through", "to", "too",
        "try", "understand", "under", "until", "up", "us", "use", "using", "ve", "very", "want", "was", "wasn", "we",
        "were", "weren", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "won",
        "would", "y", "you", "your", "yours", "yourself",
    ]
)  # fmt: skip


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
    return STOPWORDS | frozenset(map(stem, STOPWORDS))


def stems(text: str) -> list[str]:
    """Return all words of a text as stems, stop words too, in order.

    >>> stems("Proving the Cauchy-Schwarz inequality")
    ['prove', 'the', 'cauchi', 'schwarz', 'inequ']
    """
    return stems_of(WORD.findall(text))
