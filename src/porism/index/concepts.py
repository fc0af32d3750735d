"""Which names go with which formulas, learned from the collection: `pythagorean theorem` stands where a² + b² = c² stands.

A name is a phrase that ends in a word like theorem, or a tag. A formula is known by its renamed form. A name and a formula belong together
when posts that have the one have the other far more often than chance (Dunning's log-likelihood ratio) and often enough.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from porism.corpus.collection import Collection
from porism.formula import parse
from porism.index.features import RENAMED
from porism.index.posts import read, tag_text
from porism.index.terms import formula_terms
from porism.index.words import FORMULA, stems, stopwords, tokens
from porism.records import Thread

NAME = "concepts.tsv"
SUPPORT = 2  # posts that must have both
LIKELY = 10.83  # of the ratio: chance does this once in a thousand
MOST = 8  # formulas of a name, and names of a formula
SMALLEST = 9  # tuples of a formula; a smaller one stands everywhere
LONGEST = 3  # words of a name
COMMON = 0.05  # share of posts beyond which a name or formula tells nothing


class Concept(NamedTuple):
    """A name, as stems and as it is first written, and a formula that goes with it, by its renamed part and as it is first written."""

    name: str
    shown: str
    part: str
    latex: str
    posts: int
    strength: float


@lru_cache(1)
def heads() -> frozenset[str]:
    """Stems of words that end a name."""
    return frozenset(stems(files("porism.index").joinpath("concept_heads.txt").read_text("utf-8")))


def names(text: str) -> Iterator[tuple[str, str]]:
    """The names in a text, each as stems and as written: a head with the one or two words before it.

    >>> list(names("by Fermat's theorem, the quadratic formulas"))
    [('fermat theorem', 'fermat theorem'), ('quadrat formula', 'quadratic formulas')]
    """
    stop, ends = stopwords(), heads()
    row: list[tuple[str, str]] = []
    for stem, word in zip(stems(text), tokens(text), strict=True):
        if stem == "s":  # of Fermat's
            continue
        if stem == FORMULA or stem in stop or stem.isdigit():
            row = []
            continue
        row.append((stem, word))
        if stem in ends and len(row) > 1:
            for size in range(2, min(LONGEST, len(row)) + 1):
                yield " ".join(one for one, _ in row[-size:]), " ".join(one for _, one in row[-size:])


@lru_cache(50_000)
def whole_part(latex: str) -> str:
    """The term of a formula as a whole at the renamed level; empty for a small one."""
    terms = formula_terms(parse(latex))
    if len(terms["tuples"]) < SMALLEST:
        return ""
    return next((term for term in terms["parts"] if term.startswith(RENAMED)), "")


class _Seen:
    """In which posts each thing stands. An answer speaks of what the title and the tags of its question name."""

    def __init__(self) -> None:
        self.posts = 0
        self.shown: dict[str, str] = {}
        self.latex: dict[str, str] = {}
        self.where: dict[str, list[int]] = defaultdict(list)
        self.inside: dict[str, list[int]] = defaultdict(list)

    def add(self, thread: Thread) -> None:
        """Count the posts of one thread."""
        title, formulas = read(thread.question.title)
        given = dict(names(title))
        given |= {" ".join(stems(tag_text((tag,)))): tag_text((tag,)) for tag in thread.question.tags if "-" in tag}
        for post in (thread.question, *thread.answers):
            text, own = read(post.body)
            self._count(given | dict(names(text)), [*formulas, *own] if post is thread.question else own)

    def _count(self, found: dict[str, str], formulas: list[str]) -> None:
        for name in sorted(found):
            self.where[name].append(self.posts)
            self.shown.setdefault(name, found[name])
        parts = {part: latex for latex in reversed(formulas) if (part := whole_part(latex))}
        for part, latex in parts.items():
            self.inside[part].append(self.posts)
            self.latex.setdefault(part, latex)
        self.posts += 1


def learn(threads: Iterable[Thread]) -> list[Concept]:
    """The concepts of a stream of threads. Holds, for each name and formula, the posts it stands in."""
    seen = _Seen()
    for thread in threads:
        seen.add(thread)
    most = max(SUPPORT + 1, int(seen.posts * COMMON))
    parts = {part: rows for part, rows in seen.inside.items() if SUPPORT <= len(rows) <= most}
    having: dict[int, list[str]] = defaultdict(list)
    for part, rows in parts.items():
        for row in rows:
            having[row].append(part)
    found: list[Concept] = []
    for name, rows in seen.where.items():
        if not SUPPORT <= len(rows) <= most:
            continue
        together = Counter(part for row in rows for part in having.get(row, ()))
        for part, both in together.items():
            strength = likelihood(both, len(rows), len(parts[part]), seen.posts)
            if both >= SUPPORT and strength >= LIKELY:
                found.append(Concept(name, seen.shown[name], part, seen.latex[part], both, strength))
    return _strongest(found)


def _strongest(found: list[Concept]) -> list[Concept]:
    """The best few of every name that are also among the best few of their formula."""
    order = sorted(found, key=lambda one: (-one.strength, one.name, one.part))
    of_name: Counter[str] = Counter()
    of_part: Counter[str] = Counter()
    kept = []
    for one in order:
        if of_name[one.name] < MOST and of_part[one.part] < MOST:
            of_name[one.name] += 1
            of_part[one.part] += 1
            kept.append(one)
    return sorted(kept)


def likelihood(both: int, left: int, right: int, total: int) -> float:
    """Twice the log-likelihood ratio of a 2 x 2 table; 0 when the two are together no more often than by chance.

    >>> round(likelihood(3, 3, 3, 100), 1)
    26.9
    """
    if both * total <= left * right:
        return 0.0
    cells = (both, left - both, right - both, total - left - right + both)
    sums = (left * right, left * (total - right), (total - left) * right, (total - left) * (total - right))
    return 2.0 * sum(cell * math.log(cell * total / whole) for cell, whole in zip(cells, sums, strict=True) if cell)


def write_concepts(collection: Collection, directory: Path) -> None:
    """Learn the concepts of a collection and write them as a table."""
    lines = [
        f"{one.name}\t{one.shown}\t{one.part}\t{one.posts}\t{one.strength:.2f}\t{' '.join(one.latex.split())}\n"
        for one in learn(collection.threads())
    ]
    (directory / NAME).write_text("".join(lines), "utf-8")


def read_concepts(directory: Path) -> list[Concept]:
    """The concepts of an index."""
    found = []
    for line in (directory / NAME).read_text("utf-8").splitlines():
        name, shown, part, posts, strength, latex = line.split("\t", 5)
        found.append(Concept(name, shown, part, latex, int(posts), float(strength)))
    return found
