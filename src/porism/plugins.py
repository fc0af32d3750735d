"""Plug-ins: what installed packages add to Porism. A package names an object in an entry point of one of five groups,
and is found.

Looking for plug-ins reads the entry points of the installed packages and imports none of them. A plug-in is imported
when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from porism.errors import PorismError
from porism.safe_path import safe_path

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
COMMANDS, FEATURES, SOURCES, STORES, SYSTEMS = (
    f"porism.{name}" for name in ("commands", "features", "sources", "stores", "systems")
)
# The groups, and the attributes that the object of an entry point must have.
GROUPS: dict[str, tuple[str, ...]] = {
    COMMANDS: ("HELP", "EXAMPLE", "arguments", "run"),
    FEATURES: (),
    SOURCES: ("description", "detect", "open"),
    STORES: ("__call__",),
    SYSTEMS: ("__path__",),
}


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of a package."""

    group: str
    name: str
    package: str
    version: str
    entry: EntryPoint

    def __str__(self) -> str:
        return f"{self.group} {self.name} of {self.package} {self.version}"

    def load(self) -> Any:
        """Import the object that the entry point names."""
        try:
            found = self.entry.load()
        except Exception as error:
            raise self.broken(f"cannot be imported ({type(error).__name__}: {error})") from error
        missing = [name for name in GROUPS[self.group] if not hasattr(found, name)]
        if missing:
            raise self.broken(f"{self.entry.value} has no {', '.join(missing)}")
        return found

    def broken(self, fact: str) -> PorismError:
        """Return the error for a plug-in that cannot be used."""
        fix = f"install another version of the package, or remove it: pip uninstall {self.package}"
        return PorismError(fact, where=str(self), fix=fix)


@lru_cache(1)
def installed() -> tuple[Plugin, ...]:
    """Return the plug-ins of all installed packages, by group and name. The current folder is no place of packages."""
    from importlib.metadata import distributions

    found: dict[tuple[str, str, str], Plugin] = {}
    for package in distributions(path=safe_path()):
        for entry in package.entry_points:
            if entry.group in GROUPS:
                one = Plugin(entry.group, entry.name, package.name, package.version, entry)
                found.setdefault((one.group, one.name, one.package), one)  # the first on the path, as with imports
    return tuple(found[key] for key in sorted(found))


def plugins(group: str) -> dict[str, Plugin]:
    """Return the plug-ins of a group by name, in the order of names. Of two packages with one name, the first in the
    alphabet wins."""
    found: dict[str, Plugin] = {}
    for one in installed():
        if one.group == group:
            found.setdefault(one.name, one)
    return found


def working(group: str, read: Callable[[Plugin], T]) -> Iterator[T]:
    """Yield what `read` returns for each plug-in of a group. A broken one is left out, so that everything else works
    beside it."""
    for one in plugins(group).values():
        with suppress(PorismError):
            yield read(one)


def check_plugins(group: str, read: Callable[[Plugin], object]) -> None:
    """Raise the error of the first plug-in of a group that is broken, where all of them are needed."""
    for one in plugins(group).values():
        read(one)


def or_repair(group: str, read: Callable[[Plugin], object]) -> str:
    """Return an addition to the remedy for something that is not found: a broken plug-in may provide it. Empty if none
    is broken."""
    try:
        check_plugins(group, read)
    except PorismError as error:
        return f"; or repair {error.where}, which {error.message}"
    return ""
