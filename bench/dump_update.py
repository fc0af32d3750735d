"""porism update with a newer dump: its cost by the share of posts that changed, beside building anew, and whether the
answers are the same.

PORISM_BENCH_POSTS (default 3000) is the number of generated posts. Processor time of all processes is measured, since
it depends least on what else the machine does.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from bench._resources import run_measured
from bench.generate_dump import generate, read_material
from porism.search.engine import Engine

POSTS = int(os.environ.get("PORISM_BENCH_POSTS", "3000"))
SHARES = (0.0, 0.01, 0.1)  # of the posts that change
COMPARED = 0.01  # the share for which answers are compared with those of an index that is built anew
EDITED, ADDED = 0.6, 0.2  # of the changes; the others are deletions
QUERIES = 20
DEPTH = 50  # hits of a query that are compared
Row = dict[str, str]


class Changes(NamedTuple):
    """How many posts of a dump were edited, added and deleted."""

    edited: int
    added: int
    deleted: int


class Hit(NamedTuple):
    """A hit and its score."""

    id: int
    score: float


def vary_dump(dump: Path, newer: Path, share: float, seed: int = 1) -> Changes:
    """Write a newer dump in which a share of the posts is edited, added or deleted. Only answers that are not accepted
    are deleted."""
    choice = random.Random(seed)
    shutil.copytree(dump, newer)
    posts = read_rows(dump / "Posts.xml")
    number = round(share * len(posts))
    counts = Changes(
        round(number * EDITED), round(number * ADDED), number - round(number * EDITED) - round(number * ADDED)
    )
    accepted = {post.get("AcceptedAnswerId") for post in posts}
    answers = [post for post in posts if post["PostTypeId"] == "2"]
    deleted = choice.sample([post["Id"] for post in answers if post["Id"] not in accepted], counts.deleted)
    kept = [post for post in posts if post["Id"] not in set(deleted)]
    for at, post in enumerate(choice.sample(kept, counts.edited)):
        post["Body"] += f"<p>Later it was shown that $x_{{{at}}}^2+{at}=y$ is enough.</p>"
    highest = max(int(post["Id"]) for post in posts)
    for at, post in enumerate(choice.sample(answers, counts.added), 1):
        kept.append({**post, "Id": str(highest + at), "Body": f"<p>Another way: $z^{{{at}}}-1$.</p>{post['Body']}"})
    write_rows(newer / "Posts.xml", "posts", kept)
    comments = [row for row in read_rows(dump / "Comments.xml") if row["PostId"] not in set(deleted)]
    write_rows(newer / "Comments.xml", "comments", comments)
    return counts


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file of a dump."""
    return [dict(row.attrib) for row in ElementTree.parse(path).getroot()]


def write_rows(path: Path, root: str, rows: list[Row]) -> None:
    """Write a file of a dump."""
    lines = (
        "  <row " + " ".join(f"{name}={quoteattr(value)}" for name, value in row.items()) + " />\n" for row in rows
    )
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<{root}>\n{"".join(lines)}</{root}>\n', "utf-8")


def hits_of(index: Path, queries: list[str]) -> list[list[Hit]]:
    """Return the best hits of queries: answers, then questions."""
    engine = Engine.open(index)
    return [
        [Hit(hit.id, hit.score) for hit in engine.search(query, DEPTH, kind).hits]
        for query in queries
        for kind in ("answers", "questions")
    ]


def same_rankings(first: list[list[Hit]], second: list[list[Hit]]) -> int:
    """Return how many rankings have the same posts in the same order."""
    return sum([hit.id for hit in a] == [hit.id for hit in b] for a, b in zip(first, second, strict=True))


def largest_difference(first: list[list[Hit]], second: list[list[Hit]]) -> float:
    """Return the largest difference between two scores of a post, relative to its score."""
    scores = [{hit.id: hit.score for hit in hits} for hits in second]
    pairs = (
        (hit.score, known[hit.id]) for hits, known in zip(first, scores, strict=True) for hit in hits if hit.id in known
    )
    return max((abs(one - other) / max(1.0, abs(other)) for one, other in pairs), default=0.0)


def porism(*arguments: str | Path) -> float:
    """Run a command of Porism; return its processor seconds."""
    return run_measured([sys.executable, "-m", "porism.cli", *map(str, arguments)]).processor_seconds


def build(dump: Path, folder: Path) -> float:
    """Build collection and index of a dump; return the processor seconds."""
    built = porism("build", dump, "-o", folder / "collection", "--quiet")
    return built + porism("index", folder / "collection", "-o", folder / "index", "--quiet")


def main() -> None:
    """Print the cost of updates by the share of changes, and compare the answers with those of an index that is built
    anew."""
    queries = [title for title, _ in read_material().titles][:QUERIES]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        generate(folder / "dump", POSTS)
        print(f"{POSTS:,} posts: build and index {build(folder / 'dump', folder / 'live'):.1f} s of processor time")
        for share in SHARES:
            _measure(folder, share, queries)


def _measure(folder: Path, share: float, queries: list[str]) -> None:
    place = folder / f"{share:g}"
    counts = vary_dump(folder / "dump", place / "dump", share) if share else Changes(0, 0, 0)
    dump = place / "dump" if share else folder / "dump"
    shutil.copytree(folder / "live", place / "live")
    index = place / "live" / "index"
    updated = porism("update", index, dump)
    print(f"{share:5.0%} changed ({sum(counts)} posts): update {updated:.1f} s", flush=True)
    if share != COMPARED:
        return
    anew = build(dump, place / "anew")
    expected = hits_of(place / "anew" / "index", queries)
    print(f"      built anew {anew:.1f} s")
    _compare("before a merge", hits_of(index, queries), expected)
    print(f"      merge {porism('store', 'merge', index, '--quiet'):.1f} s")
    _compare("after the merge", hits_of(index, queries), expected)


def _compare(when: str, found: list[list[Hit]], expected: list[list[Hit]]) -> None:
    same, difference = same_rankings(found, expected), largest_difference(found, expected)
    print(
        f"      {when}: {same} of {len(expected)} rankings as built anew; scores differ by {difference:.1e}", flush=True
    )


if __name__ == "__main__":
    main()
