"""The report at the end of a build: rows read, kept and dropped, with reasons and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from porism.corpus.build.ledger import KEPT, READ

NAMES = (
    "documents",
    "posts",
    "dates of posts",
    "comments",
    "dates of comments",
    "links",
    "users",
    "badges",
    "votes",
    "revisions",
)
ORDER = {name: at for at, name in enumerate(NAMES)}


def report_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report as aligned text."""
    entries = manifest["ledger"]
    kinds = sorted({entry["what"] for entry in entries}, key=lambda what: (ORDER.get(what, len(ORDER)), what))
    entries = sorted(entries, key=lambda entry: kinds.index(entry["what"]))
    yield f"{'':32}{'read':>12}{'kept':>12}{'dropped':>12}"
    for what in kinds:
        mine = {entry["why"]: entry for entry in entries if entry["what"] == what}
        dropped = sum(entry["number"] for why, entry in mine.items() if why not in (READ, KEPT))
        numbers = (mine.get(READ, {}).get("number"), mine.get(KEPT, {}).get("number"), dropped or None)
        yield f"{what:32}" + "".join(f"{'' if number is None else format(number, ','):>12}" for number in numbers)
    for entry in entries:
        if entry["why"] not in (READ, KEPT):
            yield f"{entry['what']}: {entry['number']:,} {entry['why']}"
            yield from (f"    {example}" for example in entry["examples"])
    counts = manifest["counts"]
    yield (
        f"{counts['posts']:,} posts, {counts['comments']:,} comments, {counts['formulas']:,} formulas, "
        f"{counts['expressions']:,} distinct, {counts['visuals']:,} visual ids"
    )
    yield f"digest {manifest['digest']}"
