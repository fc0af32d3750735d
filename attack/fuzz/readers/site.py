"""Readers of what a site gets from programs and owners: changes as JSON Lines, settings as TOML, lists of backups."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable
from pathlib import Path

from attack.fuzz.grammar import ODD, Grammar
from attack.fuzz.reader import Reader, Wrong, to_text
from porism.corpus.update.changes import read_json_lines
from porism.integrity import seal
from porism.web.site.backup import FORMAT, KIND, LIST, restore
from porism.web.site.reading import read_settings
from porism.web.site.settings import all_settings

CHANGES: Grammar = {
    **ODD,
    "start": ("{«key»}", "{«key», «key»}", "{«key», «key», «key»}\n«start»", '{"delete": «value»}\n«start»', "«value»"),
    "key": (
        '"id": «value»',
        '"body": «value»',
        '"title": «value»',
        '"tags": «value»',
        '"parent_id": «value»',
        '"kind": «value»',
        '"created": «value»',
        '"comment": «value»',
        '"post_id": «value»',
        '"link": [«value», «value»]',
        '"delete": «value»',
        '"delete_comment": «value»',
        '"«odd_text»": «value»',
    ),
    "value": ('"x"', "«number»", '"«odd_text»"', "null", "true", "[«value»]", "{«key»}", '"2024-0«number»-01"', "NaN", '"\\ud800"', '"question"'),
}  # fmt: skip
SETTINGS: Grammar = {
    **ODD,
    "start": ("«line»", "«line»\n«start»", "[«name»]\n«start»", "[[«name»]]\n«start»"),
    "line": ("«name» = «value»", "«name».«name» = «value»", "# «odd_text»"),
    "name": ("site", "limits", "seconds", '"«odd_text»"', *sorted({part for key in all_settings() for part in key.split(".")})),
    "value": ('"x"', "«number»", '"«odd_text»"', "true", "[«value», «value»]", "{«line»}", "'''«odd_text»'''", '"https://x.org/{«name»}"', '"#«number»"', '"rgb(«number», 1, 2)"', "1979-05-27", '"/dev/zero"', '"../«odd_text»"'),
}  # fmt: skip
BACKUPS: Grammar = {
    **ODD,
    "start": ("a\n1", "«name»\n«number»\n«start»"),
    "name": ("a", "a/b", "..", "../a", "/a", "a/../b", "", ".", "a//b", "«odd_text»", "a" * 300),
}


def read_changes(data: bytes) -> Hashable:
    """Read changes as the API does."""
    found = read_json_lines(to_text(data).split("\n"), "body")
    return len(found.posts).bit_length(), len(found.comments).bit_length(), len(found.deleted_posts).bit_length()


def read_site(data: bytes) -> Hashable:
    """Read a file of settings. Its problems are a legal answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.toml"
        path.write_bytes(data)
        found = read_settings(path)
        if any(not problem.message for problem in found.problems):
            raise Wrong("a problem without a fact")
        return tuple(sorted({problem.message.rpartition(" ")[2][:12] for problem in found.problems}))[:5]


def read_backup(data: bytes) -> Hashable:
    """Restore a backup whose list names these files, with these sizes. Nothing may be written outside the target."""
    lines = data.decode("utf-8", "replace").split("\n")
    sizes = {name: int(size) if size.isascii() and size.isdigit() and len(size) < 30 else size for name, size in zip(lines[::2], lines[1::2], strict=False)}  # fmt: skip
    files = {name: {"size": size, "digest": "0" * 32} for name, size in sizes.items()}
    with tempfile.TemporaryDirectory() as folder:
        backup = Path(folder) / "backup"
        backup.mkdir()
        document = {"kind": KIND, "format": FORMAT, "index": next(iter(files), ""), "files": files}
        (backup / LIST).write_text(seal(document), "utf-8", "surrogatepass")
        (backup / "a").write_bytes(b"1")
        try:
            restore(backup, Path(folder) / "restored")
        finally:
            if sorted(path.name for path in Path(folder).iterdir()) not in (["backup"], ["backup", "restored"]):
                raise Wrong("files are left outside the target")
        return len(files)


READERS = (
    Reader("changes", 15, read_changes, CHANGES, ['"id": ', "null", "\\u2028", "}\n{", "[[", '"delete": '], longest=5_000, seeds=lambda: (b'{"id": 5, "title": "x", "body": "<p>y</p>"}', b'{"id": 5, "body": "", "parent_id": 5}', b'{"delete": 1}')),
    Reader("settings", 15, read_site, SETTINGS, ["[", "]", "{", "}", ".a", "= ", '"""', "9" * 400, "nan"], longest=5_000, seeds=lambda: (b'[site]\ntitle = "x"', b"[limits]\nseconds = " + b"9" * 400, b"a." * 2000 + b"b = 1")),
    Reader("backups", 5, read_backup, BACKUPS, ["../", "\x00", "/", "\n9"], longest=2_000, seeds=lambda: (b"a\n1", b"a\n0\na/b\n1")),
)  # fmt: skip
