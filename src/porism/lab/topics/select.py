"""Making topics: which questions could be asked, and which of them are taken."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection as Container
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from porism.corpus.store.collection import Collection
from porism.corpus.topics.text import spans
from porism.errors import PorismError
from porism.records import Post

WORD = re.compile(r"[^\W\d_]{2,}")
TAG = re.compile(r"<[^>]+>")
NEAR = 0.8  # share of common title words from which two questions are near-duplicates


@dataclass(frozen=True, slots=True)
class Limits:
    """The soft criteria, each a range; the lab never published its own, so all are open until someone closes them."""

    terms: tuple[int, int] = (0, 10**9)
    formulas: tuple[int, int] = (1, 10**9)
    score: tuple[int, int] = (-(10**9), 10**9)
    answers: tuple[int, int] = (0, 10**9)
    comments: tuple[int, int] = (0, 10**9)
    views: tuple[int, int] = (0, 10**9)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that could become a topic. `duplicates` and `related` are the oracle's and are never published."""

    post: Post
    duplicates: tuple[int, ...]
    related: tuple[int, ...]
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def stratum(self) -> str:
        """What the selection is spread over: the question's first tag."""
        return self.post.tags[0] if self.post.tags else "untagged"


def candidates(
    collection: Collection, limits: Limits | None = None, since: str = "", earlier: Iterable[str] = ()
) -> Iterator[Candidate]:
    """Questions with a formula and with a known duplicate in the collection, within the limits.

    With `since` (a date), topics are questions of that day or later and duplicates must be older, as in the lab. `earlier` are titles
    of topics that must not be asked again.
    """
    within = limits or Limits()
    old = [title_words(title) for title in earlier]
    for post in collection.posts("question"):
        if since and post.created < since:
            continue
        found = candidate(collection, post, since)
        if found is None or not all(low <= found.counts[name] <= high for name, (low, high) in ranges(within)):
            continue
        if not any(near(title_words(post.title), other) for other in old):
            yield found


def ranges(limits: Limits) -> list[tuple[str, tuple[int, int]]]:
    """The limits by name."""
    return [(name, getattr(limits, name)) for name in Limits.__slots__]


def candidate(collection: Collection, post: Post, since: str) -> Candidate | None:
    """The question with what is known of it, or None if a strict criterion fails."""
    formulas = sum(part.latex is not None for text in (post.title, post.body) for part in spans(text))
    links = [
        link for link in collection.links(post.id) if link.post_id == post.id and collection.has_post(link.other_id)
    ]
    duplicates = tuple(
        link.other_id for link in links if link.kind == "duplicate" and older(collection, link.other_id, since)
    )
    if not formulas or not duplicates:
        return None
    thread = collection.thread(post.id)
    counts = {
        "terms": len(WORD.findall(plain(post.title) + " " + plain(post.body))),
        "formulas": formulas,
        "score": post.score,
        "answers": len(thread.answers),
        "comments": sum(comment.post_id == post.id for comment in thread.comments),
        "views": post.views or 0,
    }
    return Candidate(post, duplicates, tuple(link.other_id for link in links if link.kind == "related"), counts)


def older(collection: Collection, number: int, since: str) -> bool:
    """Whether a duplicate lies before the day from which topics are taken."""
    return not since or collection.post(number).created < since


def plain(text: str) -> str:
    """The words of a field, without tags and formulas."""
    return TAG.sub(" ", "".join(part.source for part in spans(text) if part.latex is None))


def title_words(title: str) -> frozenset[str]:
    """The words of a title, to compare two of them."""
    return frozenset(word.lower() for word in WORD.findall(plain(title)))


def near(one: Container[str], two: Container[str]) -> bool:
    """Whether two titles have nearly the same words."""
    first, second = set(one), set(two)
    return bool(first) and len(first & second) / len(first | second) >= NEAR


def select(found: Sequence[Candidate], number: int, seed: int) -> list[Candidate]:
    """Choose topics, each stratum in proportion to its candidates (largest remainders), by chance within it; in the order of ids."""
    if len(found) < number:
        raise PorismError(
            f"{len(found)} candidates for {number} topics", fix="loosen the limits or ask for fewer topics"
        )
    sizes = Counter(one.stratum for one in found)
    shares = {name: size * number / len(found) for name, size in sizes.items()}
    quota = {name: int(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: (quota[name] - shares[name], name))
    for name in by_remainder[: number - sum(quota.values())]:
        quota[name] += 1
    chance = random.Random(seed)
    taken: list[Candidate] = []
    for name in sorted(sizes):
        members = [one for one in found if one.stratum == name]
        taken += chance.sample(members, quota[name])
    return sorted(taken, key=lambda one: one.post.id)
