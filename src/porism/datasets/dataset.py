"""A dataset in the manner of ir_datasets: `docs_iter`, `queries_iter` and `qrels_iter` yield named tuples; nothing is read before it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from porism.corpus.sources.arqmath import ArqMath
from porism.corpus.sources.raw import RawFormula, RawPost
from porism.corpus.topics.files import read_topics
from porism.datasets.catalogue import FORMULAS, POSTS, Entry, find_entry
from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.records import Topic
from porism.text.entities import decode_latex
from porism.text.read import read_official

QREL_DEFINITIONS = {3: "high", 2: "medium", 1: "low", 0: "not relevant"}


class AnswerDoc(NamedTuple):
    """A document of Tasks 1 and 3: an answer. `text` has no mark-up and LaTeX between dollar signs, `html` is the official form."""

    doc_id: str
    text: str
    html: str
    question_id: str
    score: int

    def default_text(self) -> str:
        """Return the text that a system indexes by default."""
        return self.text


class FormulaDoc(NamedTuple):
    """A document of Task 2: a formula of a post. `visual_id` names the formulas that look the same; judgments are by visual id."""

    doc_id: str
    text: str
    visual_id: str
    post_id: str
    kind: str

    def default_text(self) -> str:
        """Return the LaTeX."""
        return self.text


class TopicQuery(NamedTuple):
    """A topic of Tasks 1 and 3. `text` is title and question without mark-up; `title` and `question` are in the official HTML form."""

    query_id: str
    text: str
    title: str
    question: str
    tags: tuple[str, ...]

    def default_text(self) -> str:
        """Return title and question."""
        return self.text


class FormulaQuery(NamedTuple):
    """A topic of Task 2. `text` is the LaTeX of the formula with the id `formula_id`; the rest is the post in which it occurs."""

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

    entry: Entry
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
    def queries(self) -> Iterator[TopicQuery] | Iterator[FormulaQuery]:
        """The queries."""
        return self.queries_iter()

    @property
    def qrels(self) -> Iterator[Qrel]:
        """The judgments."""
        return self.qrels_iter()

    def docs_iter(self) -> Iterator[AnswerDoc] | Iterator[FormulaDoc]:
        """Yield the documents in the order of the files: answers in Tasks 1 and 3, formulas in Task 2."""
        return _formulas(self.folder) if self.entry.task == 2 else _answers(self.folder)

    def queries_iter(self) -> Iterator[TopicQuery] | Iterator[FormulaQuery]:
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

    def queries_cls(self) -> type[TopicQuery] | type[FormulaQuery]:
        """Return the type of the queries."""
        return FormulaQuery if self.entry.task == 2 else TopicQuery

    def qrels_cls(self) -> type[Qrel]:
        """Return the type of the judgments."""
        return Qrel

    def qrels_defs(self) -> dict[int, str]:
        """Return what the grades mean."""
        return dict(QREL_DEFINITIONS)


def open_dataset(name: str, folder: str | Path) -> Dataset:
    """Return a dataset of the catalogue over a folder with the official files."""
    place = Path(folder)
    if not place.is_dir():
        raise PorismError("is not a folder", where=str(place), fix="name the folder with the official files")
    return Dataset(find_entry(name), place)


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


def _formula_query(topic: Topic) -> FormulaQuery:
    return FormulaQuery(topic.id, topic.latex, topic.formula_id, topic.title, topic.question, topic.tags)
