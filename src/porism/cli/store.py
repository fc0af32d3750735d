"""porism store: look after the files of an index."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import argument, command
from porism.cli.values import JSON, QUIET

if TYPE_CHECKING:
    from porism.integrity import Verification
    from porism.progress import Progress


@command(
    "porism store verify demo/index",
    argument(
        "paths", nargs="+", metavar="PATH", help="an index (its collection is read, too), a collection or a journal"
    ),
    argument(
        "--against",
        metavar="INDEX",
        help="the folder that PATH, a collection in a cluster, was copied from: compare counts and the digests of all records and posts",
    ),
    JSON,
    QUIET,
)
def verify(args: argparse.Namespace) -> int:
    """Compare each path with its checksums. Return 1 if anything is damaged."""
    import time
    from dataclasses import asdict

    from porism.progress import Silent, for_terminal

    progress = Silent() if args.quiet else for_terminal()
    if args.against:
        return _compare(args.paths, args.against, progress)
    found: list[Verification] = []
    began = time.perf_counter()
    for path in args.paths:
        found += _verify(path, progress)
    seconds = time.perf_counter() - began
    if args.json:
        import json

        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        _print(found, seconds)
    return 1 if any(one.damages for one in found) else 0


def _compare(paths: list[str], source: str, progress: Progress) -> int:
    """Print how copies differ from their source. Return 1 if any does."""
    from porism.store.maintenance import verify_copy

    differences = [(path, verify_copy(path, source, progress)) for path in paths]
    for path, found in differences:
        for one in found:
            print(f"{path}: {one}")
        print(f"{path}: {'differs from' if found else 'equal to'} {source}", file=sys.stderr)
    return 1 if any(found for _, found in differences) else 0


def _verify(path: str, progress: Progress) -> list[Verification]:
    from porism.lab.judging.verify import verify_journal
    from porism.store import open_store

    if Path(path).is_file():
        return [verify_journal(Path(path), progress)]
    return open_store(path).verify(progress)


def _print(found: list[Verification], seconds: float) -> None:
    for one in found:
        state = "damaged" if one.damages else "intact"
        parts = f"{one.files:,} {one.unit if one.files != 1 else one.unit[:-1]}"
        print(f"{one.path}: {one.kind}, {parts}, {one.bytes / 1e6:,.1f} MB: {state}")
        for damage in one.damages:
            print(f"  {damage.part} {damage.fact}\n    fix: {damage.fix}")
        for remark in one.remarks:
            print(f"  note: {remark}")
    size = sum(one.bytes for one in found)
    print(f"read {size / 1e6:,.1f} MB in {seconds:.2f} s", file=sys.stderr)


@command("porism store merge demo/index", argument("index", metavar="INDEX", help="an index"), QUIET)
def merge(args: argparse.Namespace) -> int:
    """Merge, and report the number of segments before and after."""
    from porism.progress import Silent, for_terminal
    from porism.store import open_store

    index, store = args.index, open_store(args.index)
    before = store.status().parts
    if not store.maintain(everything=True, progress=Silent() if args.quiet else for_terminal()):
        print(f"{index}: has one segment already", file=sys.stderr)
        return 0
    after = store.status()
    print(f"{index}: {before} segments are now {after.parts}, {after.bytes / 1e6:,.1f} MB", file=sys.stderr)
    return 0
