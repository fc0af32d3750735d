"""The results of the fuzzer: a table, the grown corpus, and its part of docs/results/reliability.md."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from attack.fuzz.inputs import GROWN
from attack.fuzz.pool import Tally
from attack.page import write_section

MOST_GROWN = 300
RUNS = Path(__file__).with_name("runs.json")  # the runs of the page
HEADER = (
    "| reader | inputs | findings | worst processor time | memory | inputs a second |",
    "|---|--:|--:|--:|--:|--:|",
)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    reader: str
    inputs: int
    findings: int
    worst_seconds: float
    memory: int
    cpu_seconds: float

    def __str__(self) -> str:
        """Return the line in Markdown. Inputs a second are those of one processor."""
        rate = f"{self.inputs / self.cpu_seconds:,.0f}" if self.cpu_seconds else "-"
        memory = f"{self.memory / 2**20:,.0f} MB"
        return f"| {self.reader} | {self.inputs:,} | {self.findings} | {self.worst_seconds:.2f} s | {memory} | {rate} |"


def rows_of(tallies: Mapping[str, Tally]) -> list[Row]:
    """Return a row for each reader."""
    return [
        Row(name, tally.inputs, len(tally.causes), tally.worst_seconds, tally.peak_memory, tally.cpu_seconds)
        for name, tally in tallies.items()
    ]


def joined(name: str, rows: Sequence[Row]) -> Row:
    """Return several rows as one."""
    return Row(
        name,
        sum(row.inputs for row in rows),
        sum(row.findings for row in rows),
        max((row.worst_seconds for row in rows), default=0.0),
        max((row.memory for row in rows), default=0),
        sum(row.cpu_seconds for row in rows),
    )


def table(rows: Sequence[Row]) -> list[str]:
    """Return the table as lines of Markdown, with a sum."""
    return [*HEADER, *map(str, rows), str(joined("**all**", rows))]


def pump_table(tallies: Mapping[str, Tally]) -> list[str]:
    """Return the table of pumped inputs as lines of Markdown: which opener cost each reader the most."""
    rows = [
        f"| {name} | {tally.pumps:,} | `{tally.slowest.run}` | {tally.slowest.seconds:.2f} s |"
        for name, tally in tallies.items()
        if tally.pumps
    ]
    head = "| reader | pumped inputs | slowest opener | for 100,000 characters |"
    return [head, "|---|--:|---|--:|", *rows] if rows else []


def keep_new(tallies: Mapping[str, Tally]) -> None:
    """Keep inputs that showed new behaviour, a few hundred for each reader; later runs start from them, too."""
    for name, tally in tallies.items():
        folder = GROWN / name
        folder.mkdir(parents=True, exist_ok=True)
        free = MOST_GROWN - sum(1 for _ in folder.iterdir())
        for data in tally.new[: max(0, free)]:
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def add_to_page(tallies: Mapping[str, Tally], seed: str) -> None:
    """Add a run to those of the page, and write their sum."""
    runs = json.loads(RUNS.read_text("utf-8")) if RUNS.exists() else []
    runs.append({"seed": seed, "code": code_version(), "rows": [asdict(row) for row in rows_of(tallies) if row.inputs]})
    RUNS.write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    every = [Row(**row) for run in runs for row in run["rows"]]
    names = dict.fromkeys(row.reader for row in every)
    summed = [joined(name, [row for row in every if row.reader == name]) for name in names]
    write_section("fuzz", [*table(summed), "", *pump_table(tallies), "", *described(runs)])


def described(runs: Sequence[Mapping[str, object]]) -> list[str]:
    """Return a line for each run: its inputs, its seed and the code that it attacked."""
    lines = ["Runs in this table:", ""]
    for run in runs:
        rows = [Row(**row) for row in run["rows"]]  # type: ignore[attr-defined]
        lines.append(f"- {sum(row.inputs for row in rows):,} inputs, seed {run['seed']}, code {run['code']}")
    return lines


def code_version() -> str:
    """Return the commit of the code, and whether formulas are read by compiled modules."""
    from porism.formula import parsed

    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    return f"{commit} ({'compiled' if not parsed.__file__.endswith('.py') else 'as Python'})"
