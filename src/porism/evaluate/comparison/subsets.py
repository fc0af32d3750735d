"""Scores over subsets of the topics: by category, difficulty, dependency, parts, complexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from porism.corpus.topics.info import ALLOWED, TopicInfo
from porism.evaluate.measures.score import Scores


class TopicSubset(NamedTuple):
    """The topics that have one value of a property."""

    property: str
    value: str
    topics: tuple[str, ...]


class SubsetScores(NamedTuple):
    """The scores of a run over one subset."""

    property: str
    value: str
    scores: Scores


def topic_subsets(infos: Mapping[str, TopicInfo]) -> Iterator[TopicSubset]:
    """Yield a subset for every value that occurs. A topic of two categories is in both."""
    for name, values in ALLOWED.items():
        for value in values:
            topics = tuple(topic for topic, info in infos.items() if value in info.values(name))
            if topics:
                yield TopicSubset(name.replace("_", "-"), value, topics)


def score_subsets(scores: Scores, infos: Mapping[str, TopicInfo]) -> Iterator[SubsetScores]:
    """Yield the scores over each subset. Topics are matched by number, so that Task 2 topics use the information of Task 1."""
    by_number = {_number(topic): topic for topic in scores.topics}
    for subset in topic_subsets(infos):
        topics = [by_number[_number(topic)] for topic in subset.topics if _number(topic) in by_number]
        if topics:
            yield SubsetScores(subset.property, subset.value, scores.only(topics))


def _number(topic: str) -> str:
    return topic.partition(".")[2]
