"""Detection of what kind of source a path is, by its content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from porism.corpus.sources.arqmath import ArqMath, Slice
from porism.corpus.sources.documents.folder import Folder, documents
from porism.corpus.sources.documents.limited import READERS
from porism.corpus.sources.dump import Dump, SevenZip
from porism.corpus.sources.raw import Source
from porism.corpus.sources.tables import FormulaList
from porism.errors import PorismError
from porism.plugins import SOURCES, Plugin, or_repair, working

SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"


class SourceKind(NamedTuple):
    """A kind of source: its description, its test of a path, and its reader. A plug-in names one; the name of the entry
    point is the `kind` of the sources that it opens."""

    description: str
    detect: Callable[[Path], bool]
    open: Callable[[Path], Source]


def _is_slice(path: Path) -> bool:
    return (path / "posts.jsonl").is_file() and (path / "formulas.tsv").is_file()


def _is_arqmath(path: Path) -> bool:
    return path.is_dir() and ("Posts" in ArqMath(path).xml_files() or bool(ArqMath(path).table_files("latex")))


def _is_dump(path: Path) -> bool:
    return path.is_dir() and "Posts" in Dump(path).files()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and next(documents(path), None) is not None


def _is_7z(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as stream:
        return stream.read(len(SEVEN_ZIP)) == SEVEN_ZIP


def _is_formula_list(path: Path) -> bool:
    if not path.is_file() or not {".tsv", ".txt"} & set(path.suffixes):
        return False
    columns = FormulaList(path).columns
    return "latex" in columns and ("id" in columns or "visual_id" in columns)


# The kinds in the order in which they are tried.
KINDS = {
    "slice": SourceKind("a cut of the lab's collection", _is_slice, Slice),
    "dump": SourceKind("a Stack Exchange dump", _is_dump, Dump),
    "7z": SourceKind("a Stack Exchange dump in a .7z archive", _is_7z, SevenZip),
    "arqmath": SourceKind("the lab's own files", _is_arqmath, ArqMath),
    "folder": SourceKind("a folder of documents", _is_folder, Folder),
    "formulas": SourceKind("a table of formulas", _is_formula_list, FormulaList),
}
# Kinds that a person may mean when naming the folder above them.
INSIDE = ("slice", "dump")


def all_kinds() -> Iterator[tuple[str, SourceKind]]:
    """Yield the names and kinds of Porism, and after them those of plug-ins, which are imported only then."""
    yield from KINDS.items()
    yield from (found for found in working(SOURCES, plugin_kind) if found[0] not in KINDS)


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
    """Refuse a folder that itself holds at most documents, but has a dump one level below: whoever names it means the
    dump."""
    below = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    for folder in below:
        for name in INSIDE:
            if KINDS[name].detect(folder):
                message = f"{KINDS[name].description} is one level below, in {folder.name}/"
                choice = ", or add --source-kind folder to build the documents of this folder" if found else ""
                raise PorismError(message, where=str(path), fix=f"porism build {folder}{choice}")


def describe(source: Source) -> str:
    """Return the path of a source and its kind in words."""
    known = dict(all_kinds())
    return f"{source.path}: {known[source.kind].description if source.kind in known else source.kind}"
