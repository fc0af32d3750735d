"""Damaged files are found and named, and never answer a query."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import porism
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.integrity import Damage, DamageError
from porism.store import open_store
from porism.store.embedded.manifest import SEARCH, read_manifest
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.embedded.store import collection_of, verify_place
from porism.web.server import served_index as integrity
from porism.web.server.app import create_app
from porism.web.server.served_index import IntegrityCheck, SharedVerification
from store.segments.site import index_site, make_site

FLIPS = 100


def index_damages(index: Path) -> tuple[Damage, ...]:
    """Read every file of an index and of its collection, and return what is damaged."""
    return tuple(damage for one in open_store(index).verify() for damage in one.damages)


@pytest.fixture(scope="module")
def place(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo that tests damage and repair."""
    copy = tmp_path_factory.mktemp("damaged") / "demo"
    shutil.copytree(
        demo, copy, ignore=shutil.ignore_patterns("systems")
    )  # caches of named systems are no part of the index
    return copy


@contextmanager
def flipped(path: Path, at: int, bits: int) -> Iterator[None]:
    """Change one byte of a file, and change it back."""
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)
    try:
        yield
    finally:
        data[at] ^= bits
        path.write_bytes(data)


def flips(place: Path) -> list[tuple[Path, int, int]]:
    """Return flipped bytes: one in every file, and the rest spread over all bytes."""
    chosen = random.Random(17)
    files = sorted(path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
    by_size = chosen.choices(files, [path.stat().st_size for path in files], k=max(0, FLIPS - len(files)))
    return [(path, chosen.randrange(path.stat().st_size), 1 << chosen.randrange(8)) for path in [*files, *by_size]]


def test_an_intact_index_is_verified(place: Path) -> None:
    index, collection = verify_place(place / "index")
    assert (index.kind, collection.kind) == ("index", "collection")
    assert index.files > 50
    assert collection.files == 1
    assert not index.damages
    assert not collection.damages
    assert porism.open(place / "index", verify="all").search("square root").hits


def test_no_flipped_byte_is_unnoticed(place: Path) -> None:
    for path, at, bits in flips(place):
        with flipped(path, at, bits):
            named = [damage.part for damage in index_damages(place / "index")] if _opens(place) else [str(path)]
            assert str(path) in named, f"byte {at} of {path} ^ {bits}"


def _opens(place: Path) -> bool:
    """Return whether the kind and format of the index and the collection can still be read."""
    try:
        index_damages(place / "index")
    except PorismError:
        return False
    return True


def test_no_flipped_byte_changes_an_answer_of_a_verified_index(place: Path) -> None:
    for path, at, bits in flips(place)[::5]:
        with flipped(path, at, bits), pytest.raises(PorismError):
            porism.open(place / "index", verify="all")


def test_a_damaged_collection_gives_no_raw_error(place: Path) -> None:
    store = place / "collection" / "collection.sqlite"
    chosen = random.Random(3)
    for _ in range(30):
        with flipped(store, chosen.randrange(store.stat().st_size), 1 << chosen.randrange(8)):
            assert _is_read_or_refused(place / "collection")


def _is_read_or_refused(path: Path) -> bool:
    """Read everything; an error of any other kind than PorismError is raised."""
    try:
        with Collection.open(path, verify="none") as collection:
            for post in collection.posts():
                assert isinstance(post.body.segments, list)
            list(collection.formulas())
            list(collection.expressions())
    except PorismError:
        return True
    return True


@pytest.mark.parametrize(
    ("name", "content"),
    [("index/posts/threads.npy", b"not an array"), ("collection/collection.sqlite", b"nothing")],
)
def test_a_replaced_file_is_damage(place: Path, tmp_path: Path, name: str, content: bytes) -> None:
    copy = tmp_path / "demo"
    shutil.copytree(place, copy)
    (copy / name).write_bytes(content)
    with pytest.raises(DamageError):
        porism.open(copy / "index", verify="none").search("square root")


def test_a_server_refuses_requests_once_damage_is_found(place: Path) -> None:
    engine = porism.open(place / "index")
    check = IntegrityCheck(place / "index")
    client = TestClient(create_app(engine, check=check), base_url="http://localhost")
    assert client.get("/ready").json() == {"ready": True, "integrity": "checking", "damaged": []}
    check.run()
    assert client.get("/ready").json()["integrity"] == "verified"
    with flipped(place / "index/posts/threads.rows", 100, 4):
        check.run()
        ready = client.get("/ready")
    assert ready.status_code == 503
    assert ready.json()["damaged"] == [{"part": "threads.rows", "fact": "is damaged: its checksum is wrong"}]
    answer = client.get("/v1/search", params={"q": "square root"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "damaged")
    assert "porism store verify" in answer.json()["error"]["fix"]
    page = client.get("/", params={"q": "square root"})
    assert page.status_code == 503
    assert str(place) not in page.text
    assert client.get("/v1/health").status_code == 200


def test_the_processes_of_a_server_verify_an_index_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.touch()

    def read(_: Path) -> tuple[Damage, ...]:
        with log.open("a") as out:
            out.write("x")
        if len(log.read_text()) == 1:
            os._exit(9)  # the first one dies while it reads
        return (Damage("part", "is damaged", "build it again"),)

    monkeypatch.setattr(integrity, "_damages_of", read)
    shared = SharedVerification()

    def verify() -> None:
        check = IntegrityCheck(tmp_path, shared)
        check.run()
        os._exit(0 if check.state == "damaged" and check.damages[0].fix == "build it again" else 1)

    processes = [multiprocessing.get_context("fork").Process(target=verify) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert sorted(process.exitcode or 0 for process in processes) == [0, 0, 0, 9]
    assert log.read_text() == "xx"
    shared.forget()
    assert shared.damages(tmp_path)
    assert log.read_text() == "xxx"


def test_the_command(place: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "porism.cli", "store", "verify", "--quiet", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    intact = run(str(place / "index"))
    assert intact.returncode == 0
    assert intact.stdout.count(": intact") == 2
    with flipped(place / "collection/collection.sqlite", 5000, 1):
        damaged = run(str(place / "collection"), "--json")
    assert damaged.returncode == 1
    (found,) = json.loads(damaged.stdout)
    assert found["damages"][0]["part"] == str(place / "collection/collection.sqlite")
    assert "porism build" in found["damages"][0]["fix"]
    assert "neither an index nor a collection" in run(str(place)).stderr


def test_no_flipped_byte_of_a_changed_index_is_unnoticed(tmp_path: Path) -> None:
    site = make_site(5, 12)
    index = index_site(site, tmp_path / "site")
    with IndexWriter(index, "site") as writer:
        site.change(writer)
        writer.commit()
    assert index_damages(index) == ()
    home = collection_of(index)
    named = set(read_manifest(index, SEARCH).files) | {"manifest.json"}
    with Collection.open(home) as collection:
        stored = {(home / name).resolve() for name in (*collection.files, "manifest.json")}
    chosen = random.Random(3)
    for path in sorted({(index / name).resolve() for name in named} | stored):
        if path.stat().st_size:
            with flipped(path, chosen.randrange(path.stat().st_size), 1 << chosen.randrange(8)):
                assert str(path) in _named(index), path
                with pytest.raises(PorismError):
                    porism.open(index, verify="all")


def _named(index: Path) -> str:
    """Return what `porism store verify` says of an index, damage of its kind and format included."""
    try:
        return "\n".join(str(Path(damage.part).resolve()) for damage in index_damages(index))
    except PorismError as error:
        return f"{Path(error.where).resolve()}\n{Path(error.where).resolve() / 'manifest.json'}"
