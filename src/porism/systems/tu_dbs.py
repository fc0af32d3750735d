"""TU_DBS: a cross-encoder scores every answer whose question shares a tag with the topic.

Sources: AnReu/ALBERT-for-Math-AR (input, length, number of rows) and the model cards of the team.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from porism.corpus.content import Content
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.lexical.documents import TextDocument
from porism.systems.lexical.inverted import InvertedIndex
from porism.systems.lexical.retrieval import token_index
from porism.systems.neural.pairs import Ints, PairScorer, open_pair_scorer
from porism.systems.neural.texts import Formulas, InputFormat
from porism.systems.topic_queries import topic_of

ROWS = 999  # of a topic: the original writes ranks below 1000


def tag_cross_encoder(
    context: SystemContext,
    cross_encoder: str,
    formulas: Formulas = "dollars",
    lower: bool = True,
    length: int = 512,
    candidates: int = 0,
) -> Retriever:
    """Score the answers to questions that share a tag with the topic. `candidates` limits them to those with the rarest
    common tags; 0 takes all, as the original does."""
    form = InputFormat(formulas, lower, "{title} {body}")
    index = token_index(context, "answer-tags", "tags", partial(tag_documents, context.content), split_tags)
    return TagSearch(index, open_pair_scorer(context, cross_encoder, form, length), candidates)


def tag_documents(content: Content) -> Iterator[TextDocument]:
    """Yield each answer with the tags of its question."""
    tags = {question.id: " ".join(question.tags) for question in content.posts("question")}
    for answer in content.posts("answer"):
        yield TextDocument(answer.id, tags.get(answer.thread_id, ""))


def split_tags(text: str) -> list[str]:
    """Return the tags of a text."""
    return text.split()


class TagSearch(Retriever):
    """Ranks the answers that share a tag by the score of a pair."""

    def __init__(self, index: InvertedIndex, scorer: PairScorer, candidates: int) -> None:
        self._index, self._scorer, self._candidates = index, scorer, candidates
        self.models = (scorer.use,)
        self.notes = (f"at most {candidates:,} candidates of a topic are scored",) if candidates else ()

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers, at most 999."""
        topic = topic_of(query)
        answers = self.tagged(topic.tags)
        if not len(answers) or k < 1:
            return Ranking.of({})
        scores = self._scorer.scores(self._scorer.form.topic(topic), answers)
        order = np.lexsort((answers, -scores))[: min(k, ROWS)]
        return Ranking(answers[order], scores[order])

    def tagged(self, tags: tuple[str, ...]) -> Ints:
        """Return the candidates in the order of ids."""
        counts = Counter(tag for tag in dict.fromkeys(tags) if tag in self._index.codes)
        found = np.flatnonzero(self._index.matching(counts)) if counts else np.empty(0, np.int64)
        if self._candidates and len(found) > self._candidates:
            rarity = np.zeros(len(self._index.ids))
            for tag in counts:
                documents = self._index.postings(tag).documents
                rarity[documents] += np.log(len(self._index.ids) / len(documents))
            found = np.sort(found[np.argsort(-rarity[found], kind="stable")][: self._candidates])
        return np.sort(np.asarray(self._index.ids[found], np.int64))
