"""porism verify: compare stored files with their checksums."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.integrity import Verification
    from porism.progress import Progress

HELP = "read every file of an index, a collection or a journal and name what is damaged"
EXAMPLE = "porism verify demo/index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="an index (its collection is read, too), a collection or a journal"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")


def run(args: argparse.Namespace) -> int:
    """Verify each path. Return 1 if anything is damaged."""
    import time
    from dataclasses import asdict

    from porism.progress import Silent, for_terminal

    progress = Silent() if args.quiet else for_terminal()
    found: list[Verification] = []
    began = time.perf_counter()
    for path in args.paths:
        found += _verify(Path(path), progress)
    seconds = time.perf_counter() - began
    if args.json:
        import json

        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        _print(found, seconds)
    return 1 if any(one.damages for one in found) else 0


def _verify(path: Path, progress: Progress) -> list[Verification]:
    from porism.lab.judging.storage.verify import verify_journal
    from porism.store import open_store

    return [verify_journal(path, progress)] if path.is_file() else open_store(path).verify(progress)


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
