"""The results of the fuzzer: a table, the grown corpus, and the page docs/results/reliability.md."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from attack.fuzz.pool import Tally

GROWN = Path(".fuzz")  # inputs that showed new behaviour; not in git
MOST_GROWN = 300
HEADER = "| reader | inputs | findings | worst processor time | memory | inputs a second |"


def row(name: str, inputs: int, findings: int, worst: float, memory: int, cpu_seconds: float) -> str:
    """Return a row of the table."""
    rate = f"{inputs / cpu_seconds:,.0f}" if cpu_seconds else "-"
    return f"| {name} | {inputs:,} | {findings} | {worst:.2f} s | {memory / 2**20:,.0f} MB | {rate} |"


def table(tallies: Mapping[str, Tally]) -> list[str]:
    """Return the table as lines of Markdown. Inputs a second are those of one processor."""
    lines = [HEADER, "|---|--:|--:|--:|--:|--:|"]
    for name, tally in tallies.items():
        findings = len(tally.causes)
        lines.append(row(name, tally.inputs, findings, tally.worst_seconds, tally.peak_memory, tally.cpu_seconds))
    lines.append(
        row(
            "all",
            sum(tally.inputs for tally in tallies.values()),
            sum(len(tally.causes) for tally in tallies.values()),
            max((tally.worst_seconds for tally in tallies.values()), default=0.0),
            max((tally.peak_memory for tally in tallies.values()), default=0),
            sum(tally.cpu_seconds for tally in tallies.values()),
        )
    )
    return lines


def keep_new(tallies: Mapping[str, Tally]) -> None:
    """Keep inputs that showed new behaviour, a few hundred for each reader."""
    for name, tally in tallies.items():
        folder = GROWN / name
        folder.mkdir(parents=True, exist_ok=True)
        free = MOST_GROWN - sum(1 for _ in folder.iterdir())
        for data in tally.new[: max(0, free)]:
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def add_to_page(tallies: Mapping[str, Tally], seed: str) -> None:
    """Add the table to the page."""
