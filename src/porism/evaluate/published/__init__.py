"""The published tables of the ARQMath-3 overview (Mansouri et al., CLEF 2022) and the counts of the qrels, as data."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files

from porism.errors import PorismError
from porism.evaluate.qrels import count
from porism.evaluate.table import Cell, ResultTable

# Titles and notes.
TABLES = {
    "teams": ("Submitted runs (table 1)", "baselines of the organisers under Baseline"),
    "scale": ("Relevance grades (table 2)", "meanings in our own words"),
    "task1": (
        "Task 1, answer retrieval (table 3)",
        "data: B both, T text, M math, *L links; eval: P primary, A alternate; topics 77 / 71 / 78",
    ),
    "task2": (
        "Task 2, formula retrieval (table 4)",
        "data: B both, M math; eval: P primary, A alternate; topics 45 / 58 / 76",
    ),
    "task3": (
        "Task 3, open domain question answering, 2022 (table 5)",
        "AR: average relevance; LO: lexical overlap; CS: contextual similarity; MG, UI: share of answers that "
        "assessors called machine-generated, or said to have unrelated information",
    ),
    "correlations": ("Correlation of Task 3 measures over systems (table 6)", ""),
    "task1-as-task3": (
        "Task 1 runs scored as Task 3 runs, 2022 (table 7)",
        "the highest ranked answer; its length is not limited",
    ),
    "qrels": ("Judgments of all editions", "counts of the official files"),
}
MEASURES = ("nDCG'", "MAP'", "P'@10")


def published(name: str) -> ResultTable:
    """Return a published table by name."""
    if name not in TABLES:
        raise PorismError(f"unknown published table {name!r}", fix=f"choose one of {', '.join(TABLES)}")
    with files(__name__).joinpath(f"{name}.tsv").open(encoding="utf-8") as stream:
        reader = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        columns = tuple(next(reader))
        rows = tuple(tuple(_number(cell) for cell in row) for row in reader)
    title, note = TABLES[name]
    return ResultTable(name.replace("-", "_"), columns, rows, title, (note,) if note else ())


def _number(cell: str) -> Cell:
    """Return a cell as a number if it is one, None if it is empty."""
    if cell.isdecimal():
        return int(cell)
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell


def year_of(topic: str) -> int:
    """Return the edition of a topic: numbers 1-200 are of 2020, 201-300 of 2021, 301-400 of 2022."""
    digits = topic.partition(".")[2]
    if not digits.isdecimal() or not 1 <= int(digits) <= 400:
        fact = f"{topic} is not a topic of the lab"
        raise PorismError(fact, fix="compare runs on the topics A.1 to A.400 or B.1 to B.400")
    return 2020 if int(digits) <= 200 else 2021 if int(digits) <= 300 else 2022


def with_published(
    task: int, year: int, runs: Mapping[str, Mapping[str, float]], notes: tuple[str, ...] = ()
) -> ResultTable:
    """Rank your runs (measure -> mean) by nDCG' among the published runs of one edition; your runs are marked."""
    table = published(f"task{task}")
    wanted = [f"{year} {measure}" for measure in MEASURES]
    places = [table.columns.index(name) for name in ("team", "system", "data", "runtype", "eval", *wanted)]
    rows: list[tuple[Cell, ...]] = [tuple(row[place] for place in places) for row in table.rows]
    rows += [("ours", name, "", "", "", *(values[measure] for measure in MEASURES)) for name, values in runs.items()]
    every = sorted(rows, key=lambda row: (-round(float(row[5] or 0), 3), row[0] != "ours"))
    columns = ("place", "team", "system", "data", "runtype", "eval", *MEASURES)
    placed = tuple((place, *row) for place, row in enumerate(every, 1))
    marked = frozenset(place for place, row in enumerate(every) if row[0] == "ours")
    title = f"Task {task}, topics of {year}, among the published runs"
    return ResultTable(f"published_{year}", columns, placed, title, notes, marked=marked)


def difference_from_official(qrels: Mapping[str, Mapping[str, int]], task: int, year: int) -> str:
    """Return how the counts of judgments differ from the official ones of an edition; "" if they do not."""
    table = published("qrels")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    official = [row for row in rows if (row["year"], row["task"], row["scope"]) == (year, task, "official")]
    found = count(qrels)
    ours = {"topics": found.topics, "judged": found.judged}
    ours |= {f"grade {grade}": found.grades.get(grade, 0) for grade in range(4)}
    if any(all(row[name] == number for name, number in ours.items()) for row in official):
        return ""
    expected = " or ".join(dict.fromkeys(f"{row['topics']} topics and {row['judged']:,} judgments" for row in official))
    counted = f"{found.topics} topics and {found.judged:,} judgments instead of {expected}"
    return f"these judgments are not the official ones of Task {task}, {year}: {counted}"
