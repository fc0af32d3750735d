"""Documents are read in a process with limits: what takes too much is left out and named, and the others are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from porism import limited_process
from porism.corpus.sources.documents import limited
from porism.corpus.sources.documents.images import image_kind
from porism.corpus.sources.documents.limited import read_document
from porism.corpus.sources.documents.markdown import read_markdown
from porism.corpus.sources.folder import Folder
from porism.corpus.sources.raw import Dropped, RawPost

from ..small import built, examples, tally

GRID = "+-+\n|a|\n" * 20_000  # docutils takes time with the square of it


def test_a_document_is_the_same_as_read_here() -> None:
    text = "---\ntitle: 'A title'\ntags: [a, b]\n---\n# One $x$\n\ntext\n\n# Two\n\n\\[y\\] \ud800".encode(
        "utf-8", "replace"
    ).decode()
    here, there = read_markdown(text), read_document(".md", text)
    assert here == there
    assert there.tags == ("a", "b")
    assert len(there.sections) == 3


def test_what_is_no_document_says_why() -> None:
    with pytest.raises(ValueError, match="no cells"):
        read_document(".ipynb", "[]")


def test_a_document_that_takes_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "SECONDS", 2.0)
    monkeypatch.setattr(limited, "SECONDS_OF_CHARACTER", 0.0)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Before\n\ntext\n")
    (folder / "b.rst").write_text(GRID)
    (folder / "c.md").write_text("# After\n\ntext\n")
    made = built(tmp_path / "c", folder)
    assert [post.title.plain() for post in made.posts()] == ["a › Before", "c › After"]
    why = "cannot be read (takes more than 2 seconds of processor time)"
    assert tally(made)["documents", why] == 1
    assert examples(made, "documents", why) == [f"{folder}/b.rst"]


def test_a_document_that_takes_too_much_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORISM_TESTED", "memory")  # another environment starts another process
    monkeypatch.setattr(
        limited_process,
        "START",
        limited_process.START.replace(
            "import_module(sys.argv[2])", "m = import_module(sys.argv[2]); m.MEMORY_BYTES = 300 << 20; m"
        ),
    )
    with pytest.raises(ValueError, match=r"takes more than .* of memory|its reader died"):
        read_document(".ipynb", '{"cells":[' + "[]," * 6_000_000 + "[]]}")
    assert read_document(".md", "text").sections[0].body.strip() == "<p>text</p>"


def test_the_process_that_reads_imports_nothing_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org.py").write_text("raise SystemExit")
    for name in ("json", "html", "nh3", "markdown_it", "orgparse", "resource"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit")
    (tmp_path / "a.org").write_text("* A headline\ntext\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORISM_TESTED", "path")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend("")
    posts = [one for one in Folder(Path()).parts()[0].read() if isinstance(one, RawPost)]
    assert [post.title for post in posts] == ["a › A headline"]
    assert not os.path.exists("ran")


@pytest.mark.parametrize(
    "text",
    [
        "* " + "a:" * 2_000,
        "* " + "a:" * 100_000,
        ("* " + "a:" * 400 + "\n") * 100,
        "* a" + " " * 100_000 + "b",
        "* a\n:PROPERTIES:\n:a: b" + " " * 100_000 + "c\n:END:\n",
    ],
)
def test_headlines_that_orgparse_cannot_read_in_time_are_text(text: str) -> None:
    assert read_document(".org", text + "\n* Next\n\nwords").sections[-1].title == "Next"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<!-- -->" * 35 + b"<svg ></svg>", "svg"),
        (b"<!--a--> " * 5_000 + b"<svg></svg>", "svg"),
        (b"<!-- --> " * 40_000, ""),
        (b"<!--" * 40_000, ""),
        (b"<svg href=" + b" " * 200_000 + b"#a></svg>", "svg"),
        (b"<svg href=" + b" " * 200_000 + b"x></svg>", ""),
        (b"<svg a='url( #b )'></svg>", "svg"),
        (b"<svg a='url( b )'></svg>", ""),
    ],
)
def test_pictures_are_recognised_in_linear_time(content: bytes, kind: str) -> None:
    assert image_kind(content) == kind


def test_a_picture_of_comments_does_not_stop_a_build(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nwords ![x](x.svg)\n")
    (tmp_path / "x.svg").write_bytes(b"<!-- -->" * 35)
    records = list(Folder(tmp_path).parts()[0].read())
    assert [one.why for one in records if isinstance(one, Dropped)] == ["not a picture that pages can show"]
