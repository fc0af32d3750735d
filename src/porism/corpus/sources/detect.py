"""What a path holds, decided by what is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from porism.corpus.sources.arqmath import ArqMath
from porism.corpus.sources.documents.folder import Folder, documents
from porism.corpus.sources.dump import Dump
from porism.corpus.sources.formulalist import FormulaList
from porism.corpus.sources.raw import Source
from porism.corpus.sources.sevenzip import SevenZip
from porism.corpus.sources.slice import Slice
from porism.errors import PorismError


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
        return stream.read(6) == b"7z\xbc\xaf\x27\x1c"


def _is_formula_list(path: Path) -> bool:
    if not path.is_file() or not {".tsv", ".txt"} & set(path.suffixes):
        return False
    columns = FormulaList(path).columns
    return "latex" in columns and ("id" in columns or "visual_id" in columns)


# The kinds in the order in which they are tried, what each is in words, and how it is opened.
KINDS: dict[str, tuple[str, Callable[[Path], bool], Callable[[Path], Source]]] = {
    "slice": ("a cut of the lab's collection", _is_slice, Slice),
    "dump": ("a Stack Exchange dump", _is_dump, Dump),
    "7z": ("a Stack Exchange dump in a .7z archive", _is_7z, SevenZip),
    "arqmath": ("the lab's own files", _is_arqmath, ArqMath),
    "folder": ("a folder of documents", _is_folder, Folder),
    "formulas": ("a table of formulas", _is_formula_list, FormulaList),
}


def open_source(path: Path, kind: str = "") -> Source:
    """The source at a path; `kind` overrides what is detected."""
    if not path.exists():
        raise PorismError("no such file or folder", where=str(path), fix="check the path")
    if kind and kind not in KINDS:
        raise PorismError(f"{kind!r} is no kind of source", fix=f"write --source-kind {{{','.join(KINDS)}}}")
    if kind:
        return KINDS[kind][2](path)
    for _, detect, make in KINDS.values():
        if detect(path):
            return make(path)
    fix = f"name the kind: --source-kind {{{','.join(KINDS)}}}"
    raise PorismError("is no source that is known", where=str(path), fix=fix)


def describe(source: Source) -> str:
    """What is said aloud of a source."""
    return f"{source.path}: {KINDS[source.kind][0]}"
