"""The editions of ARQMath as datasets in the manner of ir_datasets, read from the official files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from porism.corpus.sources.arqmath import ArqMath
from porism.corpus.sources.raw import RawFormula, RawPost
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.records import Topic
from porism.text.markup import decode_latex
from porism.text.read import read_official

PUBLISHED = "https://www.cs.rit.edu/~dprl/ARQMath/arqmath-resources.html"


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """A file of the lab: its official name, what it holds, its directory of the lab's drive, and other names in use,
    which are glob patterns."""

    name: str
    holds: str
    directory: str
    others: tuple[str, ...] = ()

    def find(self, folder: Path) -> Path:
        """Return the file in a folder or below it, also compressed; or say where the missing one is published."""
        for pattern in (self.name, *self.others):
            paths = (path for ending in ("", ".gz", ".xz") for path in folder.rglob(pattern + ending))
            if found := min((path for path in paths if path.is_file()), default=None):
                return found
        fix = f'download it from "{self.directory}" of the ARQMath drive, linked at {PUBLISHED}, into this folder'
        raise PorismError(f"{self.name} is missing ({self.holds})", where=str(folder), fix=fix)


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A dataset of the catalogue."""

    name: str
    task: int
    topics: OfficialFile
    qrels: OfficialFile


POSTS = OfficialFile("Posts.V1.3.xml", "questions and answers", "Collection", ("Posts.V1.*.xml",))
_TABLES = "LaTeX of all formulas, 101 tables"
FORMULAS = OfficialFile("latex_representation_v3", _TABLES, "Formulas", ("latex_representation*",))


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Return all datasets by name. `files.tsv` lists the names of their files, the official ones first."""
    found = {}
    for line in files(__name__).joinpath("files.tsv").read_text("utf-8").splitlines()[1:]:
        year, task, topics, qrels = line.split("\t")
        asked = 2 if task == "2" else 1  # Task 3 has the topics of Task 1
        entry = CatalogueEntry(
            f"arqmath/{year}/task{task}",
            int(task),
            _official(topics, f"topics of Task {asked}, {year}", f"Topics/{year}"),
            _official(qrels, f"judgments of Task {task}, {year}", f"Evaluation/Task {task}/Qrel Files"),
        )
        found[entry.name] = entry
    return found


def _official(names: str, holds: str, directory: str) -> OfficialFile:
    name, *others = names.split(" ")
    return OfficialFile(name, holds, directory, tuple(others))


def names() -> Sequence[str]:
    """Return the names of all datasets."""
    return tuple(catalogue())


QREL_DEFINITIONS = {3: "high", 2: "medium", 1: "low", 0: "not relevant"}


class AnswerDoc(NamedTuple):
    """An answer. `text` has no mark-up and LaTeX between dollar signs, `html` is the official form."""

    doc_id: str
    text: str
    html: str
    question_id: str
    score: int

    def default_text(self) -> str:
        """Return the text that a system indexes by default."""
        return self.text


class FormulaDoc(NamedTuple):
    """A formula of a post. `visual_id` names the formulas that look the same, by which the lab judges."""

    doc_id: str
    text: str
    visual_id: str
    post_id: str
    kind: str

    def default_text(self) -> str:
        """Return the LaTeX."""
        return self.text


class TopicQuery(NamedTuple):
    """A topic of Tasks 1 and 3. `text` has no mark-up; `title` and `question` are in the official HTML form."""

    query_id: str
    text: str
    title: str
    question: str
    tags: tuple[str, ...]

    def default_text(self) -> str:
        """Return title and question."""
        return self.text


class FormulaTopicQuery(NamedTuple):
    """A topic of Task 2: `text` is the LaTeX of the formula `formula_id`, the rest is the post in which it occurs."""

    query_id: str
    text: str
    formula_id: str
    title: str
    question: str
    tags: tuple[str, ...]

    def default_text(self) -> str:
        """Return the LaTeX."""
        return self.text


class Qrel(NamedTuple):
    """A judgment: 0 not relevant, 1 low, 2 medium, 3 high. In Task 2 `doc_id` is a visual id."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset over a folder that holds the official files, in any sub-folders."""

    entry: CatalogueEntry
    folder: Path

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.entry.name

    @property
    def docs(self) -> Iterator[AnswerDoc] | Iterator[FormulaDoc]:
        """The documents."""
        return self.docs_iter()

    @property
    def queries(self) -> Iterator[TopicQuery] | Iterator[FormulaTopicQuery]:
        """The queries."""
        return self.queries_iter()

    @property
    def qrels(self) -> Iterator[Qrel]:
        """The judgments."""
        return self.qrels_iter()

    def docs_iter(self) -> Iterator[AnswerDoc] | Iterator[FormulaDoc]:
        """Yield the documents in the order of the files: answers in Tasks 1 and 3, formulas in Task 2."""
        return _formulas(self.folder) if self.entry.task == 2 else _answers(self.folder)

    def queries_iter(self) -> Iterator[TopicQuery] | Iterator[FormulaTopicQuery]:
        """Yield the topics."""
        topics = read_topics(self.entry.topics.find(self.folder))
        return map(_formula_query, topics) if self.entry.task == 2 else map(_topic_query, topics)

    def qrels_iter(self) -> Iterator[Qrel]:
        """Yield the judgments."""
        for topic, grades in read_qrels(self.entry.qrels.find(self.folder)).items():
            for item, grade in grades.items():
                yield Qrel(topic, item, grade, "0")

    def docs_cls(self) -> type[AnswerDoc] | type[FormulaDoc]:
        """Return the type of the documents."""
        return FormulaDoc if self.entry.task == 2 else AnswerDoc

    def queries_cls(self) -> type[TopicQuery] | type[FormulaTopicQuery]:
        """Return the type of the queries."""
        return FormulaTopicQuery if self.entry.task == 2 else TopicQuery

    def qrels_cls(self) -> type[Qrel]:
        """Return the type of the judgments."""
        return Qrel

    def qrels_defs(self) -> dict[int, str]:
        """Return what the grades mean."""
        return dict(QREL_DEFINITIONS)


def open_dataset(name: str, folder: str | Path) -> Dataset:
    """Return a dataset of the catalogue over a folder with the official files."""
    place, entries = Path(folder), catalogue()
    if not place.is_dir():
        raise PorismError("not a folder", where=str(place), fix="name the folder with the official files")
    if name not in entries:
        near = get_close_matches(name, entries, 1)
        fix = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(entries)}"
        raise PorismError(f"no dataset is named {name}", fix=fix)
    return Dataset(entries[name], place)


def _answers(folder: Path) -> Iterator[AnswerDoc]:
    path = POSTS.find(folder)
    for part in ArqMath(path.parent).parts():
        if not part.name.lower().startswith("posts."):
            continue
        for record in part.read():
            if isinstance(record, RawPost) and record.kind == "answer":
                text = read_official(record.body).plain().strip()
                yield AnswerDoc(str(record.id), text, record.body, str(record.parent_id or ""), record.score)


def _formulas(folder: Path) -> Iterator[FormulaDoc]:
    files = ArqMath(folder).table_files("latex")
    if not files:
        FORMULAS.find(folder / "latex_representation")  # raises the error that names the missing tables
    for part in ArqMath(folder).parts():
        if "latex_representation" not in part.name.lower():
            continue
        for record in part.read():
            if isinstance(record, RawFormula):
                visual = "" if record.visual_id is None else str(record.visual_id)
                yield FormulaDoc(str(record.id), decode_latex(record.latex), visual, str(record.post_id), record.kind)


def _topic_query(topic: Topic) -> TopicQuery:
    text = f"{read_official(topic.title).plain()}\n{read_official(topic.question).plain()}".strip()
    return TopicQuery(topic.id, text, topic.title, topic.question, topic.tags)


def _formula_query(topic: Topic) -> FormulaTopicQuery:
    return FormulaTopicQuery(topic.id, topic.latex, topic.formula_id, topic.title, topic.question, topic.tags)


def register(folder: str | Path) -> tuple[str, ...]:
    """Register all datasets in ir_datasets, except those that it has already; return the names of the new ones."""
    try:
        import ir_datasets
        from ir_datasets.datasets.base import Dataset as Registered
    except ImportError:
        raise PorismError("ir_datasets is not installed", fix="pip install ir_datasets") from None
    added = []
    for name in names():
        if name not in ir_datasets.registry:
            ir_datasets.registry.register(name, Registered(*_handlers(open_dataset(name, folder))))
            added.append(name)
    return tuple(added)


def _handlers(dataset: Dataset) -> tuple[Any, Any, Any]:
    """Return the three objects that ir_datasets asks for documents, queries and judgments."""
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries

    class Docs(BaseDocs):  # type: ignore[misc]
        docs_iter, docs_cls = staticmethod(dataset.docs_iter), staticmethod(dataset.docs_cls)
        docs_namespace, docs_lang = staticmethod(lambda: "arqmath"), staticmethod(lambda: "en")

    class Queries(BaseQueries):  # type: ignore[misc]
        queries_iter, queries_cls = staticmethod(dataset.queries_iter), staticmethod(dataset.queries_cls)
        queries_namespace, queries_lang = staticmethod(lambda: dataset.name), staticmethod(lambda: "en")

    class Qrels(BaseQrels):  # type: ignore[misc]
        qrels_iter, qrels_cls = staticmethod(dataset.qrels_iter), staticmethod(dataset.qrels_cls)
        qrels_defs = staticmethod(dataset.qrels_defs)

    return Docs(), Queries(), Qrels()
