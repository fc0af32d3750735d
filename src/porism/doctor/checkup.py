"""All checks in the order in which they are shown, and the checks of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from porism.corpus.sources.detect import KINDS, plugin_kind
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
from porism.plugins import COMMANDS, FEATURES, SOURCES, STORES, SYSTEMS, Plugin, installed, plugins
from porism.search.features import own_features, plugin_features
from porism.systems.declared.declaration import plugin_declarations, shipped


class Names(NamedTuple):
    """The names that a plug-in of a group adds (reading them fails if it is broken), and those that Porism has
    itself."""

    added: Callable[[Plugin], Collection[str]]
    own: Callable[[], Collection[str]]


def plugin_checks(commands: Collection[str]) -> Iterator[tuple[str, Check]]:
    """Yield a check for each plug-in; `commands` are those of Porism."""
    groups = {
        COMMANDS: Names(_loaded, lambda: commands),
        FEATURES: Names(lambda one: [feature.name for feature in plugin_features(one)], _own_features),
        SOURCES: Names(lambda one: [plugin_kind(one)[0]], lambda: KINDS),
        STORES: Names(_loaded, tuple),
        SYSTEMS: Names(lambda one: [run.name for run in plugin_declarations(one)], _own_systems),
    }
    for one in installed():
        yield "plug-in", partial(_check, one, groups[one.group])


def _loaded(plugin: Plugin) -> Collection[str]:
    plugin.load()
    return [plugin.name]


def _own_features() -> Collection[str]:
    return [feature.name for feature in own_features()]


def _own_systems() -> Collection[str]:
    return [one.name for one in shipped()]


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
    """Look over the installation, and an index if one is named. With `verify`, every file of it is read. `commands` are
    names that no plug-in can take."""
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
    from porism.doctor.stored import IndexCheckup

    one = IndexCheckup(index, verify)
    state = list(run_checks([("index", one.state)]))
    yield from state
    yield from run_checks([("change log", one.log)])
    if not any(finding.subject == "index" and finding.state == "action" for finding in state):
        yield from run_checks([("collection", one.collection), ("files", one.files), ("search", one.search)])
