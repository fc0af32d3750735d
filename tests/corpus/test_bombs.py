"""Small files that would become very large are refused or left out, and leave nothing behind."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import py7zr
import pytest

from porism.corpus.sources.raw import RawPost
from porism.corpus.store.collection import Collection
from porism.corpus.update.changes import Changes
from porism.corpus.update.delta import DeltaWriter
from porism.errors import PorismError
from porism.files import open_bytes
from porism.formula.latex.macros import FREE, RATIO, UNEXPANDED
from porism.limits import LIMITS, limit

from .small import built, comment, examples, question, tally, write_dump

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "limits.md"


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("porism.limits.FREE_BYTES", 100_000)


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
@pytest.mark.usefixtures("small_limits")
def test_a_compressed_file_that_expands_too_much_is_refused(
    ending: str, pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"run.{ending}"
    path.write_bytes(pack(bytes(3_000_000)))
    with open_bytes(path) as stream, pytest.raises(PorismError) as error:
        stream.read()
    assert error.value.message == "unpacks to more than 200 times its size"
    assert "PORISM_UNPACKED_RATIO" in error.value.fix
    monkeypatch.setenv("PORISM_UNPACKED_RATIO", "1000000")
    with open_bytes(path) as stream:
        assert len(stream.read()) == 3_000_000


def bomb(path: Path, size: int) -> Path:
    """Write an archive whose Posts.xml is a row of this size."""
    folder = write_dump(path.parent / "bomb", Posts=[question(1), question(2, "x" * size), question(3)])
    with py7zr.SevenZipFile(path, "w") as out:
        out.write(folder / "Posts.xml", "Posts.xml")
    return path


@pytest.mark.usefixtures("small_limits")
def test_an_archive_that_expands_too_much_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    archive = bomb(tmp_path / "bomb.7z", 5_000_000)
    assert archive.stat().st_size < 5_000
    with pytest.raises(PorismError, match="unpacks to more than 200 times its size"):
        built(tmp_path / "c", archive)
    assert not (tmp_path / "c").exists()


@pytest.mark.usefixtures("small_limits")
def test_an_archive_that_understates_its_size_is_refused_while_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = bomb(tmp_path / "bomb.7z", 5_000_000)
    monkeypatch.setattr("porism.limits.Expansion.check", _check_only_what_is_counted)
    with pytest.raises(PorismError, match="too much"):
        built(tmp_path / "c", archive)


def _check_only_what_is_counted(self: object, size: int) -> None:
    if size == self._bytes > 200_000:  # type: ignore[attr-defined]
        raise PorismError("too much")


def test_a_huge_attribute_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORISM_ROW_BYTES", "1000000")
    made = built(tmp_path / "c", bomb(tmp_path / "bomb.7z", 5_000_000))
    assert [post.id for post in made.posts()] == [1, 3]
    assert len(examples(made, "posts", "row of more than 1,000,000 bytes")) == 1


def test_a_long_line_of_a_table_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORISM_ROW_BYTES", "1000")
    path = tmp_path / "formulas.tsv"
    path.write_text(f"id\tlatex\n1\tx\n2\t{'y' * 5000}\n3\tz\n")
    made = built(tmp_path / "c", path)
    assert [formula.latex for formula in made.formulas()] == ["x", "z"]
    assert examples(made, "formulas", "line of more than 1,000 bytes") == [f"{path}:3"]


BUILD = """
import sys, time
from pathlib import Path
from porism.corpus.sources import dump
from porism.corpus.sources.detect import open_source
unpack = dump.SevenZip._unpack
def slow(self, member, file):
    found = unpack(self, member, file)
    print("unpacked", flush=True)
    time.sleep(60)
    return found
dump.SevenZip._unpack = slow
list(open_source(Path(sys.argv[1])).parts()[0].read())
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing_in_the_temporary_folder(way: signal.Signals, tmp_path: Path) -> None:
    archive = bomb(tmp_path / "site.7z", 100_000)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", BUILD, str(archive)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "unpacked\n"
    process.send_signal(way)
    process.wait()
    assert list(temporary.iterdir()) == []


def test_a_wrong_limit_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORISM_ROW_BYTES", "many")
    with pytest.raises(PorismError) as error:
        limit("row_bytes")
    assert str(error.value) == "PORISM_ROW_BYTES: 'many' is not a limit\n  fix: set a whole number above 0, or unset it"


def test_the_page_of_limits_names_all() -> None:
    page = PAGE.read_text("utf-8")
    for name, one in LIMITS.items():
        assert f"| `PORISM_{name.upper()}` | {one.default:,} | {one.meaning} |" in page


MACRO = r"\def\a{" + "x+" * 9_000 + "}"
MANY = MACRO + "$ and " + r"$\a$ " * 3_000
WITH_MACROS = "formulas with macros"


def most(text: str) -> int:
    """How long a text may become: marks and ids of each formula, and what macros write."""
    return (1 + RATIO) * len(text) + FREE + 20 * text.count("$")


def test_macros_of_a_post_write_no_more_than_a_few_times_its_length(tmp_path: Path) -> None:
    body = f"<p>${MANY}</p>"
    dump = write_dump(
        tmp_path / "dump",
        Posts=[question(1, body), question(2, title=r"$\def\a{" + "x" * 500 + "}$" + r"$\a$" * 50)],
        Comments=[comment(1, 1, f"${MANY[:45_000]}")],
    )
    made = built(tmp_path / "c", dump)
    assert len(made.posts_by_id([1])[1].body.stored) < most(body)
    assert made.posts_by_id([1])[1].body.formulas[-1].text == r"\a"
    assert tally(made)[WITH_MACROS, UNEXPANDED] == 3
    assert examples(made, WITH_MACROS, UNEXPANDED)[0] == "post 1: 2991 formulas"
    with made:
        writer = DeltaWriter(made, _put(RawPost(3, "question", None, "A title", body, "html")), "update")
        assert [remark.why for remark in writer.apply().remarks] == [UNEXPANDED]
        writer.write(tmp_path / "part")
    with Collection.open(tmp_path / "part") as changed:
        assert tally(changed)[WITH_MACROS, UNEXPANDED] == 4
        assert len(changed.posts_by_id([3])[3].body.stored) < most(body)


def _put(post: RawPost) -> Changes:
    changes = Changes()
    changes.put([post])
    return changes


@pytest.mark.parametrize(
    ("name", "before"),
    [("a.tex", f"{MACRO}\n"), ("a.md", f"${MACRO}$\n"), ("a.org", f"\\({MACRO}\\)\n"), ("a.rst", f":math:`{MACRO}`\n"), ("a.html", f"${MACRO}$"), ("a.txt", f"${MACRO}$")],
)  # fmt: skip
def test_macros_of_a_document_write_no_more_than_a_few_times_its_length(name: str, before: str, tmp_path: Path) -> None:
    use = ":math:`\\a`\n" if name.endswith("rst") else "\\(\\a\\) "
    uses = 1_000 if name.endswith("rst") else 3_000  # docutils takes milliseconds for each, and refuses long lines
    text = before.replace("x+" * 100, "x+" * 100 + "\n") + use * uses
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / name).write_text(text, "utf-8")
    made = built(tmp_path / "c", folder)
    as_html = text + "<span class='math-container'></span>" * uses
    assert sum(len(post.body.stored) for post in made.posts()) < most(as_html) + 20 * uses
    assert tally(made)[WITH_MACROS, UNEXPANDED] == 1
