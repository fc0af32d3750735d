"""Make a set of topics from a collection, in one call."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.lab.topics.select import Limits, candidates, select
from porism.lab.topics.write import write_topic_set
from porism.store import open_content


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
