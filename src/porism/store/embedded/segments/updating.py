"""Bring an index to the state of a source, in one commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from porism.corpus.sources.raw import Source
from porism.corpus.update.delta import Delta
from porism.corpus.update.lines import read_json_lines
from porism.corpus.update.sources import SourceComparison
from porism.errors import PorismError
from porism.store.embedded.manifest import SEARCH, read_manifest
from porism.store.embedded.segments.merging import merge
from porism.store.embedded.segments.writer import IndexWriter, open_collection_of

EXAMPLES = 5  # records named for each reason why something is skipped
WAIT_SECONDS = 60.0  # for another writer, such as a server that takes changes
MOST_LOST = 0.5  # share of the posts of a dump that a newer one may lack; more are deleted only on request


def update_from_source(
    index: str | Path, source: Source, *, wait: float = WAIT_SECONDS, delete_many: bool = False
) -> Delta:
    """Add, replace and delete posts so that an index has what a source has; return what changed. Again it changes nothing.

    `wait`: seconds to wait for another writer. `delete_many`: delete the posts that a dump lacks even if they are most of them.
    """
    place = Path(index)
    with IndexWriter(place, wait=wait) as writer:
        with open_collection_of(place, read_manifest(place, SEARCH)) as collection:
            comparison = SourceComparison(collection, source)
            writer.changes = comparison.changes()
            if source.kind != "folder" and not delete_many:
                _check_lost(comparison, str(source.path))
        writer.source = comparison.name
        delta = writer.commit()
    delta.skipped += comparison.dropped
    merge(place)
    return delta


def _check_lost(comparison: SourceComparison, source: str) -> None:
    """Refuse a dump that lacks most posts: it is probably that of another site, or only a part."""
    lost, held = comparison.lost, comparison.held
    if lost > MOST_LOST * held:
        raise PorismError(
            f"the source lacks {lost:,} of the {held:,} posts that the index has",
            where=source,
            fix="name a newer dump of the same site, or add --delete-many if these posts are gone",
        )


def update_from_lines(index: str | Path, lines: Iterable[str], where: str) -> Delta:
    """Make the changes of JSON Lines in one commit; return what changed."""
    with IndexWriter(index, wait=WAIT_SECONDS) as writer:
        writer.changes = read_json_lines(lines, where)
        delta = writer.commit()
    merge(index)
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
