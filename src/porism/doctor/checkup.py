"""All checks in the order in which they are shown: of the installation, of plug-ins, and of an index."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from porism.corpus.sources.detect import own_kinds, plugin_kind
from porism.doctor.environment import (
    Check,
    Finding,
    compiled,
    disk,
    interpreter,
    machine,
    packages,
    run_checks,
    versions,
)
from porism.errors import PorismError
from porism.integrity import leftovers
from porism.locks import is_locked, lock_of
from porism.plugins import COMMANDS, FEATURES, SOURCES, STORES, SYSTEMS, Plugin, installed, plugins
from porism.search.features import own_features, plugin_features
from porism.search.index import Adaptation
from porism.store import is_folder, open_content, open_store
from porism.store.state import State
from porism.systems.declared.declaration import plugin_declarations, shipped

MANY_SEGMENTS = 16  # from which searches are noticeably slower
OLD_DAYS = 30
BACKLOG = 16 << 20  # bytes of the change log that should not wait for long
DAY = 86_400


class IndexCheckup:
    """The checks of one index."""

    def __init__(self, index: str | Path, verify: bool = False) -> None:
        self.index, self.verify = index, verify
        self.folder = Path(index) if is_folder(index) else None
        self.store = open_store(index)

    def state(self) -> Iterator[Finding]:
        """Report format, generation, segments, ranking and age. A wrong manifest is an error with its remedy."""
        if self.folder and not self.folder.exists():
            fix = "build it: porism index COLLECTION -o INDEX"
            raise PorismError("there is no such folder", where=str(self.index), fix=fix)
        found = self.store.status()
        fact = f"{found.format}, commit {found.generation}, {found.bytes / 1e6:,.1f} MB"
        yield Finding("index", f"{fact}, file sizes correct")
        segments = Finding("segments", f"{found.parts}")
        fix = f"merge them: porism store merge {self.index}"
        yield replace(segments, state="note", fix=fix) if found.parts >= MANY_SEGMENTS else segments
        yield Finding("ranking", str(Adaptation.parse(found.ranking)))
        days = (time.time() - found.committed) / DAY
        age = Finding("age", f"last commit {days:,.1f} days ago")
        fix = f"if the posts have changed since: porism update {self.index} SOURCE"
        yield replace(age, state="note", fix=fix) if days > OLD_DAYS else age
        if self.folder:
            yield disk(self.folder, 2 * found.bytes)

    def collection(self) -> Iterator[Finding]:
        """Report whether the collection can be opened, and what is in it."""
        found = open_content(self.index, verify="none")
        counts = f"{found.count('posts'):,} posts, {found.count('formulas'):,} formulas"
        yield Finding("collection", f"{found.name}: {counts}")

    def log(self) -> Iterator[Finding]:
        """Report changes that wait in the log of a writable server, and those that could not be applied."""
        if not self.folder:
            return  # it is in the state folder, if there is one
        state = State(self.index)
        log, rejected = state.log, state.rejected
        if log.is_file():
            size = log.stat().st_size
            fix = "they are applied while a writable server runs: porism serve --writable"
            fact = f"{size / 1e6:.1f} MB in {log.name}"
            yield Finding("change log", fact, "action", fix) if size > BACKLOG else Finding("change log", fact)
        if rejected.is_file() and rejected.stat().st_size:
            with rejected.open("rb") as stream:
                number = sum(1 for _ in stream)
            fact = f"{number:,} changes could not be applied"
            fix = f"read {rejected}, send them corrected, and remove the file"
            yield Finding("rejected changes", fact, "action", fix)

    def files(self) -> Iterator[Finding]:
        """Report what a killed process left, who writes, and (if requested) whether every file is intact."""
        for remark in leftovers(self.folder) if self.folder else ():
            fact, _, fix = remark.partition(": ")
            yield Finding("leftovers", fact, "note", fix)
        if self.folder and is_locked(lock_of(self.folder)):
            yield Finding("writer", "a process is writing to the index")
        if not self.verify:
            yield Finding("checksums", "not read", "note", f"to read every file: porism store verify {self.index}")
            return
        damages = [damage for one in self.store.verify() for damage in one.damages]
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
        yield Finding("search", f"works; the first query took {1000 * (time.perf_counter() - began):.0f} ms")


class Names(NamedTuple):
    """The names that a plug-in adds (reading them fails if it is broken), and those that Porism has itself."""

    added: Callable[[Plugin], Collection[str]]
    own: Callable[[], Collection[str]]


def plugin_checks(commands: Collection[str]) -> Iterator[tuple[str, Check]]:
    """Yield a check for each plug-in; `commands` are those of Porism."""
    groups = {
        COMMANDS: Names(_loaded, lambda: commands),
        FEATURES: Names(
            lambda one: [feature.name for feature in plugin_features(one)],
            lambda: [feature.name for feature in own_features()],
        ),
        SOURCES: Names(lambda one: [plugin_kind(one)[0]], own_kinds),
        STORES: Names(_loaded, tuple),
        SYSTEMS: Names(
            lambda one: [run.name for run in plugin_declarations(one)], lambda: [run.name for run in shipped()]
        ),
    }
    for one in installed():
        yield "plug-in", partial(_check, one, groups[one.group])


def _loaded(plugin: Plugin) -> Collection[str]:
    plugin.load()
    return [plugin.name]


def _check(plugin: Plugin, names: Names) -> Iterator[Finding]:
    added = names.added(plugin)
    taken = sorted(set(added) & set(names.own()))
    first = plugins(plugin.group)[plugin.name]
    if taken:
        fix = f"ask for another name in {plugin.package}, or remove it: pip uninstall {plugin.package}"
        yield Finding("plug-in", f"{plugin}: Porism has {', '.join(taken)} itself, and uses its own", "note", fix)
    elif first != plugin:
        fix = f"keep one of the two: pip uninstall {first.package} or {plugin.package}"
        yield Finding("plug-in", f"{plugin}: not used, {first.package} has the same name", "note", fix)
    else:
        yield Finding("plug-in", f"{plugin}: {', '.join(added)}")


def checkup(index: str | Path | None = None, verify: bool = False, commands: Collection[str] = ()) -> Iterator[Finding]:
    """Check the installation, and an index if one is named; with `verify`, read every file of it."""
    own: list[tuple[str, Check]] = [
        ("version", versions),
        ("interpreter", interpreter),
        ("packages", packages),
        ("compiled modules", compiled),
        ("machine", machine),
        *plugin_checks(commands),
    ]
    yield from run_checks(own)
    if index is None:
        yield from run_checks([("disk", lambda: [disk(Path.cwd())])])
        return
    one = IndexCheckup(index, verify)
    state = list(run_checks([("index", one.state)]))
    yield from state
    yield from run_checks([("change log", one.log)])
    if not any(finding.subject == "index" and finding.state == "action" for finding in state):
        yield from run_checks([("collection", one.collection), ("files", one.files), ("search", one.search)])
