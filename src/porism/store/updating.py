"""Bring an index to the state of a source: once, in one commit, or whenever the files of a folder change."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from porism.corpus.build.pipeline import build
from porism.corpus.sources.documents.images import SUFFIXES
from porism.corpus.sources.folder import Folder, printable
from porism.corpus.sources.raw import RawPost, Source
from porism.corpus.update.changes import read_json_lines
from porism.corpus.update.delta import Delta
from porism.errors import PorismError
from porism.locks import BusyError
from porism.store import is_folder, open_content, open_store
from porism.store.maintenance import build_index, is_index

EXAMPLES = 5  # records named for each reason why something is skipped
WAIT_SECONDS = 60.0  # for another writer, such as a server that takes changes
WAKE_MS = 500  # how often the watcher looks whether the folder is still there
RETRY = 10.0  # seconds until an update that failed is tried again
BUSY = 0.5  # seconds between two attempts while another process writes the index
NAMED = 5  # files named in the line of a batch
EVERYTHING: frozenset[str] = frozenset()  # the paths of a Folder that is not limited
Say = Callable[[str], None]


def update_from_source(
    index: str | Path, source: Source, *, wait: float = WAIT_SECONDS, delete_many: bool = False
) -> Delta:
    """Add, replace and delete posts so that an index has what a source has; return what changed. Again it changes
    nothing.

    `wait`: seconds to wait for another writer. `delete_many`: delete the posts that a dump lacks even if they are most
    of them."""
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


class FolderWatcher:
    """Keeps an index current with a folder of documents. `say` receives a line for each batch and each problem."""

    def __init__(self, folder: str | Path, index: str | Path, say: Say, *, debounce: float = 1.0) -> None:
        self.folder = Path(folder)
        self.index = Path(index) if is_folder(index) else str(index)
        self._say = say
        self._debounce = debounce
        self._started = False
        if not self.folder.is_dir():
            raise PorismError("no such folder", where=str(folder), fix="name a folder of notes")
        if isinstance(self.index, Path) and self._is_exposed(self.index):
            fix = "name an index outside of the folder, or in a hidden folder such as .porism/index"
            raise PorismError("the index would be inside the folder that it follows", where=str(index), fix=fix)

    def _is_exposed(self, index: Path) -> bool:
        """Return whether an index would be read as notes: it is inside the folder, and not in a hidden one."""
        place, folder = index.resolve(), self.folder.resolve()
        return place.is_relative_to(folder) and not any(
            part.startswith(".") for part in place.relative_to(folder).parts
        )

    def run(self) -> None:
        """Follow the folder without end. A folder that disappears is waited for; its notes stay in the index."""
        while True:
            if self.folder.is_dir():
                for paths in self._batches():
                    self._apply(paths)
                self._say(f"{self.folder}: the folder is gone; waiting for it, the index stays as it is")
            time.sleep(BUSY)

    def _batches(self) -> Iterator[frozenset[str]]:
        """Yield changed paths, first EVERYTHING, until the folder is gone."""
        from watchfiles import watch  # an update needs no watcher

        quiet = max(50, int(self._debounce * 1000))
        started = False
        for events in watch(
            self.folder, watch_filter=None, step=quiet, debounce=10 * quiet, rust_timeout=WAKE_MS, yield_on_timeout=True
        ):
            if not self.folder.is_dir():
                return
            # The first turn comes when the file system already reports changes, so that none is missed.
            changed = self._relative(path for _, path in events)
            if not started or changed is None or changed:
                yield changed if started and changed is not None else EVERYTHING
                started = True

    def _relative(self, paths: Iterable[str]) -> frozenset[str] | None:
        """Return the paths inside the folder that matter; None if the whole folder must be compared."""
        found = set()
        for path in paths:
            inside = Path(path).resolve().parent.joinpath(Path(path).name).relative_to(self.folder.resolve())
            if any(part.startswith(".") for part in inside.parts):
                continue
            if not inside.parts or inside.suffix.lower() in SUFFIXES:
                return None
            found.add(inside.as_posix())
        return frozenset(found)

    def _apply(self, paths: frozenset[str]) -> None:
        """Apply a batch; after an error, try the whole folder again until it succeeds."""
        waiting = False
        while self.folder.is_dir():
            try:
                self._update(paths)
                self._started = True
                return
            except BusyError as error:
                if not waiting:
                    self._say(f"{error.where}: {error.message}; waiting for it")
                waiting = True
                time.sleep(BUSY)
            except (PorismError, OSError) as error:
                if not self._started:
                    raise  # the first comparison finds wrong arguments and damage; nobody has relied on the watcher yet
                self._say(f"{error}; trying again in {RETRY:g} seconds")
                time.sleep(RETRY)
                paths = EVERYTHING

    def _update(self, paths: frozenset[str]) -> None:
        began = time.perf_counter()
        if not is_index(self.index):
            self._build()
            return
        delta = update_from_source(self.index, Folder(self.folder, paths), wait=0.0)
        for line in skipped_lines(delta):
            self._say(line)
        if delta or not self._started:
            names = [printable(Path(path)) for path in sorted(paths)]
            more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
            shown = f" ({', '.join([*names[:NAMED], *more])})" if names else ""
            self._say(f"{self.index}: {changes_line(delta)}{shown}, {time.perf_counter() - began:.1f} s")

    def _build(self) -> None:
        """Build collection and index of the folder, once it has a document that can be read."""
        began = time.perf_counter()
        if isinstance(self.index, str):
            fix = f"build it first: porism build {self.folder} -o COLLECTION && porism index COLLECTION -o {self.index}"
            raise PorismError("there is no collection yet", where=self.index, fix=fix)
        place = self.index.with_name(f"{self.index.name}.collection")
        finished = place.is_dir()  # left by a watcher that was killed before it had the index
        if not finished:
            if not any(isinstance(record, RawPost) for record in Folder(self.folder).parts()[0].read()):
                self._say(f"{self.folder}: no documents yet; the index is built when there is one")
                return
            build([Folder(self.folder)], place)
        content = open_content(place)
        names = [source["name"] for source in content.facts["sources"]]
        if names != [self.folder.resolve().name]:
            fix = "move it away, or name another index"
            raise PorismError(f"a collection of {', '.join(names)}", where=str(place), fix=fix)
        made = build_index(content, self.index)
        self._say(f"{self.index}: built, {made.counts['posts']:,} posts, {time.perf_counter() - began:.1f} s")
        if finished:
            self._update(EVERYTHING)
