"""The default engine in Task 3: the best passage of the best answer, as the Ask tab shows it."""

from __future__ import annotations

from porism.records import Query
from porism.search.engine import Engine
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking
from porism.systems.answerer import Answerer, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.queries.topic_query import topic_of


class BestPassage(Answerer):
    """Answers with a passage of a post."""

    depth = 0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def answer(self, query: ReadQuery, ranking: Ranking) -> WrittenAnswer:
        """Return the passage that the Ask tab shows."""
        topic = topic_of(query)
        found = self._engine.ask(Query(topic.question, topic.title, topic.tags))
        return WrittenAnswer(found.text, ", ".join(str(source.post_id) for source in found.sources))


def best_passage(context: SystemContext) -> Answerer:
    """Return the answerer of the default engine."""
    return BestPassage(Engine(context.index.snapshot))
