"""What SCM prepares for a collection: tokens, vocabulary, token similarities, and the vectors of answers. All of it is
kept beside the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from porism.models.tokens import TokenEncoder
from porism.records import Topic
from porism.systems.declared.context import SystemContext
from porism.systems.lexical.documents import batched
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
