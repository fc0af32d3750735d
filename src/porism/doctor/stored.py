"""An index on disk: its manifest, segments, collection, change log, and whether a search works."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from porism.doctor.environment import disk
from porism.doctor.findings import Finding
from porism.errors import PorismError
from porism.locks import is_locked, lock_of
from porism.search.answers.adaptation import Adaptation
from porism.search.verify import collection_of, remarks_on, verify_place
from porism.store import open_content
from porism.store.embedded.manifest import NAME, SEARCH, read_manifest

MANY_SEGMENTS = 16  # from which searches are noticeably slower
OLD_DAYS = 30
BACKLOG = 16 << 20  # bytes of the change log that should not wait for long
DAY = 86_400


class IndexCheckup:
    """The checks of one index."""

    def __init__(self, index: Path, verify: bool = False) -> None:
        self.index, self.verify = index, verify

    def state(self) -> Iterator[Finding]:
        """Report format, generation, segments, deletions and age; a manifest that is wrong is an error with its remedy."""
        if not self.index.exists():
            raise PorismError(
                "there is no such folder", where=str(self.index), fix="build it: porism index COLLECTION -o INDEX"
            )
        manifest = read_manifest(self.index, SEARCH)
        size = sum(file.size for file in manifest.files.values())
        fact = f"format {manifest.format}, commit {manifest.generation}, {len(manifest.files):,} files, {size / 1e6:,.1f} MB"
        yield Finding("index", f"{fact}, sizes as they should be")
        deleted = sum(bool(segment.deletions) for segment in manifest.segments)
        fact = f"{len(manifest.segments)}, of which {deleted} have deletions"
        if len(manifest.segments) >= MANY_SEGMENTS:
            yield Finding("segments", fact, "note", f"merge them: porism merge {self.index}")
        else:
            yield Finding("segments", fact)
        yield Finding("ranking", str(Adaptation.of(manifest)))
        yield self._age()
        yield disk(self.index, 2 * size)

    def _age(self) -> Finding:
        days = (time.time() - (self.index / NAME).stat().st_mtime) / DAY
        fact = f"last commit {days:,.1f} days ago"
        if days > OLD_DAYS:
            return Finding("age", fact, "note", f"if the posts have changed since: porism update {self.index} SOURCE")
        return Finding("age", fact)

    def collection(self) -> Iterator[Finding]:
        """Report whether the collection can be opened, and what is in it."""
        place = collection_of(self.index)
        found = open_content(place, verify="none")
        counts = f"{found.count('posts'):,} posts, {found.count('formulas'):,} formulas"
        yield Finding("collection", f"{place}: {counts}")

    def log(self) -> Iterator[Finding]:
        """Report changes that wait in the log of a writable server, and those that could not be applied."""
        log = self.index.with_name(f"{self.index.name}.log")
        rejected = self.index.with_name(f"{self.index.name}.log.rejected")
        if log.is_file():
            size = log.stat().st_size
            fix = "they are applied while a writable server runs: porism serve --writable"
            fact = f"{size / 1e6:.1f} MB in {log.name}"
            yield Finding("change log", fact, "action", fix) if size > BACKLOG else Finding("change log", fact)
        if rejected.is_file() and rejected.stat().st_size:
            with rejected.open("rb") as stream:
                number = sum(1 for _ in stream)
            fact = f"{number:,} changes could not be applied"
            yield Finding(
                "rejected changes", fact, "action", f"read {rejected}, send them corrected, and remove the file"
            )

    def files(self) -> Iterator[Finding]:
        """Report what a killed process left, who writes, and (if requested) whether every file is intact."""
        manifest = read_manifest(self.index, SEARCH)
        for remark in remarks_on(self.index, manifest.files):
            fact, _, fix = remark.partition(": ")
            yield Finding("leftovers", fact, "note", fix)
        if is_locked(lock_of(self.index)):
            yield Finding("writer", "a process writes the index now")
        if not self.verify:
            yield Finding("checksums", "not read", "note", f"to read every file: porism verify {self.index}")
            return
        damages = [damage for one in verify_place(self.index) for damage in one.damages]
        for damage in damages:
            yield Finding("checksums", f"{damage.part} {damage.fact}", "action", damage.fix)
        if not damages:
            yield Finding("checksums", "every file is intact")

    def search(self) -> Iterator[Finding]:
        """Report whether a search works."""
        from porism.search.engine import Engine

        engine = Engine.open(self.index)
        began = time.perf_counter()
        engine.search("square root $\\sqrt{x}$", k=1)
        yield Finding(
            "search", f"works, {1000 * (time.perf_counter() - began):.0f} ms for the first query of a process"
        )
