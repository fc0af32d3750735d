"""Backups while an index is searched and changed; restoring; kills; damage."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import porism
from notes_site import make_notes_index
from porism.cli import main
from porism.corpus.sources.raw import RawPost
from porism.errors import PorismError
from porism.files import UNFINISHED
from porism.integrity import DamageError
from porism.lab.judging.journal import Journal
from porism.store.embedded.segments import writer as index_writer
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.embedded.store import verify_place
from porism.web.site import backup as backup_module
from porism.web.site.backup import LIST, Item, back_up, read_list, restore

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return make_notes_index(tmp_path)


def put(index: Path, id: int, word: str) -> None:
    with IndexWriter(index, wait=60) as writer:
        writer.put([RawPost(id, "question", None, word, f"<p>{word} $x^{id % 9}$</p>", "html")])
        writer.commit()


def found(index: Path, word: str) -> list[int]:
    return [hit.id for hit in porism.open(index).search(word, kind="questions").hits]


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
def test_a_restored_index_answers_as_before(index: Path, tmp_path: Path, name: str) -> None:
    put(index, 70, "zeppelin")
    put(index, 71, "balloon")
    made = back_up(index, tmp_path / name)
    assert made.index == "data/index"
    restored = restore(tmp_path / name, tmp_path / "restored")
    assert restored == tmp_path / "restored/data/index"
    assert not [one.damages for one in verify_place(restored) if one.damages]
    assert found(restored, "zeppelin") == [70]
    put(restored, 72, "kite")  # it can be changed again
    assert found(restored, "kite") == [72]
    assert found(index, "kite") == []


def test_it_holds_logs_tokens_settings_users_and_journals(index: Path, tmp_path: Path) -> None:
    index.with_name("index.log").write_text("changes that wait\n")
    tokens = index.with_name("index.tokens")
    tokens.write_text("{}")
    tokens.chmod(0o600)
    (tmp_path / "site.toml").write_text('[site]\nlogo = "logo.svg"\n')
    (tmp_path / "logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    Journal.create(tmp_path / "lab.journal").close()
    words = [
        "site",
        "backup",
        str(index),
        "-o",
        str(tmp_path / "b.tar"),
        "--site",
        str(tmp_path / "site.toml"),
        "--quiet",
    ]
    assert main([*words, "--journal", str(tmp_path / "lab.journal")]) == 0
    assert main(["site", "restore", str(tmp_path / "b.tar"), "-o", str(tmp_path / "back"), "--quiet"]) == 0
    back = tmp_path / "back"
    assert (back / "data/index.log").read_text() == "changes that wait\n"
    assert (back / "data/index.tokens").stat().st_mode & 0o777 == 0o600
    assert (back / "site/site.toml").is_file()
    assert (back / "site/logo.svg").is_file()
    Journal.open(back / "journals/lab.journal").close()


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
def test_nothing_is_overwritten(index: Path, tmp_path: Path, name: str) -> None:
    back_up(index, tmp_path / name)
    with pytest.raises(PorismError, match="already exists"):
        back_up(index, tmp_path / name)
    (tmp_path / "there").mkdir()
    with pytest.raises(PorismError, match="already exists"):
        restore(tmp_path / name, tmp_path / "there")
    assert not list((tmp_path / "there").iterdir())


def change_until(index: Path, stop: object, grace: float) -> None:
    """Commit one change after the other; replaced files are removed at once."""
    index_writer.GRACE = grace
    id = 100
    while not stop.is_set():  # type: ignore[attr-defined]
        put(index, 100 + id % 3, f"number{id}")
        id += 1


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
def test_a_backup_during_changes_is_one_commit(index: Path, tmp_path: Path, name: str) -> None:
    stop = FORK.Event()
    process = FORK.Process(target=change_until, args=(index, stop, 0.0))
    process.start()
    try:
        for number in range(3):
            copy = tmp_path / f"{number}{name}"
            back_up(index, copy)
            restored = restore(copy, tmp_path / f"restored{number}")
            assert "\n".join(str(damage) for one in verify_place(restored) for damage in one.damages) == ""
            porism.open(restored).search("number", kind="questions")
    finally:
        stop.set()
        process.join()
    assert process.exitcode == 0


def test_a_commit_between_the_list_and_the_copy_starts_again(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest of a newer commit names files that the list of the older one does not have."""
    listed, calls = backup_module._index_items, []

    def commit_then_copy(place: Path, root: Path) -> Iterator[Item]:
        items = list(listed(place, root))
        if not calls:
            put(index, 100, "kite")
        calls.append(place)
        return iter(items)

    monkeypatch.setattr(backup_module, "_index_items", commit_then_copy)
    back_up(index, tmp_path / "backup")
    restored = restore(tmp_path / "backup", tmp_path / "restored")
    assert [damage for one in verify_place(restored) for damage in one.damages] == []
    assert found(restored, "kite") == [100]


def test_a_file_that_a_writer_removes_starts_the_copy_again(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, calls = backup_module._copy, []

    def vanish_twice(archive: object, item: Item) -> object:
        calls.append(item)
        if len(calls) in (5, 12):
            raise backup_module.Vanished
        return copy(archive, item)  # type: ignore[arg-type]

    monkeypatch.setattr(backup_module, "_copy", vanish_twice)
    back_up(index, tmp_path / "backup")
    assert found(restore(tmp_path / "backup", tmp_path / "restored"), "cubes")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "collection", "index", "notes", "restored"]


def die_in_the_middle(index: Path, target: Path) -> None:
    copy, calls = backup_module._copy, []

    def die(archive: object, item: Item) -> object:
        calls.append(item)
        if len(calls) == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return copy(archive, item)  # type: ignore[arg-type]

    backup_module._copy = die  # type: ignore[assignment]
    back_up(index, target)


@pytest.mark.parametrize("name", ["backup", "backup.tar"])
def test_a_kill_leaves_no_half_backup(index: Path, tmp_path: Path, name: str) -> None:
    process = FORK.Process(target=die_in_the_middle, args=(index, tmp_path / name))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / name).exists()
    left = [path for path in tmp_path.iterdir() if UNFINISHED in path.name]
    assert left
    for path in left:
        os.utime(path, (1, 1))  # files are left alone for a minute: they may be locked a moment later
    back_up(index, tmp_path / f"another-{name}")
    assert not any(path.exists() for path in left)
    back_up(index, tmp_path / name)
    assert found(restore(tmp_path / name, tmp_path / "restored"), "cubes")


def test_a_damaged_index_is_not_backed_up(index: Path, tmp_path: Path) -> None:
    path = max(
        (one for one in index.rglob("*") if one.is_file() and one.name != "manifest.json"),
        key=lambda p: p.stat().st_size,
    )
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamageError):
        back_up(index, tmp_path / "backup.tar")
    assert not list(tmp_path.glob("*backup*"))


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_backup_is_not_restored(index: Path, tmp_path: Path, place: float) -> None:
    back_up(index, tmp_path / "backup.tar")
    names = list(read_list(tmp_path / "backup.tar").files)
    with tarfile.open(tmp_path / "backup.tar") as tar:
        info = tar.getmember(max(names, key=lambda name: tar.getmember(name).size))
    content = bytearray((tmp_path / "backup.tar").read_bytes())
    content[info.offset_data + int(info.size * place)] ^= 1
    (tmp_path / "backup.tar").write_bytes(content)
    with pytest.raises(DamageError):
        restore(tmp_path / "backup.tar", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    (tmp_path / "backup.tar").write_bytes(content[: len(content) // 2])
    with pytest.raises(PorismError):
        restore(tmp_path / "backup.tar", tmp_path / "restored")


def test_names_cannot_lead_out_of_the_folder(index: Path, tmp_path: Path) -> None:
    from porism.integrity import read_sealed, seal

    back_up(index, tmp_path / "backup")
    document = read_sealed(tmp_path / "backup" / LIST, "").document
    document["files"]["../evil"] = {"size": 0, "digest": ""}
    (tmp_path / "backup" / LIST).write_text(seal(document))
    with pytest.raises(PorismError, match="holds a file with the name"):
        restore(tmp_path / "backup", tmp_path / "restored")
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("content", [b"", b"no tar", bytes(2048)])
def test_what_is_no_backup_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(PorismError):
        restore(tmp_path / "x.tar", tmp_path / "restored")
    (tmp_path / "folder").mkdir()
    with pytest.raises(PorismError, match="not a backup"):
        restore(tmp_path / "folder", tmp_path / "restored")


def with_list(folder: Path, **changes: object) -> Path:
    """Return a backup whose list says something else, with a right checksum."""
    from porism.integrity import read_sealed, seal

    document = read_sealed(folder / LIST, "").document
    (folder / LIST).write_text(seal({**document, **changes}))
    return folder


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"files": {"a": {"size": -1, "digest": ""}}}, "is not a list of files"),
        ({"files": {"a": {"size": True, "digest": ""}}}, "is not a list of files"),
        ({"files": {"a": {"length": 1}}}, "is not a list of files"),
        ({"files": {"a": 5}}, "is not a list of files"),
        ({"files": 5}, "is not a list of files"),
        ({"index": None}, "is not a list of files"),
        ({"files": {"a": {"size": 0, "digest": ""}, "a/b": {"size": 0, "digest": ""}}}, "holds a file with the name"),
        ({"files": {"a": {"size": 10**18, "digest": ""}}}, "are free at"),
    ],
)
def test_hostile_lists_are_refused(index: Path, tmp_path: Path, changes: dict[str, object], fact: str) -> None:
    back_up(index, tmp_path / "backup")
    with pytest.raises(PorismError, match=fact):
        restore(with_list(tmp_path / "backup", **changes), tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_more_than_the_list_says_is_not_written_out(tmp_path: Path) -> None:
    """A file may be longer than announced, also without end. It is read as far as the list says, and no further."""
    from porism.integrity import FileChecksum
    from porism.web.site.backup import ArchivedFile, _restore_file

    with open("/dev/zero", "rb") as endless, pytest.raises(DamageError):
        _restore_file(tmp_path, ArchivedFile("hole", 0o600, 10**18, endless), FileChecksum(1000, ""), lambda _: None)
    assert (tmp_path / "hole").stat().st_size == 1001


def test_names_of_a_list_are_checked_in_linear_time(index: Path, tmp_path: Path) -> None:
    back_up(index, tmp_path / "backup")
    for name in ("a/" * 1_000_000 + "a", "a/" * 500 + "a", "a//b", "./a", "a/"):
        changes = {"files": {name: {"size": 0, "digest": ""}}}
        used = time.process_time()
        with pytest.raises(PorismError, match="holds a file with the name"):
            restore(with_list(tmp_path / "backup", **changes), tmp_path / "restored")
        assert time.process_time() - used < 10


def test_a_link_in_a_backup_is_not_followed(index: Path, tmp_path: Path) -> None:
    back_up(index, tmp_path / "backup")
    (tmp_path / "backup/data").rename(tmp_path / "elsewhere")
    (tmp_path / "backup/data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamageError, match="is missing"):
        restore(tmp_path / "backup", tmp_path / "restored")


def test_a_name_that_is_no_text_is_refused(index: Path, tmp_path: Path) -> None:
    from xxhash import xxh3_128

    back_up(index, tmp_path / "backup")
    plain = (tmp_path / "backup" / LIST).read_text().replace('"data/index"', '"data/\\ud800"')
    start, _, rest = plain.partition('"checksum": "')
    end = rest.partition('"')[2]
    digest = xxh3_128(f'{start}"checksum": ""{end}'.encode()).hexdigest()
    (tmp_path / "backup" / LIST).write_text(f'{start}"checksum": "{digest}"{end}')
    with pytest.raises(PorismError, match="holds a file with the name"):
        restore(tmp_path / "backup", tmp_path / "restored")
