"""The words of a query: those of title, body and tags whose stem is in lists of mathematical words, and hyphenated words.

The lists of MathDowers (names of tags, titles of Wikipedia articles, stop words) are files of their repository, which the user names. Without
them, lists are made by rule from the collection: an approximation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.systems.declared.context import SystemContext
from porism.systems.lexical.nltk_tools import nltk_porter
from porism.systems.mathdowers.words import treebank_tokens

PUBLISHED = "https://github.com/kiking0501/MathDowsers-ARQMath (data/stopwords and data/ARQMath/prepro_2021)"
OWN_STOP_WORDS = ("text", "amp", "align", "st", "na", "ca")
_PUNCTUATION = str.maketrans("", "", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_LATEX_STOP_WORDS = ("\\big", "\\text")
# Names under which each list may be found: as published, and as spelled correctly.
_STOP_FILES = {
    "nltk_stopwords.txt": "\0",
    "lucence_snowball_english_stop.txt": "|",
    "manual_stopwords.txt": "#",
}
_ALSO_NAMED = {"lucence_snowball_english_stop.txt": "lucene_snowball_english_stop.txt"}
_WORDS = "stems.txt"
_WORD = re.compile(r"[^\W\d_]+")
_CONTENT_WORDS = (
    *(
        "anyone",
        "edit",
        "get",
        "got",
        "hello",
        "help",
        "hi",
        "know",
        "let",
        "need",
        "one",
        "please",
        "question",
        "answer",
    ),
    *("see", "thank", "thanks", "try", "understand", "us", "use", "using", "want"),
)
_MORE_FUNCTION_WORDS = (
    *("may", "might", "must", "shall", "every", "either", "neither", "another", "much", "many", "yet", "though"),
    *("although", "whose", "whenever", "wherever", "something", "someone", "anybody", "somebody", "anything"),
    *("nothing", "everything", "ever", "never", "still", "already", "else", "instead", "since", "unless", "whether"),
    *("among", "upon", "within", "without"),
)
_STEM_FILES = ("MSE_tag_keywords.txt", "wiki_keywords.txt")


@dataclass(frozen=True)
class WordLists:
    """Stop words, and stems of mathematical words; `source` names where they come from."""

    stop: frozenset[str]
    stems: frozenset[str]
    source: str

    def is_stop(self, word: str) -> bool:
        """Check whether a word is a stop word, a single character, or has a digit."""
        return len(word) < 2 or word in self.stop or any(char.isdigit() for char in word.translate(_PUNCTUATION))


def read_lists(folder: Path) -> WordLists:
    """Read the word lists of MathDowers from a folder with its five files."""
    stop = {
        word
        for name, comment in _STOP_FILES.items()
        for line in _lines(folder, name)
        if (word := line.partition(comment)[0].strip())
    }
    stems = {
        line.rstrip("\n").split("\t")[-1]
        for name in _STEM_FILES
        for line in _lines(folder, name)
        if line.strip() and not line.startswith("#")
    }
    return WordLists(frozenset(stop), frozenset(stems), f"files in {folder.name}")


def _lines(folder: Path, name: str) -> list[str]:
    for candidate in (folder / name, folder / _ALSO_NAMED.get(name, name)):
        if candidate.is_file():
            return candidate.read_text("utf-8").splitlines()
    raise PorismError(
        f"the word list {name} is missing",
        where=str(folder),
        fix=f"copy the lists into one folder; published at {PUBLISHED}",
    )


def keywords(text: str, lists: WordLists) -> Iterator[str]:
    """Yield the words of a text that a query keeps: first those with hyphens read as blanks, then the hyphenated ones."""
    hyphenated = [token for token in treebank_tokens(text) if _is_hyphenated(token)]
    for token in (*treebank_tokens(text.replace("–", " ").replace("-", " ")), *hyphenated):
        word = token.lower()
        if lists.is_stop(word):
            continue
        stem = nltk_porter(word)
        if _is_hyphenated(stem) or stem in lists.stems:
            yield token
            continue
        bare = stem.translate(_PUNCTUATION).strip()
        if stem not in _LATEX_STOP_WORDS and not lists.is_stop(bare) and bare in lists.stems:
            yield token.translate(_PUNCTUATION).strip()


def _is_hyphenated(token: str) -> bool:
    inner = token.strip("–-")
    return "-" in inner or "–" in inner


def collection_lists(context: SystemContext) -> WordLists:
    """Make lists without those of MathDowers: function words stop, the words of tags and question titles are kept."""
    folder = context.cached("mathdowers-words", "", partial(_write_words, context.content))
    stems = (folder / _WORDS).read_text("utf-8").splitlines()
    source = (
        f"word lists made from tags and titles, an approximation; the lists of MathDowers are published at {PUBLISHED}"
    )
    return WordLists(_function_words(), frozenset(stems), source)


def _write_words(content: Content, folder: Path) -> None:
    lists = WordLists(_function_words(), frozenset(), "")
    words = {word for tag in content.tags() for word in tag.name.split("-")}
    for question in content.posts("question"):
        text = " ".join(segment.text for segment in question.title.segments if segment.kind == "text")
        words.update(_WORD.findall(text.lower()))
    stems = sorted({nltk_porter(word) for word in words if not lists.is_stop(word)})
    (folder / _WORDS).write_text("".join(f"{stem}\n" for stem in stems), "utf-8", newline="\n")


def _function_words() -> frozenset[str]:
    """Return the stop words of the default lists: those of Porism's index without content words, and more function words."""
    own = resources.files("porism.analysis").joinpath("stopwords.txt").read_text("utf-8").split()
    return frozenset((*OWN_STOP_WORDS, *_MORE_FUNCTION_WORDS, *own)) - frozenset(_CONTENT_WORDS)
