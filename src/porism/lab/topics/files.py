"""The files of a set of topics: what is published, and what only the oracle may see."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from porism.corpus.topics.files import write_topics
from porism.corpus.topics.text import Span, spans, to_html
from porism.files import atomic_directory, atomic_file
from porism.lab.topics.formulas import choose
from porism.lab.topics.select import Candidate
from porism.records import Topic, TopicFormula

# The site puts this notice into a question when it is closed: it would give the link away.
NOTICE = re.compile(
    r"<blockquote>(?:(?!</blockquote>).)*Possible Duplicate(?:(?!</blockquote>).)*</blockquote>", re.S | re.I
)


def to_topics(chosen: Sequence[Candidate], first: int) -> list[Topic]:
    """Questions as topics A.first, A.first+1, ...; formula ids run through all of them from q_1."""
    topics = []
    number = 0
    for place, one in enumerate(chosen):
        formulas: list[TopicFormula] = []
        fields: dict[str, str] = {}
        for name, text in (("title", one.post.title), ("question", NOTICE.sub("", one.post.body))):
            parts: list[Span] = []
            for part in spans(text):
                if part.latex is not None:
                    number += 1
                    formulas.append(TopicFormula(f"q_{number}", part.latex, "title" if name == "title" else "question"))
                    part = replace(part, id=f"q_{number}")
                parts.append(part)
            fields[name] = to_html(parts).strip()
        topics.append(Topic(f"A.{first + place}", fields["title"], fields["question"], one.post.tags, tuple(formulas)))
    return topics


def write_topic_set(
    chosen: Sequence[Candidate], directory: str | Path, oracle: str | Path, first: int = 1
) -> list[Topic]:
    """Write both tasks' topics, the formula table and the sheet for topic information; the links go to the oracle's file only."""
    topics = to_topics(chosen, first)
    picked = choose(topics)
    second = [
        replace(
            topic, id=f"B.{topic.id[2:]}", formula_id=picked[topic.id].formula.id, latex=picked[topic.id].formula.latex
        )
        for topic in topics
        if topic.id in picked
    ]
    with atomic_directory(directory) as folder:
        write_topics(topics, folder / "topics-task1.xml")
        write_topics(second, folder / "topics-task2.xml")
        with atomic_file(folder / "formulas.tsv") as out:
            writer = csv.writer(out, delimiter="\t", lineterminator="\n")
            writer.writerow(["id", "topic_id", "thread_id", "type", "formula"])
            for topic, one in zip(topics, chosen, strict=True):
                writer.writerows(
                    [formula.id, topic.id, one.post.thread_id, formula.field, formula.latex]
                    for formula in topic.formulas
                )
        with atomic_file(folder / "information.csv") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(["Topic", "Category", "Difficulty", "Dependency", "Multi-Part", "Complexity"])
            writer.writerows(
                [topic.id, "", "", "", "", picked[topic.id].complexity if topic.id in picked else ""]
                for topic in topics
            )
    write_oracle(topics, chosen, oracle)
    return topics


def write_oracle(topics: Sequence[Topic], chosen: Sequence[Candidate], path: str | Path) -> None:
    """topic, the question it was made of, the linked question, how they are linked."""
    with atomic_file(path) as out:
        out.write("topic\tquestion\tother\tkind\n")
        for topic, one in zip(topics, chosen, strict=True):
            for kind, others in (("duplicate", one.duplicates), ("related", one.related)):
                out.writelines(f"{topic.id}\t{one.post.id}\t{other}\t{kind}\n" for other in others)
