"""What is learned from a collection, as files of its index: the table of concepts, and the counted words of its posts.

Words are read from at most MAX_POSTS posts, evenly spread, so that the cost is bounded; words that occur only once
there are mostly misspelt themselves and are left out, unless they are in a title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from porism.analysis.learned import LONGEST, Concept, Vocabulary
from porism.corpus.content import Content
from porism.text.segment import Text
from porism.text.words import WORD

CONCEPTS, WORDS = "concepts.tsv", "vocabulary.tsv"
MAX_POSTS = 200_000


def write_concepts(concepts: Iterable[Concept], directory: Path) -> None:
    """Write concepts as a table."""
    with (directory / CONCEPTS).open("w", encoding="utf-8", newline="") as out:
        for name, display_name, term, latex, posts, strength in concepts:
            line = [name, display_name, term, str(posts), f"{strength:.2f}", " ".join(latex.split())]
            out.write("\t".join(line) + "\n")


def read_concepts(directory: Path) -> list[Concept]:
    """Read the concepts of an index."""
    found = []
    for line in (directory / CONCEPTS).read_text("utf-8").splitlines():
        name, display_name, formula_term, posts, strength, latex = line.split("\t", 5)
        found.append(Concept(name, display_name, formula_term, latex, int(posts), float(strength)))
    return found


def count_words(content: Content) -> dict[str, int]:
    """Count the words of a collection as people write them; return them in alphabetical order."""
    counts: Counter[str] = Counter()
    titles: set[str] = set()
    step = max(1, content.count("posts") // MAX_POSTS)
    for number, post in enumerate(content.posts()):
        if number % step == 0:
            in_title = _words(post.title)
            counts.update([*_words(post.body), *in_title])
            titles.update(in_title)
    return {word: counts[word] for word in sorted(counts) if counts[word] > 1 or word in titles}


def _words(text: Text) -> list[str]:
    plain = " ".join(segment.text for segment in text.segments if segment.kind == "text")
    return [word for word in WORD.findall(plain.lower()) if word.isalpha() and 1 < len(word) <= LONGEST]


def write_vocabulary(content: Content, directory: Path) -> None:
    """Write the words of a collection, one a line."""
    lines = (f"{word}\t{count}\n" for word, count in count_words(content).items())
    (directory / WORDS).write_text("".join(lines), "utf-8")


def read_vocabulary(directory: Path) -> Vocabulary:
    """Return the vocabulary of an index; its file is read when a word is looked up."""

    def read() -> dict[str, int]:
        path = directory / WORDS
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}

    return Vocabulary(read)
