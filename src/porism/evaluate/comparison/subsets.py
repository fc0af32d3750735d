"""The same scores over parts of the topics: by category, difficulty, dependency, parts, complexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from porism.corpus.topics.info import ALLOWED, TopicInfo
from porism.evaluate.measures.score import Scores


def subsets(infos: Mapping[str, TopicInfo]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(field, value, topics) for every value that occurs; a topic of two categories is in both. Topics of Task 2 go by their Task 1 number."""
    for field, values in ALLOWED.items():
        for value in values:
            topics = tuple(topic for topic, info in infos.items() if value in info.values(field))
            if topics:
                yield field.replace("_", "-"), value, topics


def score_subsets(scores: Scores, infos: Mapping[str, TopicInfo]) -> Iterator[tuple[str, str, Scores]]:
    """The scores over each subset that has a counted topic."""
    numbers = {topic.partition(".")[2]: topic for topic in scores.topics}
    for field, value, topics in subsets(infos):
        mine = [numbers[number] for topic in topics if (number := topic.partition(".")[2]) in numbers]
        if mine:
            yield field, value, scores.only(mine)
