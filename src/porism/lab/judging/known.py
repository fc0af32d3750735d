"""Training items from a table: round, topic, item, grade, reason; Task 2 adds formula and post."""

from __future__ import annotations

from pathlib import Path

from porism.errors import PorismError
from porism.files import open_text
from porism.lab.judging.loading import Known
from porism.lab.pooling.rules import Instance

HEADER = ["round", "topic", "item", "grade", "reason"]
TASK2_HEADER = [*HEADER, "formula", "post"]
FIX = "one line per item: round, topic, item, grade, reason (Task 2 adds formula, post), between tabs, with this header"


def read_known(path: str | Path) -> list[Known]:
    """Read a table of training items; a line that cannot be used is told with its number."""
    with open_text(path) as stream:
        lines = [line.rstrip("\n").split("\t") for line in stream]
    if not lines or lines[0] not in (HEADER, TASK2_HEADER):
        raise PorismError("is not a table of training items", where=str(path), fix=FIX)
    found = []
    for number, cells in enumerate(lines[1:], 2):
        if len(cells) != len(lines[0]) or not cells[0].isdigit() or not cells[3].isdigit():
            raise PorismError("not a training item", where=f"{path}:{number}", fix=FIX)
        instance = Instance(int(cells[5]), int(cells[6])) if len(cells) == 7 else None
        found.append(Known(int(cells[0]), cells[1], cells[2], int(cells[3]), cells[4], instance))
    return found
