"""Compare the index that lived with one that is built from scratch: all posts, and the answers to queries."""

from __future__ import annotations

import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from porism.search.engine import Engine

# Of scores. Vectors are learned from the 30,000 most frequent terms; which of the equally frequent ones are among them
# depends on the order in which terms came, and so do the vectors, a little.
TOLERANCE = 1e-3
HITS = 20
POST = attrgetter("id", "kind", "parent_id", "accepted_id", "score", "created", "owner_id", "tags")
COMMENT = attrgetter("id", "post_id", "score", "created", "owner_id")


class Difference(NamedTuple):
    """An answer that differs: the query and the first rank at which it does."""

    query: str
    rank: int
    live: object
    fresh: object


def build_fresh(dump: Path, folder: Path) -> Path:
    """Build collection and index of a dump from scratch."""
    for command in (
        ["build", str(dump), "-o", str(folder / "collection"), "--quiet"],
        ["index", str(folder / "collection"), "-o", str(folder / "index"), "--quiet"],
    ):
        subprocess.run([sys.executable, "-m", "porism.cli", *command], check=True, stdout=subprocess.DEVNULL)
    return folder / "index"


def stored_differences(live: Engine, fresh: Engine) -> list[str]:
    """Return which posts or comments are not in both, or differ in anything but their text, which the queries
    compare."""
    found = []
    contents = (live.content, fresh.content)
    for name, both in (
        ("post", [{post.id: POST(post) for post in content.posts()} for content in contents]),
        ("comment", [{one.id: COMMENT(one) for one in content.all_comments()} for content in contents]),
    ):
        one, other = both
        changed = [number for number in one.keys() & other.keys() if one[number] != other[number]]
        found += [f"{name} {number} is missing" for number in sorted(other.keys() - one.keys())]
        found += [f"{name} {number} should be gone" for number in sorted(one.keys() - other.keys())]
        found += [f"{name} {number}: {one[number]} instead of {other[number]}" for number in sorted(changed)]
    return found


def answer_differences(live: Engine, fresh: Engine, queries: list[str]) -> list[Difference]:
    """Return the queries whose answers differ: answers and questions in turn."""
    found = []
    for number, query in enumerate(queries):
        kind = ("answers", "questions")[number % 2]
        one, other = (
            [(hit.id, hit.score) for hit in engine.search(query, k=HITS, kind=kind).hits]  # type: ignore[arg-type]
            for engine in (live, fresh)
        )
        for rank in range(max(len(one), len(other))):
            mine, wanted = (hits[rank] if rank < len(hits) else None for hits in (one, other))
            if mine is None or wanted is None or not _equal(mine, wanted, other):
                found.append(Difference(query, rank + 1, mine, wanted))
                break
    return found


def _equal(mine: tuple[int, float], wanted: tuple[int, float], hits: list[tuple[int, float]]) -> bool:
    """Return whether two hits are equal: the same score, and the same post unless others have this score, too."""
    same = abs(mine[1] - wanted[1]) <= TOLERANCE * max(1.0, abs(wanted[1]))
    ties = {number for number, score in hits if abs(score - wanted[1]) <= TOLERANCE * max(1.0, abs(wanted[1]))}
    return same and (mine[0] == wanted[0] or mine[0] in ties or wanted == hits[-1])
