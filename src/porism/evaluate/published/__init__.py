"""The tables of the ARQMath-3 overview (Mansouri et al., CLEF 2022) and the counts of the qrels, as data."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

from porism.errors import PorismError
from porism.evaluate.reports.table import Cell, Table

TABLES = {
    "teams": ("Submitted runs (table 1)", ("baselines of the organisers under Baseline",)),
    "scale": ("Relevance grades (table 2)", ("in our words",)),
    "task1": (
        "Task 1, answer retrieval (table 3)",
        ("data: B both, T text, M math, *L links; eval: P primary, A alternate; topics 77 / 71 / 78",),
    ),
    "task2": (
        "Task 2, formula retrieval (table 4)",
        ("data: B both, M math; eval: P primary, A alternate; topics 45 / 58 / 76",),
    ),
    "task3": (
        "Task 3, open domain question answering, 2022 (table 5)",
        (
            "AR average relevance, LO lexical overlap, CS contextual similarity, MG said to be machine-generated, UI said to hold unrelated information",
        ),
    ),
    "correlations": ("Correlation of Task 3 measures over systems (table 6)", ()),
    "task1-as-task3": (
        "Task 1 runs scored as Task 3 runs, 2022 (table 7)",
        ("the highest ranked answer; its length is not limited",),
    ),
    "qrels": ("Judgments of all editions", ("counted in the official files",)),
}
MEASURES = ("nDCG'", "MAP'", "P'@10")


def published(name: str) -> Table:
    """A table by name."""
    if name not in TABLES:
        raise PorismError(f"no published table {name!r}", fix=f"choose among {', '.join(TABLES)}")
    with files(__name__).joinpath(f"{name}.tsv").open(encoding="utf-8") as stream:
        reader = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        columns = tuple(next(reader))
        rows = tuple(tuple(number(cell) for cell in row) for row in reader)
    title, notes = TABLES[name]
    return Table(columns, rows, title, notes)


def number(cell: str) -> Cell:
    """A cell as the number it is."""
    if cell.isdecimal():
        return int(cell)
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell


def year_of(topic: str) -> int:
    """The edition of a topic: 1-200 are of 2020, 201-300 of 2021, 301-400 of 2022."""
    digits = topic.partition(".")[2]
    if not digits.isdecimal() or not 1 <= int(digits) <= 400:
        raise PorismError(
            f"{topic} is no topic of the lab",
            fix="compare runs on topics A.1 to A.400 or B.1 to B.400 with the published ones",
        )
    return 2020 if int(digits) <= 200 else 2021 if int(digits) <= 300 else 2022


def among(task: int, year: int, runs: Mapping[str, Mapping[str, float]]) -> Table:
    """Our runs in their places among the published ones of a test collection, by nDCG'."""
    table = published(f"task{task}")
    wanted = [f"{year} {measure}" for measure in MEASURES]
    places = [table.columns.index(name) for name in ("team", "system", "data", "runtype", "eval", *wanted)]
    rows: list[tuple[Cell, ...]] = [tuple(row[place] for place in places) for row in table.rows]
    rows += [("ours", name, "", "", "", *(values[measure] for measure in MEASURES)) for name, values in runs.items()]
    every = sorted(rows, key=lambda row: (-round(float(row[5] or 0), 3), row[0] != "ours"))
    numbered = tuple((place, *row) for place, row in enumerate(every, 1))
    marked = frozenset(place for place, row in enumerate(every) if row[0] == "ours")
    columns = ("place", "team", "system", "data", "runtype", "eval", *MEASURES)
    return replace(
        table,
        columns=columns,
        rows=numbered,
        title=f"Task {task}, topics of {year}, among the published runs",
        notes=(),
        marked=marked,
    )
