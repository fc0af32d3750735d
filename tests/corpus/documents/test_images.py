"""Pictures of a folder of documents: kept with the collection, under the digest of their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from porism.corpus.sources.documents.images import LARGEST_IMAGE, image_kind

from ..small import built, tally

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><path id="a" d="M0 0"/><use href="#a"/></svg>'


def name_of(content: bytes, kind: str) -> str:
    return f"{hashlib.sha256(content).hexdigest()}.{kind}"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "figures").mkdir(parents=True)
    (folder / "figures" / "plot one.png").write_bytes(PNG)
    (folder / "figures" / "curve.svg").write_bytes(SVG)
    return folder


def test_pictures_of_documents_are_kept_by_digest(notes: Path, tmp_path: Path) -> None:
    (notes / "a.md").write_text("# A\n\nText ![a plot](figures/plot%20one.png) and ![](https://other.example/x.png).\n")
    (notes / "figures" / "b.md").write_text("# B\n\nAgain ![](<plot one.png>)\n")
    (notes / "c.tex").write_text("\\section{C}\nA curve: \\includegraphics[width=3cm]{figures/curve}\n")
    with built(tmp_path / "collection", notes) as made:
        bodies = {post.title.plain(): "".join(one.text for one in post.body.segments) for post in made.posts()}
        png, svg = name_of(PNG, "png"), name_of(SVG, "svg")
        assert f'src="images/{png}"' in bodies["a › A"]
        assert 'src="https://other.example/x.png"' in bodies["a › A"]
        assert f'src="images/{png}"' in bodies["b › B"]
        assert f'src="images/{svg}"' in bodies["c › C"]
        assert made.images([png, svg, "../manifest.json"]) == {png: PNG, svg: SVG}
        assert tally(made)["pictures", "kept"] == 2


@pytest.mark.parametrize(
    "address", ["../secret.png", "/etc/passwd", "link.png", "linked/plot one.png", ".git/x.png", "none.png"]
)
def test_only_plain_files_of_the_folder_are_read(notes: Path, tmp_path: Path, address: str) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    (notes / "link.png").symlink_to(tmp_path / "secret.png")
    (notes / "linked").symlink_to(notes / "figures")
    (notes / ".git").mkdir()
    (notes / ".git" / "x.png").write_bytes(PNG)
    (notes / "a.md").write_text(f"# A\n\nText ![](<{address}>)\n")
    with built(tmp_path / "collection", notes) as made:
        assert not made.images([name_of(PNG, "png")])
        assert tally(made).get(("pictures", "no such file in the folder"), 0) == (not address.startswith("/"))


def test_a_file_that_is_no_picture_or_too_large_is_left_out(notes: Path, tmp_path: Path) -> None:
    (notes / "page.png").write_text("<html>")
    (notes / "large.png").write_bytes(PNG + bytes(LARGEST_IMAGE))
    (notes / "a.md").write_text("# A\n\nText ![](page.png) ![](large.png)\n")
    with built(tmp_path / "collection", notes) as made:
        assert tally(made)["pictures", "not a picture that pages can show"] == 1
        assert tally(made)["pictures", f"larger than {LARGEST_IMAGE:,} bytes"] == 1


def test_the_digest_of_a_collection_covers_its_pictures(notes: Path, tmp_path: Path) -> None:
    (notes / "a.md").write_text("# A\n\nText ![](figures/curve.svg)\n")
    first = built(tmp_path / "one", notes).digest
    assert built(tmp_path / "two", notes).digest == first
    (notes / "figures" / "curve.svg").write_bytes(SVG.replace(b"M0 0", b"M0 1"))
    assert built(tmp_path / "three", notes).digest != first


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"GIF89a", "gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "webp"),
        (SVG, "svg"),
        (b"<svg><script>alert(1)</script></svg>", ""),
        (b'<svg onload="alert(1)"></svg>', ""),
        (b'<svg><image href="https://other.example/x.png"/></svg>', ""),
        (b'<svg><style>@import "x"</style></svg>', ""),
        (b'<!DOCTYPE svg [<!ENTITY a "b">]><svg></svg>', ""),
        (b"<html><svg></svg></html>", ""),
        (b"", ""),
    ],
)
def test_the_content_tells_what_a_picture_is(content: bytes, kind: str) -> None:
    assert image_kind(content) == kind
