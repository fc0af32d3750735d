"""Flipped, overwritten and truncated bytes in every kind of file: `porism store verify` notices each of them."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from random import Random

from bench.assess import prepare

from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import build_collection, small_index, write_dump
from porism.errors import PorismError
from porism.lab.judging.assignments import assigned_items, assignments
from porism.lab.judging.journal import Event, Journal, JournalEntry
from porism.lab.judging.record import record_entries


def damage(path: Path, rng: Random) -> str:
    """Change a file; return what was done to it."""
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content))
    kind = rng.choice(("flip", "flip", "flip", "truncate", "zeros", "append"))
    if kind == "flip":
        content[at] ^= 1 << rng.randrange(8)
    elif kind == "truncate":
        del content[at:]
    elif kind == "zeros":
        zeros = bytes(len(content[at : at + 64]))
        if content[at : at + 64] == zeros:
            zeros = b"\x01" + zeros[1:]
        content[at : at + 64] = zeros
    else:
        content += b"\x00" * rng.randint(1, 9)
    path.write_bytes(bytes(content))
    return f"{kind} at {at} of {path.name}"


def is_noticed(place: Path) -> bool:
    """Return whether `porism store verify` reports damage, as damage or as an error with a remedy."""
    from porism.lab.judging.verify import verify_journal
    from porism.store.embedded.store import verify_place

    try:
        found = [verify_journal(place)] if place.is_file() else verify_place(place)
    except PorismError:
        return True
    return any(one.damages for one in found)


def damage_all(stage: Stage, record: Record, place: Path) -> None:
    """Damage a copy of a folder or file, once in each file first, then anywhere."""
    files = (
        sorted(path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
        if place.is_dir()
        else [place]
    )
    copy = stage.folder / f"damaged-{place.name}"
    for number in range(max(stage.tries * 2, len(files) if stage.long else 0)):
        original = files[number % len(files)] if number < len(files) else stage.rng.choice(files)
        if place.is_dir():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(place, copy)
        else:
            shutil.copyfile(place, copy)
        name = copy / original.relative_to(place) if place.is_dir() else copy
        with record.attempt(original.name):
            done = damage(name, stage.rng)
            if not is_noticed(copy):
                raise Lost(f"{done} is not noticed")


def damage_index(stage: Stage, record: Record) -> None:
    """Damage the files of an index."""
    damage_all(stage, record, small_index(stage.folder))


def damage_collection(stage: Stage, record: Record) -> None:
    """Damage the files of a collection."""
    small_index(stage.folder)
    damage_all(stage, record, stage.folder / "small.collection")


def damage_journal(stage: Stage, record: Record) -> None:
    """Damage a journal: `porism store verify` notices it, or the damage is in bytes that mean nothing and every event
    is as before."""
    collection = build_collection(write_dump(stage.folder / "dump", threads=20), stage.folder / "collection")
    load = prepare(stage.folder, collection, assessors=2, judgments=20)
    with contextlib.closing(Journal.open(load.journal)) as journal:
        for job in assignments(journal):
            for item in assigned_items(journal, job.id):
                entries = [
                    JournalEntry(item.key, 1, "grade", str(stage.rng.randrange(4))),
                    JournalEntry(item.key, 1, "submit", ""),
                ]
                record_entries(journal, job.assessor, job.id, entries, f"chaos-{job.id}-{item.key}")
        before = list(journal.events())
    copy = stage.folder / "damaged.journal"
    for number in range(stage.tries * 2):
        for old in stage.folder.glob("damaged.journal*"):
            old.unlink()
        shutil.copyfile(load.journal, copy)
        with record.attempt(f"journal {number + 1}"):
            done = damage(copy, stage.rng)
            if not is_noticed(copy) and events_of(copy) != before:
                raise Lost(f"{done} is not noticed and changes judgments")


def events_of(journal: Path) -> list[Event]:
    """Return the events of a journal."""
    with contextlib.closing(Journal.open(journal)) as opened:
        return list(opened.events())


KINDS = (
    Kind("damage index", "porism store verify notices it", damage_index),
    Kind("damage collection", "porism store verify notices it", damage_collection),
    Kind("damage journal", "porism store verify notices it, or no judgment changes", damage_journal),
)
