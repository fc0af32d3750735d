"""Words of documents and queries: the engine's lexer, and the Porter stemming that the team applied before it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from porism.systems.lexical.nltk_tools import nltk_porter, nltk_tools

WORD = re.compile(r"[a-z0-9_]+")
# Where a sentence ends, NLTK's word tokenizer separates the full stop from the word; elsewhere it leaves it there. NLTK finds sentences with a
# model that must be downloaded; this rule needs none: a full stop before blank and capital letter, except after these abbreviations.
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])")
ABBREVIATIONS = (
    "e.g.",
    "i.e.",
    "cf.",
    "resp.",
    "vs.",
    "eq.",
    "fig.",
    "thm.",
    "dr.",
    "prof.",
    "mr.",
    "st.",
    "no.",
    "pp.",
    "p.",
)

Analyser = Callable[[str], list[str]]


def engine_words(text: str) -> list[str]:
    """Return the words as the engine's lexer splits them: ASCII letters, digits and underscores, in lower case."""
    return WORD.findall(text.lower())


def porter_words(text: str) -> list[str]:
    """Return the words after NLTK's word tokenizer, its Porter stemmer and its Treebank detokenizer."""
    tokens = [token for sentence in sentences(text) for token in nltk_tools().word_tokens(sentence)]
    return engine_words(nltk_tools().detokenize([_stemmed(token) for token in tokens]))


def sentences(text: str) -> list[str]:
    """Split text into sentences."""
    found: list[str] = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        if not text[start : match.start()].lower().endswith(ABBREVIATIONS):
            found.append(text[start : match.start()])
            start = match.end()
    return [*found, text[start:]]


@lru_cache(200_000)
def _stemmed(token: str) -> str:
    """Return the stem of a token; a hyphenated one keeps its hyphens, and each part is stemmed."""
    return "-".join(nltk_porter(part) for part in token.split("-"))


ANALYSERS: dict[str, Analyser] = {"none": engine_words, "porter": porter_words}
