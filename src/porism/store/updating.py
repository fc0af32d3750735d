"""Bring an index to the state of a source, in one commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from porism.corpus.sources.raw import Source
from porism.corpus.update.delta import Delta
from porism.corpus.update.lines import read_json_lines
from porism.store import open_store

EXAMPLES = 5  # records named for each reason why something is skipped
WAIT_SECONDS = 60.0  # for another writer, such as a server that takes changes


def update_from_source(
    index: str | Path, source: Source, *, wait: float = WAIT_SECONDS, delete_many: bool = False
) -> Delta:
    """Add, replace and delete posts so that an index has what a source has; return what changed. Again it changes nothing.

    `wait`: seconds to wait for another writer. `delete_many`: delete the posts that a dump lacks even if they are most of them.
    """
    store = open_store(index)
    with store.writer(wait=wait) as writer:
        dropped = writer.compare(source, delete_many)
        delta = writer.commit()
    delta.skipped += dropped
    store.maintain()
    return delta


def update_from_lines(index: str | Path, lines: Iterable[str], where: str) -> Delta:
    """Make the changes of JSON Lines in one commit; return what changed."""
    store = open_store(index)
    with store.writer(wait=WAIT_SECONDS) as writer:
        writer.changes = read_json_lines(lines, where)
        delta = writer.commit()
    store.maintain()
    return delta


def changes_line(delta: Delta) -> str:
    """Return what changed, in a few words: "added posts 1, deleted posts 2"."""
    changed = ", ".join(f"{what} {number:,}" for what, number in sorted(delta.counts.items()) if number)
    return changed or "nothing has changed"


def skipped_lines(delta: Delta) -> Iterator[str]:
    """Yield what was skipped and why: for each reason the first few records, and the number of the others."""
    places: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for record in (*delta.skipped, *delta.remarks):
        places[record.what, record.why].append(record.where)
    for (what, why), found in places.items():
        yield from (f"skipped: {what} {place}: {why}" for place in found[:EXAMPLES])
        if len(found) > EXAMPLES:
            yield f"skipped: {what}: {len(found) - EXAMPLES:,} more: {why}"
