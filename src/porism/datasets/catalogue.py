"""The catalogue: which official files make a dataset, how they are named, and where they are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from porism.errors import PorismError

PUBLISHED = "https://www.cs.rit.edu/~dprl/ARQMath/arqmath-resources.html"


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """A file of the lab: its official name, what it holds, the directory of the lab's drive, and the other names that occur (as glob patterns)."""

    name: str
    holds: str
    directory: str
    others: tuple[str, ...] = ()

    def find(self, folder: Path) -> Path:
        """Return the file in a folder or below it, also compressed; or say exactly what is missing and where it is published."""
        for pattern in (self.name, *self.others):
            found = sorted(
                path for ending in ("", ".gz", ".xz") for path in folder.rglob(pattern + ending) if path.is_file()
            )
            if found:
                return found[0]
        fix = f'download it from "{self.directory}" of the ARQMath drive, linked at {PUBLISHED}, into this folder'
        raise PorismError(f"{self.name} is missing ({self.holds})", where=str(folder), fix=fix)


@dataclass(frozen=True, slots=True)
class Entry:
    """A dataset of the catalogue."""

    name: str
    year: int
    task: int
    topics: OfficialFile
    qrels: OfficialFile


POSTS = OfficialFile("Posts.V1.3.xml", "questions and answers", "Collection", ("Posts.V1.*.xml",))
FORMULAS = OfficialFile(
    "latex_representation_v3", "LaTeX of all formulas, 101 tables", "Formulas", ("latex_representation*",)
)

TOPICS = {
    (2020, 1): OfficialFile("Topics_V2.0.xml", "topics of Task 1, 2020", "Topics/2020", ("task1-2020*.xml",)),
    (2020, 2): OfficialFile("Topics_V1.1.xml", "topics of Task 2, 2020", "Topics/2020", ("task2-2020*.xml",)),
    (2021, 1): OfficialFile("Topics_Task1_2021_V1.1.xml", "topics of Task 1, 2021", "Topics/2021", ("Topics_Task1_2021*.xml", "task1-2021*.xml")),
    (2021, 2): OfficialFile("Topics_Task2_2021_V1.1.xml", "topics of Task 2, 2021", "Topics/2021", ("Topics_Task2_2021*.xml", "task2-2021*.xml")),
    (2022, 1): OfficialFile("Topics_Task1_2022_V0.1.xml", "topics of Task 1, 2022", "Topics/2022", ("Topics_Task1_2022*.xml", "task1-2022*.xml")),
    (2022, 2): OfficialFile("Topics_Task2_2022_V0.1.xml", "topics of Task 2, 2022", "Topics/2022", ("Topics_Task2_2022*.xml", "task2-2022*.xml")),
}  # fmt: skip
QRELS = {
    (2020, 1): ("qrel_task1_2020_official", "qrel_task1_2020*", "qrels.arqmath-2020-task1*", "task1-2020.txt"),
    (2020, 2): ("qrel_task2_2020_official", "qrel_task2_2020*", "qrels.arqmath-2020-task2*", "task2-2020.txt"),
    (2021, 1): ("qrel_task1_2021_official.tsv", "qrel_task1_2021*official*", "qrel_task1_2021*", "qrels.arqmath-2021-task1-official*", "task1-2021.txt"),
    (2021, 2): ("qrel_task2_2021_official.tsv", "qrel_task2_2021*official*", "qrel_task2_2021*", "qrels.arqmath-2021-task2-official*", "task2-2021.txt"),
    (2022, 1): ("qrel_task1_2022_official.tsv", "qrel_task1_2022*official*", "qrels.arqmath-2022-task1-official*", "task1-2022.txt"),
    (2022, 2): ("qrel_task2_2022_official.tsv", "qrel_task2_2022*official*", "qrels.arqmath-2022-task2-official*", "task2-2022.txt"),
    (2022, 3): ("qrel_task3_2022_official_complete.tsv", "qrel_task3_2022*", "qrels.arqmath-2022-task3-official*", "task3-2022.txt"),
}  # fmt: skip


def _entry(year: int, task: int) -> Entry:
    name, *others = QRELS[year, task]
    qrels = OfficialFile(name, f"judgments of Task {task}, {year}", f"Evaluation/Task {task}/Qrel Files", tuple(others))
    return Entry(f"arqmath/{year}/task{task}", year, task, TOPICS[year, min(task, 2) if task != 3 else 1], qrels)


CATALOGUE = {entry.name: entry for entry in (_entry(year, task) for year, task in QRELS)}


def find_entry(name: str) -> Entry:
    """Return the dataset with a name."""
    if name not in CATALOGUE:
        near = get_close_matches(name, CATALOGUE, 1)
        fix = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(CATALOGUE)}"
        raise PorismError(f"no dataset is named {name}", fix=fix)
    return CATALOGUE[name]


def names() -> Sequence[str]:
    """Return the names of all datasets."""
    return tuple(CATALOGUE)
