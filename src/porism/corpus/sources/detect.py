"""Detection of what kind of source a path is, by its content."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from porism.corpus import sources
from porism.corpus.sources.documents.limited import READERS
from porism.corpus.sources.raw import Source, SourceKind
from porism.errors import PorismError
from porism.plugins import SOURCES, Plugin, or_repair, working

# The first ones are tried in this order, then the others: a folder with anything else may have documents, too.
FIRST = ("slice", "dump", "7z", "arqmath", "folder", "formulas")
# Kinds that a person may mean when naming the folder above them.
INSIDE = ("slice", "dump")


@lru_cache(1)
def own_kinds() -> dict[str, SourceKind]:
    """Return the kinds that the modules of this package name, in the order in which they are tried."""
    found: dict[str, SourceKind] = {}
    for module in pkgutil.iter_modules(sources.__path__):
        found |= getattr(import_module(f"porism.corpus.sources.{module.name}"), "KINDS", {})
    return {name: found[name] for name in (*FIRST, *sorted(found.keys() - set(FIRST)))}


def all_kinds() -> Iterator[tuple[str, SourceKind]]:
    """Yield the names and kinds of Porism, and after them those of plug-ins, which are imported only then."""
    yield from own_kinds().items()
    yield from (found for found in working(SOURCES, plugin_kind) if found[0] not in own_kinds())


def plugin_kind(plugin: Plugin) -> tuple[str, SourceKind]:
    """Return the name and the kind of source that a plug-in adds."""
    return plugin.name, plugin.load()


def open_source(path: Path, kind: str = "") -> Source:
    """Return the source at a path; `kind` overrides what is detected."""
    if not path.exists():
        raise PorismError("no such file or folder", where=str(path), fix="check the path")
    if kind and kind not in dict(all_kinds()):
        raise PorismError(f"unknown kind of source {kind!r}", fix=f"write {_choices()}")
    found = kind or next((name for name, one in all_kinds() if one.detect(path)), "")
    if not kind and found in ("folder", ""):
        _refuse_parent_folder(path, found)
    if not found and path.is_dir():
        fix = f"name the folder of a dump, or put documents into it ({', '.join(READERS)})"
        raise PorismError("the folder has neither a dump nor documents", where=str(path), fix=fix)
    if not found:
        raise PorismError("not a source that Porism knows", where=str(path), fix=f"name the kind: {_choices()}")
    return dict(all_kinds())[found].open(path)


def _choices() -> str:
    return f"--source-kind {{{','.join(dict(all_kinds()))}}}{or_repair(SOURCES, plugin_kind)}"


def _refuse_parent_folder(path: Path, found: str) -> None:
    """Refuse a folder with a dump one level below, and at most documents of its own: the dump is meant."""
    below = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    for folder in below:
        for name in INSIDE:
            if own_kinds()[name].detect(folder):
                message = f"{own_kinds()[name].description} is one level below, in {folder.name}/"
                choice = ", or add --source-kind folder to build the documents of this folder" if found else ""
                raise PorismError(message, where=str(path), fix=f"porism build {folder}{choice}")


def describe(source: Source) -> str:
    """Return the path of a source and its kind in words."""
    known = dict(all_kinds())
    return f"{source.path}: {known[source.kind].description if source.kind in known else source.kind}"
