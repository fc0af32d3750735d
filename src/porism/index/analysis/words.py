"""Words of a text: tokens in lower case, and their stems by the Snowball stemmer for English (Porter2)."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

# A letter that nobody writes. It replaces each formula of a text, so that no pair of words spans a formula.
FORMULA = "\ua66e"
WORD = re.compile(r"[^\W_]+")
STEMS_KEPT = 200_000


@lru_cache(1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)  # without its own cache: ours is shared and bounded


@lru_cache(STEMS_KEPT)
def stem(word: str) -> str:
    """Return the stem of a word in any case."""
    found: str = _stemmer().stemWord(word.lower())
    return found


@lru_cache(1)
def stopwords() -> frozenset[str]:
    """Return the stop words, as written and as stems."""
    plain = files("porism.index.analysis").joinpath("stopwords.txt").read_text("utf-8").split()
    return frozenset(plain) | frozenset(stem(word) for word in plain)


def stems(text: str) -> list[str]:
    """Return all words of a text as stems, stop words too, in order.

    >>> stems("Proving the Cauchy-Schwarz inequality")
    ['prove', 'the', 'cauchi', 'schwarz', 'inequ']
    """
    return [stem(word) for word in WORD.findall(text)]


def tokens(text: str) -> list[str]:
    """Return all words of a text in lower case, one for each of its stems."""
    return [word.lower() for word in WORD.findall(text)]
