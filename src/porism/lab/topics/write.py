"""Write a set of topics: the published files, and the oracle file with the known duplicates, which stays private."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from porism.corpus.topics.files import read_topics, write_topics
from porism.corpus.topics.formulas import Piece, split_formulas, to_html
from porism.errors import PorismError
from porism.files import atomic_directory, atomic_file
from porism.lab.topics.select import Candidate, Limits, QueryFormula, candidates, choose_query_formulas, select
from porism.records import Topic, TopicFormula
from porism.store import open_content

# The site inserts this notice into a question when it is closed. It would reveal the duplicate.
NOTICE = re.compile(
    r"<blockquote>(?:(?!</?blockquote>).){0,200}Possible Duplicate(?:(?!</?blockquote>).){0,9000}</blockquote>",
    re.S | re.I,
)


def to_topics(chosen: Sequence[Candidate], first: int) -> list[Topic]:
    """Turn questions into topics A.first, A.first+1, ...; formula ids count through all of them from q_1."""
    topics = []
    number = 0
    for offset, candidate in enumerate(chosen):
        post = candidate.post
        formulas: list[TopicFormula] = []
        fields: dict[str, str] = {}
        for name, text in (("title", post.title.html()), ("question", NOTICE.sub("", post.body.html()))):
            parts: list[Piece] = []
            for part in split_formulas(text):
                if part.latex is not None:
                    number += 1
                    formulas.append(TopicFormula(f"q_{number}", part.latex, "title" if name == "title" else "question"))
                    part = replace(part, id=f"q_{number}")
                parts.append(part)
            fields[name] = to_html(parts).strip()
        topics.append(Topic(f"A.{first + offset}", fields["title"], fields["question"], post.tags, tuple(formulas)))
    return topics


def write_topic_set(
    chosen: Sequence[Candidate], directory: str | Path, oracle: str | Path, first: int = 1
) -> list[Topic]:
    """Write the topics of Tasks 1 and 2, the formula table and the topic information sheet.

    The links to duplicates go to the oracle file only.
    """
    topics = to_topics(chosen, first)
    queries = choose_query_formulas(topics)
    with atomic_directory(directory) as folder:
        write_topics(topics, folder / "topics-task1.xml")
        write_topics(
            [_formula_topic(topic, queries[topic.id]) for topic in topics if topic.id in queries],
            folder / "topics-task2.xml",
        )
        _write_formulas(topics, chosen, folder / "formulas.tsv")
        with atomic_file(folder / "information.csv") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(["Topic", "Category", "Difficulty", "Dependency", "Multi-Part", "Complexity"])
            writer.writerows(
                [topic.id, "", "", "", "", queries[topic.id].complexity if topic.id in queries else ""]
                for topic in topics
            )
    _write_oracle(topics, chosen, oracle)
    return topics


def _formula_topic(topic: Topic, query: QueryFormula) -> Topic:
    """Return the Task 2 topic of a question: B.3 for A.3."""
    return replace(topic, id=f"B.{topic.id[2:]}", formula_id=query.formula.id, latex=query.formula.latex)


def _write_formulas(topics: Sequence[Topic], chosen: Sequence[Candidate], path: Path) -> None:
    with atomic_file(path) as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(["id", "topic_id", "thread_id", "type", "formula"])
        for topic, candidate in zip(topics, chosen, strict=True):
            writer.writerows(
                [formula.id, topic.id, candidate.post.thread_id, formula.field, formula.latex]
                for formula in topic.formulas
            )


def _write_oracle(topics: Sequence[Topic], chosen: Sequence[Candidate], path: str | Path) -> None:
    """Write topic, question, linked question and kind of link."""
    with atomic_file(path) as out:
        out.write("topic\tquestion\tother\tkind\n")
        for topic, candidate in zip(topics, chosen, strict=True):
            for kind, others in (("duplicate", candidate.duplicates), ("related", candidate.related)):
                out.writelines(f"{topic.id}\t{candidate.post.id}\t{other}\t{kind}\n" for other in others)


class TopicCounts(NamedTuple):
    """How many questions met the criteria, and how many became topics."""

    candidates: int
    topics: int


def make_topics(
    collection: str | Path,
    directory: str | Path,
    oracle: str | Path | None = None,
    number: int = 100,
    first: int = 1,
    limits: Limits | None = None,
    since: str = "",
    earlier: str | Path | None = None,
    seed: int = 1,
) -> TopicCounts:
    """Select questions and write them as a set of topics."""
    oracle_path = Path(oracle) if oracle else Path(f"{directory}.oracle.tsv")
    if oracle_path.resolve().is_relative_to(Path(directory).resolve()):
        raise PorismError(
            "the oracle file would be among the published files",
            where=str(oracle_path),
            fix="name a file outside the folder of the topics",
        )
    titles = [topic.title for topic in read_topics(earlier)] if earlier else []
    found = list(candidates(open_content(collection), limits, since, titles))
    chosen = select(found, number, seed)
    return TopicCounts(len(found), len(write_topic_set(chosen, directory, oracle_path, first)))
