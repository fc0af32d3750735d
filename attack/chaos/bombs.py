"""Small files that would become large: archives, XML entities, huge and deep documents. A clear error, in bounded time
and memory."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from attack.chaos.processes import Command
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import write_dump

CPU_SECONDS = 60.0
MEMORY_BYTES = 1_500_000_000  # resident, of the largest process; a quiet build has about 150 MB
ADDRESS_BYTES = 12_000_000_000  # so that a bomb cannot take the machine down
ROW = '<row Id="1" PostTypeId="1" Title="A title" Body="{}" CreationDate="2020-01-01T00:00:00.000" Score="1" />'
LAUGHS = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 10))
SECRET = "the secret of the machine"


class Bomb(NamedTuple):
    """A hostile file: what it is, its name, and what makes its content. It is made when it is tried: what a process
    holds counts in its children."""

    name: str
    file: str
    content: Callable[[], bytes]


def _posts(body: str, before: str = "") -> str:
    return f'<?xml version="1.0" encoding="utf-8"?>\n{before}<posts>\n{body}\n</posts>\n'


def xml_bombs(secret: Path) -> Iterator[Bomb]:
    """Yield a Posts.xml of each kind."""
    row = ROW.format("&lt;p&gt;Why is $a^2$?&lt;/p&gt;")
    laughs = f'<!DOCTYPE posts [<!ENTITY l0 "ha">{LAUGHS}]>\n'
    outside = f'<!DOCTYPE posts [<!ENTITY x SYSTEM "{secret.as_uri()}">]>\n'
    texts: dict[str, Callable[[], str]] = {
        "billion laughs in an attribute": lambda: _posts(ROW.format("&l9;"), laughs),
        "billion laughs in text": lambda: _posts(f"<a>&l9;</a>{row}", laughs),
        "quadratic entity": lambda: _posts(
            ROW.format("&a;" * 50_000), f'<!DOCTYPE posts [<!ENTITY a "{"a" * 50_000}">]>\n'
        ),
        "external entity": lambda: _posts(f"<a>&x;</a>{row}", outside),
        "external entity in an attribute": lambda: _posts(ROW.format("&x;"), outside),
        "external subset": lambda: _posts(row, f'<!DOCTYPE posts SYSTEM "{secret.as_uri()}">\n'),
        "external subset elsewhere": lambda: _posts(row, '<!DOCTYPE posts SYSTEM "http://127.0.0.1:9/x.dtd">\n'),
        "parameter entity": lambda: _posts(row, f'<!DOCTYPE posts [<!ENTITY % p SYSTEM "{secret.as_uri()}"> %p;]>\n'),
        "document type after a comment": lambda: _posts(row, f"<!-- {'-x' * 9} -->{laughs}"),
        "default attributes": lambda: _posts("<row/>" * 9, '<!DOCTYPE posts [<!ATTLIST row Body CDATA "&#65;">]>\n'),
        "huge attribute": lambda: _posts(ROW.format("x" * 80_000_000) + "\n" + row),
        "huge name": lambda: _posts(f"<{'r' * 70_000_000} />\n{row}"),
        "huge comment": lambda: _posts(f"<!--{'x' * 80_000_000}-->\n{row}"),
        "huge instruction": lambda: _posts(f"<?x {'x' * 80_000_000}?>\n{row}"),
        "huge text": lambda: _posts("x" * 80_000_000 + row),
        "deep nesting": lambda: _posts("<a>" * 2_000_000 + row),
        "closed deep nesting": lambda: _posts("<a>" * 500_000 + "</a>" * 500_000 + row),
        "a million attributes": lambda: _posts(
            "<row " + " ".join(f"a{at}='1'" for at in range(1_000_000)) + f" />\n{row}"
        ),
        "many references": lambda: _posts(ROW.format("&#65;" * 5_000_000)),
        "a million bad rows": lambda: _posts('<row Id="1" Id="2" />' * 300_000 + row),
        "a row without an end": lambda: _posts('<row Id="1" Body="' + "<row " * 2_000_000),
        "unknown encoding": lambda: _posts(row).replace("utf-8", "x-bomb"),
    }
    for name, text in texts.items():
        yield Bomb(name, "Posts.xml", lambda text=text: text().encode())
    utf16 = _posts(ROW.format("&l9;"), laughs).replace("utf-8", "utf-16").encode("utf-16")
    yield Bomb("document type in UTF-16", "Posts.xml", lambda: utf16)
    yield Bomb("zeros", "Posts.xml", lambda: bytes(50_000_000))


def document_bombs(secret: Path) -> Iterator[Bomb]:
    """Yield documents of all kinds."""
    laughs = f'<!DOCTYPE svg [<!ENTITY l0 "ha">{LAUGHS}]>'
    math = f'<!DOCTYPE math [<!ENTITY x SYSTEM "{secret.as_uri()}">]><math><mi>&x;</mi></math>'
    svg = f'{laughs}<svg xmlns="http://www.w3.org/2000/svg"><text>&l9;</text></svg>'
    texts = {
        ("entities in HTML", "a.html"): f"{laughs}<p>&l9; {SECRET[::-1]}</p>",
        ("external entity in MathML", "b.html"): f"<p>{math}</p>",
        ("entities in a picture", "c.svg"): svg,
        ("deep HTML", "d.html"): "<div>" * 400_000 + "<p>$a$</p>",
        ("deep MathML", "e.html"): f"<math>{'<mrow>' * 100_000}<mi>x</mi>{'</mrow>' * 100_000}</math>",
        ("many attributes", "f.html"): f"<p {' '.join(f'a{at}=1' for at in range(300_000))}>$a$</p>",
        ("many attributes in MathML", "n.html"): f"<math {' '.join(f'a{at}=1' for at in range(300_000))}><mi>x</mi></math>",
        ("many html tags", "o.html"): "".join(f"<html a{at}>" for at in range(19_000)) + "<p>$a$</p>",
        ("many formatting tags", "p.html"): "".join(f"<b a{at}>" for at in range(9_000)) + "<p>$a$" * 9_000,
        ("deep notebook", "g.ipynb"): '{"cells": ' + "[" * 200_000 + "]" * 200_000 + "}",
        ("huge number", "h.ipynb"): '{"cells": [], "nbformat": ' + "9" * 5_000_000 + "}",
        ("huge output", "i.ipynb"): json.dumps({"cells": [{"cell_type": "markdown", "source": "$x$ " * 100_000, "metadata": {}}], "nbformat": 4}),
        ("deep Markdown", "j.md"): ">" * 200_000 + " $a$",
        ("deep list", "k.md"): "\n".join(" " * (2 * at) + "- $a$" for at in range(2_000)),
        ("comments in a picture", "q.svg"): "<!--" * 50_000 + "<!-- -->" * 50_000,
        ("many digits of an entity", "r.html"): f"<p>&#{'0' * 100_000}65; $a$</p>",
        ("a comment around many attributes", "s.html"): f'<!-- <p a=" --> <p {" ".join(f"a{at}" for at in range(60_000))}>$a$</p>',
        ("a headline of tags", "t.org"): f"* {'a:' * 50_000}\n$a$\n",
        ("deep Org", "u.org"): "".join(f"{'*' * at} a $x$\n" for at in range(1, 1_500)),
        ("deep reStructuredText", "v.rst"): "".join(f"{'  ' * at}* $a$\n\n" for at in range(1_000)),
        ("references to nothing", "w.rst"): "`a`_ |b| [1]_ " * 15_000,
        ("a long macro, often used", "x.tex"): f"\\def\\a{{{'x+' * 9_000}}}\n" + "$\\a$ " * 3_000,
        ("macros that double", "y.tex"): "".join(f"\\def\\{chr(97 + at)}{{\\{chr(98 + at)}\\{chr(98 + at)}}}" for at in range(24)) + "$\\a$",
        ("environments without end", "z.tex"): "\\begin{a}[" * 20_000 + "\\begin{verbatim}" * 20_000 + "\\section[" * 20_000,
        ("deep braces", "l.tex"): "\\documentclass{a}\\begin{document}$" + "{" * 200_000 + "x" + "}" * 200_000 + "$\\end{document}",
    }  # fmt: skip
    for (name, file), text in texts.items():
        yield Bomb(name, file, text.encode)
    yield Bomb("a picture in a document", "m.md", f"# A\n\n![p](c.svg) $a$\n{svg}".encode)


def archive_bombs(folder: Path) -> Iterator[Bomb]:
    """Yield .7z archives."""
    import py7zr

    posts = (folder / "dump" / "Posts.xml").read_bytes()

    def packed(*files: tuple[str, bytes]) -> bytes:
        out = io.BytesIO()
        with py7zr.SevenZipFile(out, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 0}]) as archive:
            archive.set_encoded_header_mode(False)
            for name, content in files:
                archive.writestr(content, name)
        return out.getvalue()

    def bomb(name: str, content: Callable[[], bytes]) -> Bomb:
        return Bomb(name, "dump.7z", content)

    plain = packed(("Posts.xml", posts))
    yield bomb("zeros", lambda: packed(("Posts.xml", bytes(120_000_000))))
    yield bomb("zeros beside it", lambda: packed(("Users.xml", bytes(120_000_000)), ("Posts.xml", posts)))
    yield bomb("many members", lambda: packed(*((f"{at}/Posts.xml", b"x") for at in range(1_000))))
    yield bomb("name outside", lambda: _renamed(plain, "Posts.xml", "/../P.xml"))
    header_at, header_size = struct.unpack("<QQ", plain[12:28])
    header = plain[32 + header_at : 32 + header_at + header_size]
    yield bomb("an archive in an archive", lambda: packed(("Posts.xml", plain)))
    for name, forged in (
        ("header of 2^62 bytes", (header_at, 1 << 62)),
        ("header of 1 GB", (header_at, 1 << 30)),
        ("header beyond the end", (1 << 61, header_size)),
    ):
        yield bomb(name, partial(_with_header, plain[:32], plain[32:], *forged))
    yield bomb("packed header of zeros", lambda: _packed_header_bomb())
    coder = header.index(b"\x21\x01")
    forged = header[: coder + 2] + b"\x28" + header[coder + 3 :]
    yield bomb("dictionary of 4 GB", partial(_with_own_header, plain[: 32 + header_at], forged))
    # Numbers of a plain header: files, folders, streams. Each is forged to the largest number of its bytes.
    for at in range(len(header)):
        forged = header[:at] + b"\xff" * 9 + header[at + 1 :]
        yield bomb(f"large number at {at} of the header", partial(_with_own_header, plain[: 32 + header_at], forged))


def _renamed(archive: bytes, old: str, new: str) -> bytes:
    """Return an archive with another name of a member, as long as the old one, in its header."""
    at = archive.rindex(old.encode("utf-16-le"))
    renamed = archive[:at] + new.encode("utf-16-le") + archive[at + 2 * len(old) :]
    header = 32 + struct.unpack("<Q", archive[12:20])[0]
    return _with_own_header(renamed[:header], renamed[header:])


def _with_header(start: bytes, rest: bytes, at: int, size: int) -> bytes:
    fields = struct.pack("<QQ", at, size) + start[28:32]
    return start[:8] + struct.pack("<I", zlib.crc32(fields)) + fields + rest


def _with_own_header(data: bytes, header: bytes) -> bytes:
    """Return an archive with another header, whose checksums are right."""
    fields = struct.pack("<QQI", len(data) - 32, len(header), zlib.crc32(header))
    return data[:8] + struct.pack("<I", zlib.crc32(fields)) + fields + data[32:] + header


def _packed_header_bomb() -> bytes:
    """Return an archive whose header is packed: a few kilobytes that unpack to as many zeros as the header says."""
    import lzma

    size = 250_000_000
    packed = lzma.compress(bytes(size), lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    number = lambda value: b"\xff" + struct.pack("<Q", value)  # noqa: E731
    info = b"\x06" + number(0) + b"\x01" + b"\x09" + number(len(packed)) + b"\x00"
    folders = b"\x07\x0b\x01\x00\x01\x21\x21\x01\x18" + b"\x0c" + number(size) + b"\x00"
    header = b"\x17" + info + folders + b"\x00"
    return _with_own_header(b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(24) + packed, header)


def try_bomb(record: Record, name: str, source: Path, target: Path, log: Path) -> None:
    """Build a collection of a bomb, within limits: it succeeds, or fails with a clear message."""

    def limit() -> None:
        os.environ["TMPDIR"] = str(target.parent)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (int(2 * CPU_SECONDS),) * 2)

    with record.attempt(name):
        shutil.rmtree(target, ignore_errors=True)
        command = Command(["build", str(source), "-o", str(target), "--quiet", "--jobs", "1"], log, limit)
        code, output = command.wait(), command.output()
        assert command.usage is not None
        seconds = command.usage.ru_utime + command.usage.ru_stime
        record.measure(seconds)
        if code not in (0, 1, 2) or "Traceback" in output or (code and "fix:" not in output):
            raise Lost(f"exit code {code} after {seconds:.1f} s: {output[-300:]}")
        if seconds > CPU_SECONDS or command.usage.ru_maxrss * 1024 > MEMORY_BYTES:
            raise Lost(f"{seconds:.1f} s of processor time, {command.usage.ru_maxrss / 1024:.0f} MB")
        if target.is_dir() and any(
            SECRET.encode() in path.read_bytes() for path in target.rglob("*") if path.is_file()
        ):
            raise Lost("a file of the machine is in the collection")


def _tries(stage: Stage, record: Record, bombs: Iterator[Bomb], source: str = "") -> None:
    """Try bombs: all of them, or as many as there are tries."""
    every = list(bombs)
    for number, bomb in enumerate(every if stage.tries >= len(every) else stage.rng.sample(every, stage.tries)):
        place = stage.folder / f"bomb-{number}"
        place.mkdir()
        (place / bomb.file).write_bytes(bomb.content())
        try_bomb(record, bomb.name, place / source, stage.folder / "collection", stage.folder / "log")
        shutil.rmtree(place)


def _secret(stage: Stage) -> Path:
    path = stage.folder / "secret.txt"
    path.write_text(f'<!ENTITY y "{SECRET}">')
    return path


def bomb_dumps(stage: Stage, record: Record) -> None:
    """Build from hostile dumps."""
    _tries(stage, record, xml_bombs(_secret(stage)))


def bomb_documents(stage: Stage, record: Record) -> None:
    """Build from folders of hostile documents."""
    _tries(stage, record, document_bombs(_secret(stage)))


def bomb_archives(stage: Stage, record: Record) -> None:
    """Build from hostile archives."""
    write_dump(stage.folder / "dump")
    _tries(stage, record, archive_bombs(stage.folder), "dump.7z")


HELD = "a clear error or a report, within {:.0f} s of processor time and {:.1f} GB"
PROMISE = HELD.format(CPU_SECONDS, MEMORY_BYTES / 1e9)
KINDS = (
    Kind("hostile dumps", f"{PROMISE}; no entity is expanded", bomb_dumps),
    Kind("hostile documents", f"{PROMISE}; no file of the machine is read", bomb_documents),
    Kind("hostile 7z archives", PROMISE, bomb_archives),
)
