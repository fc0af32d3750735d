"""Rows of XML, and files that are not what they should be."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from porism.corpus.sources.xmlrows import MOST_BAD, _RowParser, rows
from porism.errors import PorismError

from .small import built, question, write_dump, xml


def read(data: bytes, largest: int = 0) -> list[tuple[int, object]]:
    return [tuple(row) for row in rows(lambda: io.BytesIO(data), "Posts.xml", largest=largest)]


def test_rows_with_lines_and_byte_order_mark() -> None:
    text = '\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n  <row Id="1" Body="a&#xA;&lt;b"/>\n  <row Id="2"/></posts>'
    assert read(text.encode()) == [(3, {"Id": "1", "Body": "a\n<b"}), (4, {"Id": "2"})]


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_declared_encodings(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><posts><row Id="é"/></posts>'
    assert read(text.encode(encoding))[0][1] == {"Id": "é"}


BOMB = '<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b'<posts>\n<row Id="1"/>\n<row Id="2" Bo',
            "Posts.xml:3: the file ends in the middle\n  fix: fetch the file again; it is truncated",
        ),
        (
            b'<posts>\n<row Id="1"/>\n',
            "Posts.xml:3: the file ends in the middle\n  fix: fetch the file again; it is truncated",
        ),
        (b"", "Posts.xml:1: the file ends in the middle\n  fix: fetch the file again; it is truncated"),
        (
            b'<posts>\n<row Id="\xff"/></posts>',
            "Posts.xml:2: not well-formed XML or not in its declared encoding (column 10)\n  fix: fetch the file again, or convert it to UTF-8",
        ),
        (
            '<?xml version="1.0" encoding="utf-8"?><posts></posts>'.encode("utf-16"),
            "Posts.xml:1: not well-formed XML: encoding specified in XML declaration is incorrect\n  fix: fetch the file again, or convert it to UTF-8",
        ),
        (b"<posts></post>", "Posts.xml:1: not well-formed XML: mismatched tag\n  fix: fetch the file again"),
        (
            f'<?xml version="1.0"?>\n{BOMB}<posts><row Id="&b;"/></posts>'.encode(),
            "Posts.xml:2: has a document type declaration, which is refused\n  fix: dumps have none; remove it if you trust the file",
        ),
        (
            b'<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/hostname">]><posts><row Id="1">&x;</row></posts>',
            "Posts.xml:1: has a document type declaration, which is refused\n  fix: dumps have none; remove it if you trust the file",
        ),
    ],
)
def test_errors_name_file_and_line(data: bytes, message: str) -> None:
    with pytest.raises(PorismError) as error:
        read(data)
    assert str(error.value) == message


def test_a_truncated_file_makes_no_collection(tmp_path: Path) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(1), question(2)])
    whole = (source / "Posts.xml").read_bytes()
    (source / "Posts.xml").write_bytes(whole[:-40])
    with pytest.raises(PorismError, match="the file ends in the middle"):
        built(tmp_path / "c", source)
    assert not (tmp_path / "c").exists()
    (source / "Posts.xml").write_bytes(whole)
    assert built(tmp_path / "c", source).count("posts") == 2


@pytest.mark.parametrize("encoding", ["ut-8", "utf-7", "utf-32", "idna", "rot13", "utf-8\x00"])
def test_an_encoding_that_cannot_be_read_is_reported(encoding: str) -> None:
    with pytest.raises(PorismError):
        read(f'<?xml version="1.0" encoding="{encoding}"?><posts><row Id="1"/></posts>'.encode())


@pytest.mark.parametrize(("name", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_truncated_compressed_file_is_reported_with_its_line(
    name: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    source = write_dump(tmp_path / "d", Posts=[question(1)])
    whole = pack((source / "Posts.xml").read_bytes())
    (source / "Posts.xml").unlink()
    file = source / f"Posts.xml.{name}"
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PorismError) as error:
        built(tmp_path / "c", source)
    assert str(error.value) == (
        f"{file}: cannot be unpacked: Compressed file ended before the end-of-stream marker was reached\n"
        "  fix: fetch the file again"
    )
    assert not (tmp_path / "c").exists()


def test_a_body_of_fifty_megabytes_can_be_parsed() -> None:
    data = xml("posts", [question(1, "x" * 50_000_000), question(2)]).encode()
    assert [len(row["Body"]) for _, row in read(data) if isinstance(row, dict)] == [50_000_000, len("<p>Why?</p>")]


BAD_ROWS = (
    b'<row Id="3" Bo',
    b'<row Id="3" Body="cut',
    b'<row Id="3" Body="\xff"/>',
    b'<row Id="3" Body="&nbsp;"/>',
    b'<row Id="3" Body="<p>raw</p>"/>',
    b'<row Id="3" Id="4"/>',
    b'<row Id="3" <b/>',
    b"<row Id=3/>",
    b'<row Id="3" Body="\x00"/>',
)


@pytest.mark.parametrize("bad", BAD_ROWS)
@pytest.mark.parametrize("separator", [b"\n", b""])
@pytest.mark.parametrize("block", [7, 64, 1 << 20])
def test_a_bad_row_is_reported_and_the_others_are_read(
    bad: bytes, separator: bytes, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("porism.corpus.sources.xmlrows.BLOCK", block)
    good = [f'<row Id="{number}" Body="a&#xA;b"/>'.encode() for number in range(5)]
    data = separator.join([b"<posts>", *good[:2], bad, good[2], bad, bad, *good[3:], b"</posts>"])
    found = read(data)
    assert [row["Id"] for _, row in found if isinstance(row, dict)] == [str(number) for number in range(5)]
    assert [line for line, row in found if isinstance(row, str)] == ([4, 6, 7] if separator else [1, 1, 1])


def test_no_row_is_lost_between_others() -> None:
    found = read(b'<posts>\n<row Id="1"></rows>\n&<row Id="2"/>\n</posts>')
    assert [row["Id"] for _, row in found if isinstance(row, dict)] == ["1", "2"]


def test_a_bad_last_row_is_reported() -> None:
    found = read(b'<posts>\n<row Id="1"/>\n<row Id="2" Body="<p>"/>\n</posts>\n')
    assert found == [(2, {"Id": "1"}), (3, "not well-formed XML")]


@pytest.mark.parametrize("block", [1000, 1 << 20])
def test_a_row_that_is_too_large_is_skipped_without_being_kept(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("porism.corpus.sources.xmlrows.BLOCK", block)
    huge = b'<row Id="2" Body="' + b"x" * 3_000_000 + b'"/>'
    data = b"\n".join([b"<posts>", b'<row Id="1"/>', huge, b'<row Id="3"/>', b"</posts>"])
    found = read(data, largest=100_000)
    assert found == [(2, {"Id": "1"}), (3, "row of more than 100,000 bytes"), (4, {"Id": "3"})]


def test_many_bad_rows_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block is not parsed again for each bad row in it."""
    parsed = []
    parse = _RowParser._parse

    def counting(self: _RowParser, block: bytes) -> str:
        parsed.append(len(block))
        return parse(self, block)

    monkeypatch.setattr(_RowParser, "_parse", counting)
    data = b"<posts>" + b'<row Id="1" Id="2"/><row Id="3"/>' * 5_000 + b"</posts>"
    found = read(data)
    assert len(found) == 10_000
    assert [row[1] for row in found[:2]] == ["not well-formed XML", {"Id": "3"}]
    assert sum(parsed) < 5_000 * 5_000  # once for each bad row would be 400 million bytes


def test_a_file_of_bad_rows_is_refused() -> None:
    rows_before = b"<posts>" + b'<row Id="3"/>\n'
    with pytest.raises(PorismError) as error:
        read(rows_before + b'<row Id="1" Id="2"/>' * (MOST_BAD + 1) + b"</posts>")
    assert (
        str(error.value)
        == "Posts.xml:2: more than 10,000 rows in succession cannot be read\n  fix: fetch the file again"
    )
    assert len(read(rows_before + b'<row Id="1" Id="2"/>' * MOST_BAD + b'<row Id="4"/></posts>')) == MOST_BAD + 2
