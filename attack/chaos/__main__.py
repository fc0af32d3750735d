"""Kill processes, damage files, fill disks and press a server, on this machine only; report what held.

Exit code 1 if anything was lost, wrong, hung, leaked or left behind.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from attack import page
from attack.chaos import (
    bombs,
    browser,
    clients,
    clock,
    damage,
    disk,
    flips,
    folders,
    judging,
    kills,
    load,
    servers,
    writers,
)
from attack.chaos.trials import Kind, Record, Stage

KINDS: tuple[Kind, ...] = (
    *kills.KINDS,
    *servers.KINDS,
    *judging.KINDS,
    *writers.KINDS,
    *damage.KINDS,
    *flips.KINDS,
    *bombs.KINDS,
    *disk.KINDS,
    *clock.KINDS,
    *clients.KINDS,
    *browser.KINDS,
    *load.KINDS,
    *folders.KINDS,
)
HEADER = ("| attack | what must hold | tried | held | worst |", "|---|---|--:|--:|--:|")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m attack.chaos", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tries", type=int, default=50, help="tries of each kind (default 50)")
    parser.add_argument(
        "--long", action="store_true", help="for a night: 20 times as many tries, and ten minutes of load"
    )
    parser.add_argument("--seed", default="1", help="another seed gives other moments and bytes (default 1)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="KIND", help="only kinds that contain this word; may be repeated"
    )
    parser.add_argument("--page", action="store_true", help="write the table into docs/results/reliability.md")
    return parser.parse_args()


def table(records: list[Record]) -> list[str]:
    """Return the records as lines of a Markdown table."""
    rows = [
        f"| {record.kind} | {record.promise} | {record.tried} | {record.held} | {f'{record.worst:.2f} s' if record.worst else '-'} |"
        for record in records
    ]
    return [*HEADER, *rows]


def run(kind: Kind, options: argparse.Namespace) -> Record:
    """Try one kind of attack in a folder of its own."""
    record = Record(kind.name, kind.promise)
    tries = max(1, int(options.tries * kind.share * (20 if options.long else 1)))
    with tempfile.TemporaryDirectory(prefix="porism-chaos-") as folder:
        kind.run(Stage(Path(folder), tries, Random(f"{options.seed}/{kind.name}"), options.long), record)
    return record


def main() -> int:
    """Run the kinds one after another."""
    options = arguments()
    chosen = [kind for kind in KINDS if not options.only or any(word in kind.name for word in options.only)]
    began, records = time.monotonic(), []
    for kind in chosen:
        records.append(run(kind, options))
        print("", file=sys.stderr)
    print("\n".join(table(records)))
    for record in records:
        for note in record.notes:
            print(f"{record.kind}: note: {note}")
        for loss in record.losses[:5]:
            print(f"{record.kind}: LOST: {loss}")
    print(f"{time.monotonic() - began:.0f} s")
    if options.page:
        page.write_section("chaos", table(records))
    return 1 if any(record.losses for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
