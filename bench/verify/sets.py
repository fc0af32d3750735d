"""The test sets of the verification: the formula pool of 2020 and a slice of the ARQMath collection, with topics and
judgments."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.progress import Progress
from porism.records import Topic
from porism.store import open_content, open_store
from porism.store.maintenance import build_index

POOL, SLICE = "formula-pool-2020", "slice"
SOURCES = {POOL: "formula-pool-2020/formulas.tsv", SLICE: "slice"}
FORMULA_TABLES = ("latex", "slt", "opt")


@dataclass(frozen=True, slots=True)
class TestSet:
    """Topics of one task and year on one collection. `queries` are the hand-written queries for it; `only_judged`
    leaves out other topics."""

    __test__ = False  # not a class of tests

    name: str
    title: str
    task: int
    year: int
    source: str
    topics: str
    qrels: str
    queries: str
    only_judged: bool = False


SETS = (
    TestSet(
        "pool-2020",
        "formula pool 2020",
        2,
        2020,
        POOL,
        "slice/topics/task2-2020.xml",
        "formula-pool-2020/qrels.txt",
        "topics.arqmath-2020-task2.txt",
        only_judged=True,
    ),
    TestSet(
        "task2-2021",
        "slice, Task 2 2021",
        2,
        2021,
        SLICE,
        "slice/topics/task2-2021.xml",
        "slice/qrels/task2-2021.core.txt",
        "topics.arqmath-2021-task2-refined.txt",
    ),
    TestSet(
        "task1-2020",
        "slice, Task 1 2020",
        1,
        2020,
        SLICE,
        "slice/topics/task1-2020.xml",
        "slice/qrels/task1-2020.core.txt",
        "topics.arqmath-2020-task1.json",
    ),
    TestSet(
        "task1-2021",
        "slice, Task 1 2021",
        1,
        2021,
        SLICE,
        "slice/topics/task1-2021.xml",
        "slice/qrels/task1-2021.core.txt",
        "topics.arqmath-2021-task1-refined.txt",
    ),
)


class Reference(NamedTuple):
    """A run of the original program, in the folder `fidelity`. `kind`: compared rank by rank, or only by pairs in the
    same order (`trend`)."""

    file: str
    kind: str = "ranks"


def _mathdowers(run: str, test: TestSet) -> Reference:
    return Reference(f"mathdowers-original.slice.{run}.{test.name}.tsv")


REFERENCES: Mapping[tuple[str, str], Reference] = {
    **{
        (f"MathDowers/{run}", test.name): _mathdowers(run, test)
        for run, task in (
            *(("L8_a018", 1), ("L8_a014", 1), ("L1on8_a030", 1)),
            *(("L8", 2), ("latex_L8_a035", 2), ("latex_L8_a040", 2)),
        )
        for test in SETS
        if test.task == task and test.source == SLICE
    },
    ("MathDowers/L8", "pool-2020"): Reference("mathdowers-original.pool2020.L8.trec"),
    ("approach0/a0", "pool-2020"): Reference("approach0/pool-2020.a0.trec"),
    ("approach0/a0", "task2-2021"): Reference("approach0/slice.a0.task2-2021.visual.trec"),
    ("approach0/a0porter", "task1-2020"): Reference("approach0/slice.a0porter.task1-2020.trec"),
    ("approach0/a0porter", "task1-2021"): Reference("approach0/slice.a0porter.task1-2021.trec"),
    ("baselines/TF-IDF(Terrier)", "task1-2020"): Reference("terrier-tfidf.task1-2020.tsv", "trend"),
}


# Files of others that a part reads and Porism does not ship: part -> option -> folder in the test data.
FOREIGN_FILES: Mapping[str, Mapping[str, str]] = {"mathdowers_threads": {"lists": "fidelity/mathdowers-lists"}}
TRAINED_PARTS = ("answer_svm",)  # they are trained on the judgments of the other year


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folder of test data, and the folder of collections, indexes and runs that the verification makes and
    keeps."""

    data: Path
    work: Path

    def __post_init__(self) -> None:
        if not (self.data / SLICE / "posts.jsonl").is_file():
            raise PorismError(
                "has no test data (slice/posts.jsonl)", where=str(self.data), fix="name the folder: --data DIR"
            )

    def topics(self, test: TestSet) -> list[Topic]:
        """Return the topics of a set with the official MathML of their formulas."""
        tables = [
            self.data / "arqmath-format/topic-formulas" / f"{test.year}_formulas_{kind}.tsv" for kind in FORMULA_TABLES
        ]
        topics = read_topics(self.data / test.topics, tables)
        if not test.only_judged:
            return topics
        judged = {line.split()[0] for line in self.qrels(test).read_text("utf-8").splitlines() if line.strip()}
        return [topic for topic in topics if topic.id in judged]

    def qrels(self, test: TestSet) -> Path:
        """Return the file of the judgments of a set."""
        return self.data / test.qrels

    def queries(self, test: TestSet) -> Path:
        """Return the file of hand-written queries for a set."""
        return self.data / "fidelity/approach0-queries" / test.queries

    def options(self, parts: Iterable[str], test: TestSet) -> Mapping[str, Mapping[str, str]]:
        """Return the options by which parts find files of others in the test data, and judgments of another year to
        train on."""
        others = [one for one in SETS if (one.task, one.source) == (test.task, test.source) and one.year != test.year]
        training = {"topics": others[0].topics, "qrels": others[0].qrels} if others else {}
        files = {**FOREIGN_FILES, **{part: training for part in TRAINED_PARTS if training}}
        return {
            part: {option: str(self.data / place) for option, place in files[part].items()}
            for part in parts
            if part in files
        }

    def reference(self, system: str, test: TestSet) -> Reference | None:
        """Return the run of the original program, if there is one."""
        found = REFERENCES.get((system, test.name))
        return found if found and (self.data / "fidelity" / found.file).is_file() else None

    def index(self, test: TestSet, progress: Progress) -> Path:
        """Return the index of the collection of a set. Build both if they are missing, or made by another version of
        Porism."""
        index, collection = self.work / f"{test.source}.index", self.work / f"{test.source}.collection"
        if not _is_current(collection):
            _remove(collection)
            build([open_source(self.data / SOURCES[test.source], "")], collection)
        if not _is_current_index(index, collection):
            _remove(index)
            build_index(open_content(collection), index, progress=progress)
        return index


def _is_current(collection: Path) -> bool:
    try:
        open_content(collection).check_formulas()
    except PorismError:
        return False
    return True


def _is_current_index(index: Path, collection: Path) -> bool:
    try:
        return open_store(index).status().fingerprint == open_content(collection).digest
    except PorismError:
        return False


def _remove(folder: Path) -> None:
    """Delete what an earlier verification built."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
