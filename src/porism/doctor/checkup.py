"""All checks, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from porism.doctor.environment import compiled, disk, interpreter, machine, packages, versions
from porism.doctor.findings import Check, Finding, run_checks
from porism.doctor.plugins import plugin_checks


def checkup(index: Path | None = None, verify: bool = False, commands: Collection[str] = ()) -> Iterator[Finding]:
    """Look over the installation, and an index if one is named. With `verify`, every file of it is read. `commands` are names that no plug-in
    can take."""
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
