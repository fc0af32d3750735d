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
import numpy.typing as npt
from scipy import sparse

from porism.errors import PorismError
from porism.models.tokens import TokenEncoder
from porism.records import Explanation, Topic
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.documents import batched
from porism.systems.encoded import fitting_length
from porism.systems.named_models import ModelUse, chosen_model
from porism.systems.scm.embeddings import CbowOptions, TokenLines, TokenVectors, train_vectors
from porism.systems.scm.similarity import by_cosine, by_edit_distance, similarity_matrix
from porism.systems.scm.tokens import (
    LATEX_FILE,
    MODEL_FILE,
    TEXT_FILE,
    BytePairs,
    Line,
    LineTokens,
    ModelTokens,
    PostLines,
    Representation,
    Tuples,
    Vocabulary,
    line_text,
    read_merges,
    texts_of,
    train_latex,
    train_text,
)
from porism.systems.topic_queries import topic_of
from porism.text.segment import Text

CODE = ("porism.systems.scm", "porism.systems.mathdowers")
EPOCHS: dict[str, int] = {"text": 2, "text+latex": 1, "tangentl": 2}
SHORTEST_FORMULA = 20  # characters of LaTeX from which tokens are learned
POSITIONAL_DIMENSIONS, POSITIONAL_WINDOW = 60, 15
_LINES, _EDITS, _COSINES, _ANSWERS, _IDS = "lines.txt", "edits.npz", "cosines.npz", "answers.npz", "ids.npy"
_BLOCK = 512  # answers whose lengths are computed at once


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a model is made of. `alpha` is the weight of edit distances against vectors, `gamma` the weight of titles.
    `source` names the transformer whose tokens and token vectors are used, if any; `lines` limits the lines that it
    reads."""

    representation: Representation
    positional: bool = False
    alpha: float = 0.1
    gamma: int = 5
    epochs: int = 0
    tokenizer: str = ""
    source: str = ""
    lines: int = 0


@dataclass(frozen=True)
class SoftModel:
    """A prepared model: answers as rows of BM25 weights whose length the similarities leave as it is, and the
    similarity matrix."""

    lines: PostLines
    tokenizer: LineTokens
    vocabulary: Vocabulary
    similarity: sparse.csr_matrix
    answers: sparse.csr_matrix
    ids: npt.NDArray[np.int64]
    gamma: int


def open_model(context: SystemContext, options: ModelOptions, encoder: TokenEncoder | None = None) -> SoftModel:
    """Open a model, prepared now or before. `encoder` is the transformer that `options.source` names."""
    kind, source = options.representation, options.source
    build_tokens = partial(_build_tokens, context, options, encoder)
    tokens = context.cached(f"scm-tokens-{kind}", [options.tokenizer, source], build_tokens, CODE)
    key = [options.tokenizer, options.positional, options.epochs, source]
    build_vectors = partial(_build_vectors, context, options, tokens, encoder)
    vectors = context.cached(f"scm-vectors-{kind}", key, build_vectors, CODE)
    answers = context.cached(
        f"scm-answers-{kind}", asdict(options), partial(_build_answers, context, options, tokens, vectors), CODE
    )
    return SoftModel(
        PostLines(context.content, kind),
        _tokenizer(options, tokens),
        Vocabulary.open(tokens),
        _combined(tokens, vectors, options.alpha),
        sparse.load_npz(answers / _ANSWERS),
        np.load(answers / _IDS),
        options.gamma,
    )


def _tokenizer(options: ModelOptions, folder: Path) -> LineTokens:
    if options.source:
        return ModelTokens(folder)
    return Tuples() if options.representation == "tangentl" else BytePairs(folder)


def _combined(tokens: Path, vectors: Path, alpha: float) -> sparse.csr_matrix:
    edits, cosines = sparse.load_npz(tokens / _EDITS), sparse.load_npz(vectors / _COSINES)
    return (alpha * edits + (1 - alpha) * cosines).tocsr()


def _build_tokens(context: SystemContext, options: ModelOptions, encoder: TokenEncoder | None, folder: Path) -> None:
    lines = PostLines(context.content, options.representation)
    progress = context.progress
    if encoder is not None:
        encoder.save_tokenizer(folder / MODEL_FILE)
    elif options.representation != "tangentl":
        with progress.stage(f"SCM: byte pairs of {options.representation}"):
            _write_byte_pairs(lines, options, folder)
    tokenizer = _tokenizer(options, folder)
    with (
        progress.stage("SCM: training lines") as advance,
        open(folder / _LINES, "w", encoding="utf-8", newline="\n") as out,
    ):
        for line in lines.training():
            out.write(" ".join(tokenizer.tokens(line)) + "\n")
            advance(1)
    vocabulary = Vocabulary.of(_read_lines(folder / _LINES))
    vocabulary.save(folder)
    with progress.stage("SCM: edit distances", len(vocabulary.tokens)) as advance:
        near = by_edit_distance(vocabulary.tokens, advance)
    sparse.save_npz(folder / _EDITS, similarity_matrix(near, vocabulary.idf, dominant=False))


def _write_byte_pairs(lines: PostLines, options: ModelOptions, folder: Path) -> None:
    if options.tokenizer:
        read_merges(Path(options.tokenizer), folder / TEXT_FILE)
    else:
        train_text(texts_of(lines.training(), False), folder / TEXT_FILE)
    if options.representation == "text+latex":
        train_latex(texts_of(lines.training(), True, SHORTEST_FORMULA), folder / LATEX_FILE)


def _read_lines(path: Path) -> Iterator[Sequence[str]]:
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.split()


def _build_vectors(
    context: SystemContext, options: ModelOptions, tokens: Path, encoder: TokenEncoder | None, folder: Path
) -> None:
    vocabulary = Vocabulary.open(tokens)
    trained = _encoded(context, options, encoder) if encoder else _trained(context, options, tokens, vocabulary)
    kept, rows = _in_vocabulary(trained, vocabulary)
    with context.progress.stage("SCM: similar vectors", len(rows)) as advance:
        near = by_cosine(kept, rows, len(vocabulary.tokens), CbowOptions().seed, advance)
    sparse.save_npz(folder / _COSINES, similarity_matrix(near, vocabulary.idf, dominant=True))


def _encoded(context: SystemContext, options: ModelOptions, encoder: TokenEncoder) -> TokenVectors:
    """Return token vectors of a transformer, averaged over the training lines."""
    training = PostLines(context.content, options.representation).training()
    chosen = islice(training, options.lines) if options.lines else training
    with context.progress.stage(f"SCM: vectors of {options.representation} by layer {encoder.layer}") as advance:
        return TokenVectors(*encoder.mean_vectors((line_text(line) for line in chosen), advance))


def _trained(context: SystemContext, options: ModelOptions, tokens: Path, vocabulary: Vocabulary) -> TokenVectors:
    """Return word vectors trained on the lines of the collection."""
    epochs = options.epochs or EPOCHS[options.representation]
    training = CbowOptions(epochs=epochs)
    if options.positional:
        training = CbowOptions(epochs=epochs, window=POSITIONAL_WINDOW, positional=POSITIONAL_DIMENSIONS)
    lines = TokenLines(partial(_read_lines, tokens / _LINES))
    with context.progress.stage(f"SCM: vectors of {options.representation}", vocabulary.lines * epochs) as advance:
        return train_vectors(lines, training, advance)


def _in_vocabulary(
    trained: TokenVectors, vocabulary: Vocabulary
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """Return the vectors of tokens in the vocabulary, and their codes."""
    places = [place for place, token in enumerate(trained.tokens) if token in vocabulary.codes]
    rows = np.array([vocabulary.codes[trained.tokens[place]] for place in places], np.int32)
    return trained.vectors[places], rows


def _build_answers(context: SystemContext, options: ModelOptions, tokens: Path, vectors: Path, folder: Path) -> None:
    content, vocabulary = context.content, Vocabulary.open(tokens)
    lines, tokenizer = PostLines(content, options.representation), _tokenizer(options, tokens)
    ids: list[int] = []
    entries: list[dict[int, float]] = []
    with context.progress.stage(f"SCM: answers as {options.representation}") as advance:
        for answers in batched(content.posts("answer")):
            found = content.titles_by_id([answer.thread_id for answer in answers])
            titles = lines.of_texts([found.get(answer.thread_id, Text("")) for answer in answers], whole=True)
            bodies = lines.of_texts([answer.body for answer in answers])
            for answer, title, body in zip(answers, titles, bodies, strict=True):
                counts = vocabulary.counts(_tokens_of(body, tokenizer))
                for code, count in vocabulary.counts(_tokens_of(title, tokenizer)).items():
                    counts[code] = counts.get(code, 0) + options.gamma * count
                ids.append(answer.id)
                entries.append(vocabulary.weights(counts))
                advance(1)
    matrix = _rows(entries, len(vocabulary.tokens))
    sparse.save_npz(folder / _ANSWERS, _length_kept(matrix, _combined(tokens, vectors, options.alpha)))
    np.save(folder / _IDS, np.array(ids, np.int64))


def _tokens_of(lines: Iterable[Line], tokenizer: LineTokens) -> list[str]:
    return [token for line in lines for token in tokenizer.tokens(line)]


def query_counts(model: SoftModel, topic: Topic) -> dict[int, int]:
    """Return the counts of a topic's tokens; those of the title count `gamma` times."""
    counts = model.vocabulary.counts(_tokens_of(model.lines.of_topic(topic, "question"), model.tokenizer))
    for code, count in model.vocabulary.counts(
        _tokens_of(model.lines.of_topic(topic, "title"), model.tokenizer)
    ).items():
        counts[code] = counts.get(code, 0) + model.gamma * count
    return counts


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


Floats = npt.NDArray[np.float64]


class SoftSearch(Retriever):
    """Ranks answers by the weighted sum of their scores in soft vector spaces."""

    def __init__(
        self,
        spaces: tuple[SoftModel, ...],
        weights: tuple[float, ...],
        notes: tuple[str, ...],
        models: tuple[ModelUse, ...] = (),
    ) -> None:
        self._spaces = spaces
        self._weights = weights
        self.notes = notes
        self.models = models

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the k best answers with a score above 0; of equal scores the smaller id comes first."""
        scores = np.zeros(len(self._spaces[0].ids))
        for model, weight in zip(self._spaces, self._weights, strict=True):
            scores += weight * (model.answers @ expanded(model, query))
        rows = np.flatnonzero(scores > 0)
        order = rows[np.argsort(-scores[rows], kind="stable")][: max(k, 0)]
        return Ranking(self._spaces[0].ids[order], scores[order])

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the score of an answer token by token."""
        places = np.flatnonzero(self._spaces[0].ids == id)
        parts: list[Explanation] = []
        for model, weight in zip(self._spaces, self._weights, strict=True):
            vector = expanded(model, query)
            for place in places:
                row = model.answers[int(place)]
                parts += [
                    Explanation(float(weight * value * vector[code]), model.vocabulary.tokens[code])
                    for code, value in zip(row.indices, row.data, strict=True)
                    if vector[code]
                ]
        if not parts:
            return super().explain(query, id)
        parts.sort(key=lambda part: -part.value)
        return Explanation(sum(part.value for part in parts), "tokens of the answer similar to the query", tuple(parts))


def expanded(model: SoftModel, query: ReadQuery) -> Floats:
    """Return S q for the query's counts q, scaled by |q| / sqrt(q S q), which keeps the query's length."""
    found = query_counts(model, topic_of(query))
    codes = np.array(sorted(found), np.int64)
    counts = np.array([found[code] for code in codes.tolist()], np.float64)
    if not len(codes):
        return np.zeros(len(model.vocabulary.tokens))
    soft = np.asarray(
        model.similarity[codes].T @ counts
    )  # the matrix is symmetric, so the rows of the query's tokens are enough
    return np.asarray(soft * np.sqrt((counts @ counts) / (counts @ soft[codes])))


def joint_search(
    context: SystemContext,
    positional: bool = False,
    alpha: float = 0.1,
    gamma: int = 5,
    epochs: int = 0,
    tokenizer: str = "",
) -> Retriever:
    """Make the search in one space of text and LaTeX. `epochs` 0 is that of the original; `tokenizer` a directory of
    roberta-base."""
    options = checked_model_options(ModelOptions("text+latex", positional, alpha, gamma, epochs, tokenizer))
    return SoftSearch((open_model(context, options),), (1.0,), _notes(options))


def interpolated_search(
    context: SystemContext,
    positional: bool = True,
    alpha: float = 0.1,
    beta: float = 0.5,
    gamma: int = 5,
    epochs: int = 0,
    tokenizer: str = "",
) -> Retriever:
    """Make the search in two spaces: `beta` is the weight of the text's scores, the rest that of the Tangent-L tuples'
    scores."""
    if not 0 <= beta <= 1:
        raise PorismError(f"beta is {beta:g}", fix="write a number from 0 to 1")
    options = checked_model_options(ModelOptions("text", positional, alpha, gamma, epochs, tokenizer))
    tuples = replace(options, representation="tangentl", tokenizer="")
    return SoftSearch((open_model(context, options), open_model(context, tuples)), (beta, 1 - beta), _notes(options))


def checked_model_options(options: ModelOptions) -> ModelOptions:
    """Return options whose values are possible."""
    if not 0 <= options.alpha <= 1:
        raise PorismError(f"alpha is {options.alpha:g}", fix="write a number from 0 to 1")
    if options.gamma < 0 or options.epochs < 0:
        raise PorismError("gamma and epochs cannot be negative", fix="write a number from 0")
    return options


def _notes(options: ModelOptions) -> tuple[str, ...]:
    source = options.tokenizer or "trained on the collection"
    kind = "positional" if options.positional else "plain"
    return (f"byte pairs: {source}; {kind} word vectors trained on the collection",)


LENGTH = 512  # tokens of a line


def contextual_search(
    context: SystemContext,
    token_encoder: str,
    representation: Literal["text", "text+latex"] = "text+latex",
    layer: int = 10,
    alpha: float = 0.1,
    gamma: int = 5,
    lines: int = 0,
) -> Retriever:
    """Make the search in one space whose tokens and token vectors are those of a transformer. `lines` limits the
    training lines that are read for vectors; 0 reads all."""
    chosen = chosen_model(token_encoder, context.models)
    encoder = TokenEncoder(chosen.directory, layer, fitting_length(chosen.directory, LENGTH))
    source = f"{chosen.directory.digest} {encoder.layer} {lines}"
    options = checked_model_options(ModelOptions(representation, False, alpha, gamma, 0, "", source, lines))
    use = chosen.use(f"token vectors of layer {encoder.layer}")
    return SoftSearch((open_model(context, options, encoder),), (1.0,), (), (use,))
