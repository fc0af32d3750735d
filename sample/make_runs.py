"""Make the runs of named systems on the sample again: `python sample/make_runs.py demo/index [FOLDER]`, after `porism demo --build-only`.

Task 2 runs hold formula ids, which belong to a built collection; the collection of the sample has the same ids each time.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
DEPTH = 40  # hits per topic


class SystemRun(NamedTuple):
    """A run file, and the task and system that make it."""

    name: str
    task: int
    system: str


OWN = f"{HERE / 'systems.toml'}:sample"
RUNS = (
    SystemRun("Porism-task2-porism-auto-math-P", 2, "porism"),
    SystemRun("Abacus-task2-TangentS-auto-math-P", 2, "baselines/Tangent-S"),
    SystemRun("Abacus-task2-a0-auto-math-A", 2, "approach0/a0"),
    SystemRun("Tally-task2-L8-auto-math-P", 2, "MathDowers/L8"),
    SystemRun("Tally-task2-xy5IDF-auto-math-A", 2, "XYPhoc/xy5IDF"),
    SystemRun("Porism-task3-porism-auto-both-extract-P", 3, "porism"),
    SystemRun("Abacus-task3-words-auto-both-extract-P", 3, f"{OWN}/words_first"),
    SystemRun("Tally-task3-tuples-auto-both-extract-P", 3, f"{OWN}/tuples_first"),
)


def main(index: Path, folder: Path) -> None:
    """Write all runs into the folder, without the records beside them, which name the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in RUNS:
        out = folder / f"{run.name}.tsv"
        topics = HERE / "topics" / f"task{2 if run.task == 2 else 1}.xml"
        what = ["--task", str(run.task), "--topics", str(topics), "--system", run.system, "-k", str(DEPTH)]
        command = [sys.executable, "-m", "porism.cli", "run", *what, "--index", str(index), "-o", str(out)]
        subprocess.run(command, check=True)
        out.with_suffix(".json").unlink(missing_ok=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python sample/make_runs.py INDEX [FOLDER]")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "system-runs")
