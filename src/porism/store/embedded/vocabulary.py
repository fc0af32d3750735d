"""The vocabulary of an index as a file: the words of its posts, counted.

It is read from at most MAX_POSTS posts, evenly spread, so that its cost is bounded; words that occur only once there
are mostly misspelt themselves and are left out, unless they are in a title."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from porism.analysis.learned import LONGEST, Vocabulary
from porism.corpus.content import Content
from porism.text.segment import Text
from porism.text.words import WORD

NAME = "vocabulary.tsv"
MAX_POSTS = 200_000


def count_words(content: Content) -> dict[str, int]:
    """Count the words of a collection as people write them; return them in alphabetical order."""
    counts: Counter[str] = Counter()
    titles: set[str] = set()
    step = max(1, content.count("posts") // MAX_POSTS)
    for number, post in enumerate(content.posts()):
        if number % step == 0:
            counts.update(_words(post.body))
            own = _words(post.title)
            counts.update(own)
            titles.update(own)
    return {word: counts[word] for word in sorted(counts) if counts[word] > 1 or word in titles}


def _words(text: Text) -> list[str]:
    plain = " ".join(segment.text for segment in text.segments if segment.kind == "text")
    return [word for word in WORD.findall(plain.lower()) if word.isalpha() and 1 < len(word) <= LONGEST]


def write_vocabulary(content: Content, directory: Path) -> None:
    """Write the words of a collection, one a line."""
    lines = (f"{word}\t{count}\n" for word, count in count_words(content).items())
    (directory / NAME).write_text("".join(lines), "utf-8")


def read_vocabulary(directory: Path) -> Vocabulary:
    """Return the vocabulary of an index; its file is read when a word is looked up."""

    def read() -> dict[str, int]:
        path = directory / NAME
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}

    return Vocabulary(read)
