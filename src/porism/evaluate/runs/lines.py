"""Parse the name and the lines of a run file. Its content decides its kind; irregular lines become problems."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import compress, islice, pairwise
from operator import ne
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from porism.errors import PorismError
from porism.evaluate.runs.problems import RunProblem
from porism.files import open_bytes

RunKind = Literal["task1", "task2", "task3", "trec"]
COLUMNS: dict[RunKind, tuple[str, ...]] = {
    "task1": ("topic", "item", "rank", "score", "tag"),
    "task2": ("topic", "item", "post", "rank", "score", "tag"),
    "task3": ("topic", "rank", "score", "tag", "sources", "answer"),
    "trec": ("topic", "q0", "item", "rank", "score", "tag"),
}
TOPIC = re.compile(r"[A-Za-z]+\.?\d+$|\d+$")
HEADERS = {"query_id", "topic", "topic_id", "qid", "query"}
METADATA_START, METADATA_END = "# ir_metadata.start", "# ir_metadata.end"
BOM = b"\xef\xbb\xbf"
SUFFIXES = {".tsv", ".trec", ".txt", ".run", ".csv", ".res", ".gz", ".bz2", ".xz"}


class TopicRows(NamedTuple):
    """Adjacent rows of one topic: those from `start` to before `end`."""

    topic: str
    start: int
    end: int


@dataclass(slots=True)
class RunLines:
    """The columns of a run file, equally long, and the number of the line of each row that could be read."""

    path: str
    kind: RunKind
    cells: dict[str, list[str]] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    lines: list[int] | range = field(default_factory=list)
    problems: list[RunProblem] = field(default_factory=list)

    def note(self, kind: str, line: int, message: str, topic: str = "") -> None:
        """Record a problem."""
        self.problems.append(RunProblem(kind, self.path, line, message, topic, ", ".join(COLUMNS[self.kind])))


def read_lines(path: str | Path, kind: RunKind | None = None) -> RunLines:
    """Read a run file. `kind` overrides the detected kind."""
    with open_bytes(path) as stream:
        data = stream.read()
    found = RunLines(str(path), kind or "task1")
    text = _decode(data, found)
    skipped = metadata_lines(text)
    text = text.split("\n", skipped)[-1]
    if not text.strip():
        raise PorismError("the file is empty", where=str(path), fix="name a run file")
    if kind is None:
        found.kind = _detect_kind(text, str(path))
    if found.kind == "task3":
        _read_answers(text, found)
    elif not _read_regular(text, found, skipped):
        _read_irregular("\n" * skipped + text, found)
    return found


def metadata_lines(text: str) -> int:
    """Return how many lines a header of ir_metadata has, which comes before the first row; 0 without one."""
    if not text.startswith(METADATA_START):
        return 0
    head, end, _ = text.partition(f"{METADATA_END}\n")
    return head.count("\n") + 1 if end else 0


def _decode(data: bytes, found: RunLines) -> str:
    """Decode UTF-8 and normalise line ends. Byte order marks, CR LF and wrong bytes become problems."""
    if BOM in data:
        at = data[: data.index(BOM)].count(b"\n") + 1
        found.note("bom", at, "the file starts with a byte order mark" if at == 1 else "there is a byte order mark")
        data = data.replace(BOM, b"")
    if b"\r" in data:
        found.note("crlf", data[: data.index(b"\r")].count(b"\n") + 1, "lines end with CR LF")
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                place = f"byte {line[error.start]:#04x} at column {error.start + 1}"
                found.note("undecodable", number, f"{place} is not UTF-8")
        return data.decode("utf-8", errors="replace")


def _detect_kind(text: str, path: str) -> RunKind:
    """Return the kind that most of the first 20 lines look like."""
    cells = (line.split("\t") if "\t" in line else line.split() for line in text[:20000].split("\n")[:20])
    votes = Counter(kind for kind in map(_line_kind, cells) if kind)
    if not votes:
        fact = "not a run file: no line has the columns of Task 1, 2, 3 or trec_eval"
        tasks = "Task 1 as topic, post, rank, score, run; Task 2 as topic, formula, post, rank, score, run"
        raise PorismError(fact, where=path, fix=f"write {tasks}; trec_eval as topic, Q0, item, rank, score, run")
    return max(votes, key=votes.__getitem__)


def _line_kind(cells: list[str]) -> RunKind | None:
    """Return the kind that a line looks like. The content of the columns decides, since several kinds have six."""
    if len(cells) < 5 or not TOPIC.match(cells[0].strip()):
        return None
    if len(cells) == 5:
        return "task1"
    if cells[1].strip().upper() in {"Q0", "0"} and _is_number(cells[4]):
        return "trec"
    if len(cells) == 6 and all(map(_is_number, cells[3:5])) and not (cells[2].strip() == "-" or _is_number(cells[2])):
        return "trec"
    if len(cells) == 6 and _is_number(cells[3], int) and _is_number(cells[4]):
        return "task2"
    if _is_number(cells[1], int) and _is_number(cells[2]):
        return "task3"
    return None


def _is_number(cell: str, kind: Callable[[str], float] = float) -> bool:
    """Return whether the cell is a finite number."""
    try:
        return math.isfinite(kind(cell))
    except (ValueError, OverflowError):  # a rank of hundreds of digits
        return False


def _read_regular(text: str, found: RunLines, skipped: int) -> bool:
    """Read a regular file fast, by one split; return False if a line is irregular. `skipped` lines came before."""
    names = COLUMNS[found.kind]
    if not text.isascii() or text.partition("\t")[0].lower() in HEADERS:
        return False
    marks = np.frombuffer((text if text.endswith("\n") else text + "\n").encode(), dtype=np.uint8)
    places = np.flatnonzero(marks <= ord(" "))
    if places.size % len(names) or np.any(np.diff(places) == 1):
        return False
    grid = marks[places].reshape(-1, len(names))
    if np.any(grid[:, :-1] != ord("\t")) or np.any(grid[:, -1] != ord("\n")):
        return False
    flat = text.split()
    cells = {name: flat[place :: len(names)] for place, name in enumerate(names)}
    try:
        ranks, scores = list(map(int, cells["rank"])), list(map(float, cells["score"]))
    except ValueError:
        return False
    if not np.isfinite(np.asarray(scores)).all():
        return False
    found.cells, found.ranks, found.scores = cells, ranks, scores
    found.lines = range(skipped + 1, skipped + len(ranks) + 1)
    return True


def _read_irregular(text: str, found: RunLines) -> None:
    """Read line by line and record every irregularity."""
    names = COLUMNS[found.kind]
    found.cells = {name: [] for name in names}
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) == 1:
            cells = line.split()
            if len(cells) == len(names):
                found.note("blank-separated", number, "columns are separated by spaces, not by tabs")
        if number == 1 and cells[0].strip().lower() in HEADERS:
            found.note("header", number, "the first line is a header")
        elif _add_row(found, number, cells):
            lines.append(number)
    found.lines = lines


def _add_row(found: RunLines, number: int, cells: list[str]) -> bool:
    """Add one row, or record why it cannot be read."""
    names = COLUMNS[found.kind]
    if len(cells) != len(names):
        found.note("columns", number, f"{len(cells)} columns where a {found.kind} run has {len(names)}")
        return False
    row = dict(zip(names, (cell.strip() for cell in cells), strict=True))
    if found.kind != "task3" and (list(row.values()) != cells or "" in cells):
        found.note("blank-field", number, "a field is empty or has spaces around it", row["topic"])
    for name, kind in (("rank", int), ("score", float)):
        if not _is_number(row[name], kind):
            found.note("not-a-number", number, f"{name} is {row[name]!r}", row["topic"])
            return False
    for name, value in row.items():
        found.cells[name].append(value)
    found.ranks.append(int(row["rank"]))
    found.scores.append(float(row["score"]))
    return True


def _read_answers(text: str, found: RunLines) -> None:
    """Read a Task 3 run by the quoting rules of CSV: an answer may hold line breaks and doubled quotes."""
    found.cells = {name: [] for name in COLUMNS["task3"]}
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text), delimiter="\t")
    start = 1
    for cells in reader:
        if start == 1 and cells and cells[0].strip().lower() in HEADERS:
            found.note("header", start, "the first line is a header")
        elif cells and _add_row(found, start, cells):
            lines.append(start)
        start = reader.line_num + 1
    found.lines = lines


def topic_rows(topics: list[str]) -> Iterator[TopicRows]:
    """Split a column of topics into stretches of equal topics."""
    # A loop over all rows would take most of the time of a check.
    changes = compress(range(1, len(topics)), map(ne, islice(topics, 1, None), topics))
    edges = [0, *changes, len(topics)] if topics else [0]
    for start, end in pairwise(edges):
        yield TopicRows(topics[start], start, end)


def base_name(path: str | Path) -> str:
    """Return a file's name without its suffixes (.tsv, .trec, .txt, .run, .gz, ...)."""
    name = Path(path).name
    while Path(name).suffix.lower() in SUFFIXES:
        name = Path(name).stem
    return name


TASKS = {"task1": "task1", "task2": "task2", "task2noc": "task2NOC", "task3": "task3"}
RUN_TYPES = {"manual": "manual", "auto": "auto", "automatic": "auto"}
DATA = {"text": "text", "math": "math", "both": "both", "formula": "math"}
KINDS = {"extract": "extract", "generate": "generate"}
EVALS = {"p": "P", "a": "A"}
YEAR = re.compile(r"-20\d\d$")


@dataclass(frozen=True, slots=True)
class RunName:
    """The parts of a run's file name; `deviations` lists where the name departs from the lab's pattern."""

    group: str
    task: str
    id: str
    run_type: str
    data: str
    eval: str
    kind: str = ""
    deviations: tuple[str, ...] = ()

    @property
    def primary(self) -> bool:
        """Whether this is the team's primary run."""
        return self.eval == "P"

    def __str__(self) -> str:
        kind = (self.kind,) if self.kind else ()
        return "-".join((self.group, self.task, self.id, self.run_type, self.data, *kind, self.eval))


def parse_name(path: str) -> RunName | None:
    """Parse a file name; return None if it does not fit. Ids may hold `-`: fixed parts are read from the right."""
    name = base_name(path)
    deviations: list[str] = []
    bare = YEAR.sub("", name)
    if bare != name:
        deviations.append("a year at the end")
    parts = bare.split("-")
    place = next((number for number, part in enumerate(parts) if part.lower() in TASKS), 0)
    fixed = [EVALS, DATA, RUN_TYPES]
    kind = ""
    if len(parts) >= 2 and parts[-2].lower() in KINDS:
        kind = KINDS[parts.pop(-2).lower()]
    known = [table.get(part.lower()) for table, part in zip(fixed, reversed(parts), strict=False)]
    if place == 0 or len(parts) < place + 5 or None in known:
        return None
    eval_, data, run_type = (value or "" for value in known)
    group, task, identifier = "-".join(parts[:place]), TASKS[parts[place].lower()], "-".join(parts[place + 1 : -3])
    pieces = zip((task, run_type, data, eval_), (parts[place], parts[-3], parts[-2], parts[-1]), strict=True)
    deviations += [f"{written} for {meant}" for meant, written in pieces if meant != written]
    deviations += [f"a - in the {what}" for what, text in (("group", group), ("id", identifier)) if "-" in text]
    return RunName(group, task, identifier, run_type, data, eval_, kind, tuple(deviations))
