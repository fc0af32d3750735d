"""SCM: one soft vector space for text and LaTeX, or two for text and for Tangent-L tuples whose scores are added.

Tokens, vocabulary, token similarities and the vectors of answers are made once and kept beside the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse

from porism.corpus.content import batched
from porism.errors import PorismError
from porism.models.tokens import MeanVectors, TokenEncoder
from porism.records import Explanation, Topic
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Floats, Ints
from porism.systems.declared.context import SystemContext, check_share
from porism.systems.documents import AT_ONCE
from porism.systems.encoded import fitting_length
from porism.systems.named_models import chosen_model
from porism.systems.scm import tokens
from porism.systems.scm.embeddings import CbowOptions, TokenLines, train_vectors
from porism.systems.scm.similarity import by_cosine, by_edit_distance, similarity_matrix
from porism.systems.scm.tokens import Line, LineVocabulary, PostLines, Representation
from porism.systems.topic_queries import topic_of
from porism.text.segment import Text

CODE = ("porism.systems.scm", "porism.systems.mathdowers")
EPOCHS: dict[str, int] = {"text": 2, "text+latex": 1, "tangentl": 2}
SHORTEST_FORMULA = 20  # characters of LaTeX from which tokens are learned
POSITIONAL_DIMENSIONS, POSITIONAL_WINDOW = 60, 15
_LINES, _EDITS, _COSINES, _ANSWERS, _IDS = "lines.txt", "edits.npz", "cosines.npz", "answers.npz", "ids.npy"
_BLOCK = 512  # answers whose lengths are computed at once
NEGATIVE = "gamma and epochs cannot be negative"
LENGTH = 512  # tokens of a line that a transformer reads


@dataclass(frozen=True, slots=True)
class SoftWeights:
    """Weights of a soft vector space: `alpha` is that of edit distances against vectors, `gamma` that of titles."""

    alpha: float = 0.1
    gamma: int = 5

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)
        if self.gamma < 0:
            raise PorismError(NEGATIVE, fix="write a number from 0")


@dataclass(frozen=True, slots=True)
class SoftTraining:
    """How tokens and vectors are learned: `epochs` (0: as the original), `tokenizer` a folder of roberta-base."""

    epochs: int = 0
    tokenizer: str = ""

    def __post_init__(self) -> None:
        if self.epochs < 0:
            raise PorismError(NEGATIVE, fix="write a number from 0")


@dataclass(frozen=True, slots=True)
class SpaceOptions:
    """What a space is made of. `source` names the transformer whose tokens and token vectors are used, if any; `lines`
    limits the lines that it reads."""

    representation: Representation
    weights: SoftWeights
    positional: bool = False
    training: SoftTraining = SoftTraining()
    source: str = ""
    lines: int = 0

    @property
    def note(self) -> str:
        """How tokens and vectors were learned, for a reader of the run."""
        kind = "positional" if self.positional else "plain"
        source = self.training.tokenizer or "trained on the collection"
        return f"byte pairs: {source}; {kind} word vectors trained on the collection"


class SoftSpace:
    """A prepared space: answers as rows of BM25 weights whose length the similarities leave as it is, and the
    similarity matrix. Tokens, vectors and answers are made once. `encoder` is the transformer that the options name."""

    def __init__(self, context: SystemContext, options: SpaceOptions, encoder: TokenEncoder | None = None) -> None:
        self._context, self._options, self._encoder = context, options, encoder
        kind, training, source = options.representation, options.training, options.source
        self._lines = PostLines(context.content, kind)
        self._tokens = context.cached(f"scm-tokens-{kind}", [training.tokenizer, source], self._build_tokens, CODE)
        key = [training.tokenizer, options.positional, training.epochs, source]
        vectors = context.cached(f"scm-vectors-{kind}", key, self._build_vectors, CODE)
        self.vocabulary, self._tokenizer = LineVocabulary.open(self._tokens), self._make_tokenizer(self._tokens)
        edits, cosines = sparse.load_npz(self._tokens / _EDITS), sparse.load_npz(vectors / _COSINES)
        alpha = options.weights.alpha
        self.similarity: sparse.csr_matrix = (alpha * edits + (1 - alpha) * cosines).tocsr()
        answers = context.cached(f"scm-answers-{kind}", asdict(options), self._build_answers, CODE)
        self.answers: sparse.csr_matrix = sparse.load_npz(answers / _ANSWERS)
        self.ids: Ints = np.load(answers / _IDS)

    def _make_tokenizer(self, folder: Path) -> tokens.LineTokens:
        if self._encoder is not None:
            return tokens.ModelTokens(folder)
        return tokens.Tuples() if self._options.representation == "tangentl" else tokens.BytePairs(folder)

    def _build_tokens(self, folder: Path) -> None:
        progress, kind = self._context.progress, self._options.representation
        if self._encoder is not None:
            self._encoder.save_tokenizer(folder / tokens.MODEL_FILE)
        elif kind != "tangentl":
            with progress.stage(f"SCM: byte pairs of {kind}"):
                self._write_byte_pairs(folder)
        tokenizer = self._make_tokenizer(folder)
        with (
            progress.stage("SCM: training lines") as advance,
            open(folder / _LINES, "w", encoding="utf-8", newline="\n") as out,
        ):
            for line in self._lines.training():
                out.write(" ".join(tokenizer.tokens(line)) + "\n")
                advance(1)
        vocabulary = LineVocabulary.of(_read_lines(folder / _LINES))
        vocabulary.save(folder)
        with progress.stage("SCM: edit distances", len(vocabulary.tokens)) as advance:
            near = by_edit_distance(vocabulary.tokens, advance)
        sparse.save_npz(folder / _EDITS, similarity_matrix(near, vocabulary.idf, dominant=False))

    def _write_byte_pairs(self, folder: Path) -> None:
        if self._options.training.tokenizer:
            tokens.read_merges(Path(self._options.training.tokenizer), folder / tokens.TEXT_FILE)
        else:
            tokens.train_text(tokens.texts_of(self._lines.training(), False), folder / tokens.TEXT_FILE)
        if self._options.representation == "text+latex":
            tokens.train_latex(
                tokens.texts_of(self._lines.training(), True, SHORTEST_FORMULA), folder / tokens.LATEX_FILE
            )

    def _build_vectors(self, folder: Path) -> None:
        vocabulary = LineVocabulary.open(self._tokens)
        trained = self._encoded(self._encoder) if self._encoder else self._trained(vocabulary.lines)
        places = [place for place, token in enumerate(trained.tokens) if token in vocabulary.codes]
        rows = np.array([vocabulary.codes[trained.tokens[place]] for place in places], np.int32)
        with self._context.progress.stage("SCM: similar vectors", len(rows)) as advance:
            near = by_cosine(trained.vectors[places], rows, len(vocabulary.tokens), CbowOptions().seed, advance)
        sparse.save_npz(folder / _COSINES, similarity_matrix(near, vocabulary.idf, dominant=True))

    def _encoded(self, encoder: TokenEncoder) -> MeanVectors:
        """Return token vectors of a transformer, averaged over the training lines."""
        chosen = islice(self._lines.training(), self._options.lines or None)
        stage = f"SCM: vectors of {self._options.representation} by layer {encoder.layer}"
        with self._context.progress.stage(stage) as advance:
            return encoder.mean_vectors(map(tokens.line_text, chosen), advance)

    def _trained(self, size: int) -> MeanVectors:
        """Return word vectors trained on the lines of the collection."""
        kind = self._options.representation
        training = CbowOptions(epochs=self._options.training.epochs or EPOCHS[kind])
        if self._options.positional:
            training = replace(training, window=POSITIONAL_WINDOW, positional=POSITIONAL_DIMENSIONS)
        lines = TokenLines(partial(_read_lines, self._tokens / _LINES))
        with self._context.progress.stage(f"SCM: vectors of {kind}", size * training.epochs) as advance:
            return train_vectors(lines, training, advance)

    def _build_answers(self, folder: Path) -> None:
        ids: list[int] = []
        entries: list[dict[int, float]] = []
        content = self._context.content
        with self._context.progress.stage(f"SCM: answers as {self._options.representation}") as advance:
            for answers in batched(content.posts("answer"), AT_ONCE):
                found = content.titles_by_id([answer.thread_id for answer in answers])
                titles = self._lines.of_texts([found.get(one.thread_id, Text("")) for one in answers], whole=True)
                bodies = self._lines.of_texts([answer.body for answer in answers])
                for answer, title, body in zip(answers, titles, bodies, strict=True):
                    ids.append(answer.id)
                    entries.append(self.vocabulary.weights(self._counts(body, title)))
                    advance(1)
        matrix = _rows(entries, len(self.vocabulary.tokens))
        sparse.save_npz(folder / _ANSWERS, _length_kept(matrix, self.similarity))
        np.save(folder / _IDS, np.array(ids, np.int64))

    def _counts(self, body: Iterable[Line], title: Iterable[Line]) -> dict[int, int]:
        """Return the counts of tokens; those of the title count `gamma` times."""
        counts = self.vocabulary.counts(token for line in body for token in self._tokenizer.tokens(line))
        titled = self.vocabulary.counts(token for line in title for token in self._tokenizer.tokens(line))
        for code, count in titled.items():
            counts[code] = counts.get(code, 0) + self._options.weights.gamma * count
        return counts

    def query_counts(self, topic: Topic) -> dict[int, int]:
        """Return the counts of a topic's tokens."""
        return self._counts(self._lines.of_topic(topic, "question"), self._lines.of_topic(topic, "title"))

    def expanded(self, query: ReadQuery) -> Floats:
        """Return S q for the query's counts q, scaled by |q| / sqrt(q S q), which keeps the query's length."""
        found = self.query_counts(topic_of(query))
        codes = np.array(sorted(found), np.int64)
        counts = np.array([found[code] for code in codes.tolist()], np.float64)
        if not len(codes):
            return np.zeros(len(self.vocabulary.tokens))
        # The matrix is symmetric, so the rows of the query's tokens are enough.
        soft = np.asarray(self.similarity[codes].T @ counts)
        return np.asarray(soft * np.sqrt((counts @ counts) / (counts @ soft[codes])))


def _read_lines(path: Path) -> Iterator[Sequence[str]]:
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.split()


def _rows(entries: list[dict[int, float]], width: int) -> sparse.csr_matrix:
    starts = np.cumsum([0, *(len(entry) for entry in entries)])
    codes = np.array([code for entry in entries for code in sorted(entry)], np.int32)
    values = np.array([entry[code] for entry in entries for code in sorted(entry)])
    return sparse.csr_matrix((values, codes, starts), shape=(len(entries), width))


def _length_kept(answers: sparse.csr_matrix, similarity: sparse.csr_matrix) -> sparse.csr_matrix:
    """Scale each answer d by |d| / sqrt(d S d), so that similar tokens do not make it longer."""
    soft = np.zeros(answers.shape[0])
    for start in range(0, answers.shape[0], _BLOCK):
        block = answers[start : start + _BLOCK]
        soft[start : start + _BLOCK] = np.asarray(block.multiply(block @ similarity).sum(axis=1)).ravel()
    plain = np.asarray(answers.multiply(answers).sum(axis=1)).ravel()
    factors = np.sqrt(np.divide(plain, soft, out=np.zeros_like(plain), where=soft > 0))
    return (sparse.diags(factors) @ answers).tocsr()


class SoftSearch(Retriever):
    """Ranks answers by the weighted sum of their scores in soft vector spaces."""

    def __init__(self, spaces: Sequence[SoftSpace], weights: Sequence[float], notes: tuple[str, ...] = ()) -> None:
        self._spaces, self._weights, self.notes = spaces, weights, notes

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the k best answers with a score above 0; of equal scores the smaller id comes first."""
        ids = self._spaces[0].ids
        scores = np.zeros(len(ids))
        for space, weight in zip(self._spaces, self._weights, strict=True):
            scores += weight * (space.answers @ space.expanded(query))
        rows = np.flatnonzero(scores > 0)
        order = rows[np.argsort(-scores[rows], kind="stable")][: max(k, 0)]
        return Ranking(ids[order], scores[order])

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the score of an answer token by token."""
        parts: list[Explanation] = []
        for space, weight in zip(self._spaces, self._weights, strict=True):
            vector = space.expanded(query)
            for place in np.flatnonzero(space.ids == id):
                row = space.answers[int(place)]
                parts += [
                    Explanation(float(weight * value * vector[code]), space.vocabulary.tokens[code])
                    for code, value in zip(row.indices, row.data, strict=True)
                    if vector[code]
                ]
        if not parts:
            return super().explain(query, id)
        parts.sort(key=lambda part: -part.value)
        return Explanation.total("tokens of the answer similar to the query", parts)


def joint_search(
    context: SystemContext, positional: bool = False, *, weights: SoftWeights, training: SoftTraining
) -> Retriever:
    """Make the search in one space of text and LaTeX."""
    options = SpaceOptions("text+latex", weights, positional, training)
    return SoftSearch((SoftSpace(context, options),), (1.0,), (options.note,))


def interpolated_search(
    context: SystemContext, positional: bool = True, beta: float = 0.5, *, weights: SoftWeights, training: SoftTraining
) -> Retriever:
    """Make the search in two spaces: `beta` weighs text, the rest the tuples of Tangent-L."""
    check_share("beta", beta)
    options = SpaceOptions("text", weights, positional, training)
    tuples = replace(options, representation="tangentl", training=replace(training, tokenizer=""))
    return SoftSearch((SoftSpace(context, options), SoftSpace(context, tuples)), (beta, 1 - beta), (options.note,))


def contextual_search(
    context: SystemContext,
    token_encoder: str,
    representation: Literal["text", "text+latex"] = "text+latex",
    layer: int = 10,
    *,
    weights: SoftWeights,
    lines: int = 0,
) -> Retriever:
    """Make the search in one space whose tokens and token vectors are those of a transformer. `lines` limits the
    training lines that are read for vectors; 0 reads all."""
    chosen = chosen_model(token_encoder, context.models)
    encoder = TokenEncoder(chosen.directory, layer, fitting_length(chosen.directory, LENGTH))
    source = f"{chosen.directory.digest} {encoder.layer} {lines}"
    options = SpaceOptions(representation, weights, source=source, lines=lines)
    made = SoftSearch((SoftSpace(context, options, encoder),), (1.0,))
    made.models = (chosen.use(f"token vectors of layer {encoder.layer}"),)
    return made
