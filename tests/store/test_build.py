"""Build a whole index: complete or not at all, and the same bytes every time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import porism
from porism.corpus.build.pipeline import Base, build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.files import digest_file
from porism.integrity import seal
from porism.store.embedded.build import build_index
from porism.store.protocols import IndexOptions

FIRST = {
    "roots.md": "# Why is $\\sqrt{2}$ irrational?\n\nSuppose $\\sqrt{2}=p/q$ in lowest terms.\n",
    "triangle.md": "# Pythagorean theorem\n\nIn a right triangle $a^2+b^2=c^2$.\n",
}
MORE = {"series.md": "# Geometric series\n\nThe sum is $\\sum_{k=0}^n q^k=\\frac{1-q^{n+1}}{1-q}$.\n"}


def build_notes(folder: Path, name: str, notes: dict[str, str], base: Collection | None = None) -> Collection:
    source = folder / f"{name}-source"
    source.mkdir()
    for file, text in notes.items():
        (source / file).write_text(text, "utf-8")
    return Collection.open(build([open_source(source, "")], folder / name, jobs=1, base=base and Base(base)))


def posts_files(index: Path) -> dict[str, str]:
    """Return the digests of all files of the index of posts."""
    return {path.name: digest_file(path) for path in sorted((index / "posts").iterdir()) if path.is_file()}


def test_building_twice_gives_the_same_files(tmp_path: Path) -> None:
    collection = build_notes(tmp_path, "notes", FIRST)
    for name in ("one", "two"):
        build_index(collection, tmp_path / name)
    assert posts_files(tmp_path / "one") == posts_files(tmp_path / "two")


def test_an_interrupted_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = build_notes(tmp_path, "notes", FIRST)
    monkeypatch.setattr(
        "porism.store.embedded.build.learn_concepts", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        build_index(collection, tmp_path / "index")
    assert not (tmp_path / "index").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_damaged_index_is_reported(tmp_path: Path) -> None:
    collection = build_notes(tmp_path, "notes", FIRST)
    place = tmp_path / "index"
    build_index(collection, place)
    rebuild = f"fix: build the index again: porism index COLLECTION -o {place}"
    whole = (place / "posts" / "threads.rows").read_bytes()
    (place / "posts" / "threads.rows").write_bytes(whole[:-4])
    with pytest.raises(PorismError) as error:
        porism.open(place)
    fact = f"posts/threads.rows has {len(whole) - 4} bytes and should have {len(whole)}"
    assert str(error.value) == f"{place}: {fact}\n  {rebuild}"
    (place / "posts" / "threads.rows").write_bytes(whole)
    manifest = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(PorismError, match="index format 99 is newer than this version of Porism reads"):
        porism.open(place)


def test_a_replaced_collection_is_reported(tmp_path: Path) -> None:
    collection = build_notes(tmp_path, "notes", FIRST)
    build_index(collection, tmp_path / "index")
    shutil.rmtree(tmp_path / "notes")
    (tmp_path / "other").mkdir()
    build_notes(tmp_path / "other", "notes", MORE).path.rename(tmp_path / "notes")
    with pytest.raises(PorismError) as error:
        porism.open(tmp_path / "index")
    home = tmp_path / "notes"
    assert str(error.value) == (
        f"{tmp_path / 'index'}: was built from another collection than the one at {home}\n"
        f"  fix: build the index again: porism index {home} -o {tmp_path / 'index'}"
    )


def test_an_index_without_vectors(tmp_path: Path) -> None:
    notes = build_notes(tmp_path, "notes", FIRST | MORE)
    build_index(notes, tmp_path / "index", IndexOptions(vectors=False))
    assert not list((tmp_path / "index").rglob("vectors.*"))
    engine = porism.open(tmp_path / "index")
    query = r"irrational $\sqrt{2}$"
    first = engine.search(query, k=1, kind="questions").hits[0]
    assert "irrational" in "".join(part.text for part in first.title)
    assert engine.explain(query, first.id).value == pytest.approx(first.score, rel=1e-4)


def test_a_collection_of_formulas_without_posts(tmp_path: Path) -> None:
    table = tmp_path / "list.tsv"
    table.write_text("id\tlatex\n1\ta+b\n2\tx^2\n", "utf-8")
    collection = Collection.open(build([open_source(table, "")], tmp_path / "list", jobs=1))
    build_index(collection, tmp_path / "index")
    engine = porism.open(tmp_path / "index")
    assert engine.search("anything").hits == ()
    assert engine.formulas("b+a").hits[0].latex == "a+b"


# The largest file that may be written, in bytes: too small for the formulas, for the posts, for the vectors.
@pytest.mark.parametrize("largest_file", [2_000, 9_000, 60_000])
def test_a_full_disk_is_reported_and_nothing_is_left(tmp_path: Path, largest_file: int) -> None:
    notes = {
        f"note{at}.md": f"# Sum {at}\n\n" + " ".join(f"word{at * k} $x_{{{k}}}^{{{at}}}+{k}$" for k in range(60))
        for at in range(40)
    }
    build_notes(tmp_path, "notes", notes)
    code = (
        "import resource, sys; from porism.cli import main;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({largest_file}, {largest_file}));"
        "sys.exit(main(['index', 'notes', '-o', 'index', '--quiet']))"
    )
    # Python itself must not write its cache of modules under the limit: later imports would find them truncated.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert re.fullmatch(
        r"porism: index: cannot be written: .*File too large.*\n  fix: free disk space or choose another place\n",
        done.stderr,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "notes-source"]


def test_formulas_parsed_by_another_version_are_refused(tmp_path: Path) -> None:
    notes = build_notes(tmp_path, "notes", FIRST)
    notes.close()
    manifest = json.loads((notes.path / "manifest.json").read_text("utf-8"))
    (notes.path / "manifest.json").write_text(seal({**manifest, "formulas": "0123"}), "utf-8")
    with Collection.open(notes.path) as changed, pytest.raises(PorismError) as error:
        build_index(changed, tmp_path / "index")
    assert str(error.value) == (
        f"{notes.path}: its formulas were parsed by another version of Porism\n"
        "  fix: build the collection again: porism build SOURCE -o COLLECTION"
    )
    assert not (tmp_path / "index").exists()
