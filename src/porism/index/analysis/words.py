"""Text becomes terms: stemmed words, and pairs of neighbouring words."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

FORMULA = (
    "\ua66e"  # a letter nobody writes: stands where a formula was cut out, so that no pair of words reaches across it
)


@lru_cache(2)
def _analyser(stem: bool = True) -> Any:
    """Words in lower case, stemmed by the engine's English stemmer if wished."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase())
    return (builder.filter(Filter.stemmer("english")) if stem else builder).build()


def _whole(text: str) -> str:
    """Half characters, which no text may hold, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(1)
def stopwords() -> frozenset[str]:
    """Words that say nothing of a subject, as written and as stems."""
    plain = files("porism.index.analysis").joinpath("stopwords.txt").read_text("utf-8").split()
    return frozenset(plain) | frozenset(stem for word in plain for stem in _analyser().analyze(word))


def stems(text: str) -> list[str]:
    """All words of a text as stems, stop words too, in order.

    >>> stems("Proving the Cauchy-Schwarz inequality")
    ['prove', 'the', 'cauchi', 'schwarz', 'inequ']
    """
    return list(_analyser().analyze(_whole(text)))


def tokens(text: str) -> list[str]:
    """All words of a text in lower case, one for each of its stems."""
    return list(_analyser(False).analyze(_whole(text)))


def words(text: str) -> list[str]:
    """The stems of a text without stop words and marks of formulas."""
    stop = stopwords()
    return [stem for stem in stems(text) if stem not in stop and stem != FORMULA]


def pairs(text: str) -> list[str]:
    """Neighbouring words (stop words between them skipped), within the stretches between formulas.

    >>> pairs("the axiom of choice")
    ['axiom_choic']
    """
    return neighbours(stems(text))


def neighbours(row: list[str]) -> list[str]:
    """The pairs of a row of stems."""
    stop = stopwords()
    out: list[str] = []
    left = ""
    for stem in row:
        if stem == FORMULA:
            left = ""
        elif stem not in stop:
            if left:
                out.append(f"{left}_{stem}")
            left = stem
    return out
