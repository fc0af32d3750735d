"""The ranking of a topic as a run file has it: posts in Task 1, one formula of each visual id in Task 2."""

from __future__ import annotations

from typing import NamedTuple

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.evaluate.runs.run import Ranking
from porism.records import Topic
from porism.search.retriever import Pipeline, Retriever
from porism.systems.topic_queries import topic_query

SPARE = 2  # times as many formulas are searched as are needed, since those in comments only may not be returned


class TopicRanking(NamedTuple):
    """A topic and what a system found for it."""

    topic: str
    ranking: Ranking


def topic_ranking(retriever: Retriever, content: Content, topic: Topic, task: int, k: int) -> Ranking:
    """Return the best k hits of a system for a topic."""
    return _formulas(retriever, content, topic, k) if task == 2 else _posts(retriever, topic, k)


def _posts(retriever: Retriever, topic: Topic, k: int) -> Ranking:
    hits = retriever.search(topic_query(topic, 1), k).top(k)
    return Ranking([str(number) for number in hits.ids.tolist()], hits.scores.tolist())


def _formulas(retriever: Retriever, content: Content, topic: Topic, k: int) -> Ranking:
    """Return one instance of each visual id: that which the system names, or the first that may be returned."""
    if not topic.latex:
        raise PorismError("has no formula", fix="give topics of Task 2, or a table topic, latex")
    hits = retriever.search(topic_query(topic, 2), SPARE * k)
    ids: list[int] = hits.ids.tolist()
    if isinstance(retriever, Pipeline) and retriever.names_instances:
        places = retriever.instances(ids)
    else:
        places = {visual: own[0] for visual, own in content.instances(ids, 1, returnable=True).items()}
    items: list[str] = []
    posts: list[str] = []
    scores: list[float] = []
    for hit in [hit for hit in hits if hit.id in places][: max(k, 0)]:
        place = places[hit.id]
        items.append(str(place.id if place.post_id else hit.id))
        posts.append(str(place.post_id) if place.post_id else "-")
        scores.append(hit.score)
    return Ranking(items, scores, posts)
