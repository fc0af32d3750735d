"""Read hostile inputs with every reader, and report what goes wrong.

Each input has 2 seconds of processor time and 1 GB of memory, in a process of its own kind that may be killed. A hang,
a crash, an error that is no PorismError, too much memory, an open descriptor or a file left behind is a finding: it is
shortened, printed with the command that repeats it, and kept in attack/corpus, where every later run reads it first. A
fifth of the inputs are pumped: an opener, repeated up to 200,000 characters without what closes it; there a time that
grows faster than the length is a finding, too. Exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path

from attack.fuzz import report
from attack.fuzz.inputs import CORPUS
from attack.fuzz.minimise import faults_of, minimise
from attack.fuzz.pool import Tally, run
from attack.fuzz.reader import Reader
from attack.fuzz.worker import Block, Finding, pumps_of_reader

MOST_SHORTENED = 12
PUMPED = 0.2  # of all inputs
PUMP_BLOCK = 50
HANG_TRIES = 3
MANY_HANGS = 10  # so many of one cause are no accident


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m attack.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000, help="inputs over all readers (default 20,000)")
    parser.add_argument("--seed", default="1", help="another seed gives other inputs (default 1)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="READER", help="only this reader; may be repeated"
    )
    parser.add_argument(
        "--minutes", type=float, default=0, help="stop after this time (default: when all inputs are read)"
    )
    parser.add_argument("--pumped", type=float, default=PUMPED, help=f"the part of pumped inputs (default {PUMPED})")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="read one file of the corpus again, and stop")
    parser.add_argument("--page", action="store_true", help="add the table to docs/results/reliability.md")
    parser.add_argument("--quick", action="store_true", help="do not shorten what is found")
    return parser.parse_args()


def main() -> int:
    """Run the fuzzer."""
    options = arguments()
    from attack.fuzz.readers import READERS  # takes a while

    if options.repeat:
        return repeat(READERS[options.repeat.resolve().parent.name], options.repeat)
    unknown = [name for name in options.only if name not in READERS]
    if unknown:
        print(f"no reader {unknown[0]}; there are {', '.join(READERS)}", file=sys.stderr)
        return 2
    chosen = {name: reader for name, reader in READERS.items() if not options.only or name in options.only}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="porism-fuzz-") as folder:
        prepare(chosen, Path(folder))
        deadline = began + 60 * options.minutes if options.minutes else float("inf")
        tallies = run(
            chosen,
            plan(chosen, options.inputs, options.seed, options.pumped),
            options.jobs,
            Path(folder),
            show,
            deadline,
        )
        print("", file=sys.stderr)
        drop_passing_hangs(chosen, tallies)
        for line in (*report.table(report.rows_of(tallies)), "", *report.pump_table(tallies)):
            print(line)
        found = [finding for tally in tallies.values() for finding in tally.examples]
        for finding in found[:MOST_SHORTENED]:
            kept = options.quick or finding.kind == "growth"  # a shorter input would take less time
            tell(finding if kept else minimise(chosen[finding.reader], finding), tallies)
        report.keep_new(tallies)
    if options.page:
        report.add_to_page(tallies, options.seed)
    return 1 if found else 0


def prepare(readers: dict[str, Reader], folder: Path) -> None:
    """Make what the inputs of a reader share: its pumps, a small index."""
    for reader in readers.values():
        if reader.frames:
            pumps_of_reader(reader)
        if reader.prepare is not None:
            reader.prepare(folder)


def plan(readers: dict[str, Reader], inputs: int, seed: str, share: float = PUMPED) -> list[Block]:
    """Return the corpus of every reader, then pumped inputs, then blocks of other inputs, the readers in turn."""
    total = sum(reader.share for reader in readers.values())
    blocks: list[tuple[float, Block]] = [(-1.0, Block(name, "", 0, corpus=True)) for name in readers]
    pumped = [reader for reader in readers.values() if reader.frames]
    shares = sum(reader.pump_share for reader in pumped)
    for reader in pumped:
        pumps = round(inputs * share * reader.pump_share / shares)
        for first in range(0, pumps, PUMP_BLOCK):
            size = min(PUMP_BLOCK, pumps - first)
            blocks.append((first / pumps - 1, Block(reader.name, f"{seed}/{reader.name}", size, pumps=first)))
    rest = inputs * (1 - share if pumped else 1)
    for name, reader in readers.items():
        left, number = round(rest * reader.share / total), 0
        count = -(-left // reader.block)
        while left > 0:
            size = min(reader.block, left)
            blocks.append((number / count, Block(name, f"{seed}/{name}/{number}", size)))
            left, number = left - size, number + 1
    return [block for _, block in sorted(blocks, key=lambda entry: entry[0])]


def show(name: str, tally: Tally) -> None:
    """Show on one line how far a reader is."""
    print(f"\r{name:10} {tally.inputs:>9,} inputs, {sum(tally.causes.values())} findings ", end="", file=sys.stderr)


def drop_passing_hangs(readers: dict[str, Reader], tallies: dict[str, Tally]) -> None:
    """Read again, alone, what took too long once. It is no finding if it is in time then: other work had slowed the
    processor."""
    for tally in tallies.values():
        for finding in [one for one in tally.examples if one.kind == "hang" and tally.causes[one.cause] < MANY_HANGS]:
            if any(not faults_of(readers[finding.reader], finding.data) for _ in range(HANG_TRIES)):
                print(f"{finding.reader}: in time when read again, {finding.place} {finding.message}", file=sys.stderr)
                tally.examples.remove(finding)
                del tally.causes[finding.cause]


def tell(finding: Finding, tallies: dict[str, Tally]) -> None:
    """Keep a finding in the corpus, and print it with the command that repeats it."""
    place = (
        Path(os.environ.get("PORISM_FUZZ_FOUND", CORPUS))
        / finding.reader
        / f"found-{hashlib.sha256(finding.data).hexdigest()[:10]}"
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(finding.data)
    times = tallies[finding.reader].causes[finding.cause]
    print(f"\n{finding.reader}: {finding.kind} in {finding.place} ({times}x) {finding.message}")
    print(f"  input ({len(finding.data)} bytes): {finding.data[:160]!r}")
    shown = place.relative_to(CORPUS.parents[1]) if place.is_relative_to(CORPUS) else place
    print(f"  repeat: python -m attack.fuzz --repeat {shown}")


def repeat(reader: Reader, path: Path) -> int:
    """Read one input again."""
    with tempfile.TemporaryDirectory(prefix="porism-fuzz-") as folder:
        prepare({reader.name: reader}, Path(folder))
        found = faults_of(reader, path.read_bytes())
    for finding in found:
        print(f"{finding.kind} in {finding.place}: {finding.message}")
    print(f"{reader.name}: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
