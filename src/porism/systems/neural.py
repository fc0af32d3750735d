"""Systems that rank by encoders: answers by the cosine of their vectors, and re-ranking with scores of pairs.

TU_DBS scores every answer whose question shares a tag with the topic. Sources: AnReu/ALBERT-for-Math-AR (input, length,
number of rows) and the model cards of the team."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.search.query import ReadQuery
from porism.search.retriever import DEPTH, Ranking, Reranker, Retriever
from porism.systems.arrays import Floats, Ints, Singles, best_of
from porism.systems.declared.context import SystemContext
from porism.systems.documents import Formulas, InputFormat, TextDocument, TextForm, answer_texts, form_code
from porism.systems.encoded import TextSource, encoded_documents, open_bi_encoder, open_cross_encoder
from porism.systems.inverted import InvertedIndex, token_index
from porism.systems.named_models import AppliedModel, ChosenModel, chosen_model
from porism.systems.topic_queries import topic_of


class TextVectors:
    """Documents with one vector each, and the bi-encoder that made them and makes those of queries."""

    def __init__(self, context: SystemContext, chosen: ChosenModel, source: TextSource, length: int) -> None:
        self._encoder = open_bi_encoder(chosen.directory, length)
        read = self._encoder.record.length
        self.use: AppliedModel = chosen.use(f"bi-encoder, {read} tokens")
        self.documents = encoded_documents(context, source, (read, chosen.directory.digest), self._encode)

    def _encode(self, texts: Sequence[str]) -> list[Singles]:
        return [vector[None, :] for vector in self._encoder.encode(texts)]

    def cosines(self, text: str) -> Singles:
        """Return the cosine of each document with a query."""
        if not len(self.documents.ids):
            return np.zeros(0, np.float32)
        return self.documents.cosines(self._encoder.encode([text], role="query")[0])


def answer_vectors(context: SystemContext, chosen: ChosenModel, form: TextForm, length: int) -> TextVectors:
    """Return the vectors of all answers; systems with the same form of text and model share them."""
    form = form if not isinstance(form, InputFormat) else form.for_model(chosen.directory)
    source = TextSource("answer-vectors", form.key, partial(answer_texts, context.content, form), form_code(form))
    return TextVectors(context, chosen, source, length)


class DenseSearch(Retriever):
    """Ranks answers by cosine. `query` is a topic's text with {title}, {body} and {tags}; `length` counts tokens."""

    def __init__(self, context: SystemContext, bi_encoder: str, *, form: InputFormat, length: int = 0) -> None:
        self._form = form
        self._vectors = answer_vectors(context, chosen_model(bi_encoder, context.models), form, length)
        self.models = (self._vectors.use,)

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k answers; of equal scores the smaller id comes first."""
        text = self._form.topic(topic_of(query))
        if not text or k < 1:
            return Ranking.of({})
        return best_of(self._vectors.documents.ids, self._vectors.cosines(text), k)


COSINE_LENGTH = 128  # tokens that a bi-encoder in place of a cross-encoder reads of an answer


def open_pair_scorer(context: SystemContext, cross_encoder: str, form: TextForm, length: int) -> PairScorer:
    """Open the model that scores pairs of a topic and an answer. A bi-encoder is a substitute, whatever its name."""
    chosen = chosen_model(cross_encoder, context.models)
    if chosen.directory.kind == "bi-encoder":
        return CosinePairs(context, chosen, form)
    return CrossPairs(context.content, chosen, form, length)


class CrossPairs:
    """Pairs scored by a cross-encoder."""

    def __init__(self, content: Content, chosen: ChosenModel, form: TextForm, length: int) -> None:
        self._content, self.form = content, form
        self._model = open_cross_encoder(chosen.directory, length)
        self.use = chosen.use(f"cross-encoder, {self._model.record.length} tokens of a pair")

    def scores(self, query: str, answers: Ints) -> Floats:
        """Return the logit of each pair."""
        posts = self._content.posts_by_id(answers.tolist())
        pairs = [(query, self.form.text(posts[answer].body)) for answer in answers.tolist()]
        return self._model.score(pairs).astype(np.float64)

    def shares(self, query: str, answers: Ints) -> Floats:
        """Return the logistic function of the logits."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.scores(query, answers))))


class CosinePairs:
    """Pairs scored by the cosine of two vectors: what a bi-encoder can say of a pair."""

    def __init__(self, context: SystemContext, chosen: ChosenModel, form: TextForm) -> None:
        self.form = form
        self._vectors = answer_vectors(context, chosen, form, COSINE_LENGTH)
        substitute = ChosenModel(chosen.model, chosen.directory, "substitute")
        self.use = substitute.use(f"cosine of a bi-encoder, {COSINE_LENGTH} tokens, not a cross-encoder")

    def scores(self, query: str, answers: Ints) -> Floats:
        """Return the cosine of each answer."""
        if not query or not len(answers):
            return np.zeros(len(answers))
        positions = np.searchsorted(self._vectors.documents.ids, answers)
        return self._vectors.cosines(query)[positions].astype(np.float64)

    def shares(self, query: str, answers: Ints) -> Floats:
        """Return the cosines that are above 0."""
        return np.maximum(self.scores(query, answers), 0.0)


PairScorer = CrossPairs | CosinePairs


def block_reranker(
    context: SystemContext,
    cross_encoder: str,
    blocks: tuple[int, ...] = (4, 8, 12, 16, 32, 64, 128),
    *,
    form: InputFormat,
    length: int = 512,
) -> Reranker:
    """Reorder answers inside consecutive blocks of these sizes; what is behind the last block keeps its order."""
    if not blocks or min(blocks) < 1:
        raise PorismError(f"blocks are {blocks}", fix="write sizes from 1, as 4,8,12")
    return BlockReranker(open_pair_scorer(context, cross_encoder, form, length), tuple(blocks))


class BlockReranker(Reranker):
    """Reorders hits inside blocks by the score of each pair. The scores of the ranking stay at their ranks."""

    depth = DEPTH

    def __init__(self, scorer: PairScorer, blocks: tuple[int, ...]) -> None:
        self._scorer, self._blocks = scorer, blocks
        self.models = (scorer.use,)

    def rerank(self, query: ReadQuery, ranking: Ranking) -> Ranking:
        """Return the ranking with each block in the order of the model; of equal scores the order of before is kept."""
        ids = np.array(ranking.ids, np.int64)
        first = ids[: sum(self._blocks)]
        if not len(first):
            return ranking
        scores = self._scorer.scores(self._scorer.form.topic(topic_of(query)), first)
        starts = np.cumsum((0, *self._blocks[:-1]))
        blocks = np.searchsorted(starts, np.arange(len(first)), side="right")
        ids[: len(first)] = first[np.lexsort((-scores, blocks))]
        return Ranking(ids, ranking.scores)


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
    form = InputFormat("{title} {body}", formulas, lower)
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
        return best_of(answers, scores, min(k, ROWS))

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
