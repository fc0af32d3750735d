"""Tangent-CFT2: embeddings of formulas trained on their tuples, and retrieval by them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from porism.errors import PorismError
from porism.evaluate.fusion import ScoredIds, score_rrf
from porism.formula import Parsed
from porism.formula.binary import Trees
from porism.progress import Progress
from porism.records import Explanation
from porism.search.retriever import DEPTH, Ranking
from porism.systems.arrays import Floats, Ints, Singles, Small
from porism.systems.declared.context import SystemContext
from porism.systems.dprl import tuples
from porism.systems.dprl.tuples import REPRESENTATIONS, Alphabet, Representation, WordRows, of_operators
from porism.systems.tangent.trees import CollectionTrees, TreeRetriever, one_tree, open_trees, reads_official, trees_of

_MIN_NGRAM, _MAX_NGRAM = 3, 6
SEED, MIN_COUNT, BUCKETS = 1, 5, 100_000
_ARRAYS = ("word_vectors", "rows", "ngram_vectors", "trees")


@dataclass(frozen=True)
class FastTextTraining:
    """How fastText is trained. The published settings are 300 dimensions, window 20, 30 negatives, hierarchical
    softmax, 10 epochs, all formulas."""

    dimensions: int = 100
    window: int = 5
    negative: int = 5
    hierarchical: bool = False
    epochs: int = 3
    formulas: int = 5000  # distinct formulas that are read, evenly spaced; 0 reads all


class FormulaVectors(NamedTuple):
    """A trained representation: words and n-grams with their vectors, and one unit vector for each distinct tree."""

    words: dict[str, int]
    word_vectors: Singles
    rows: Small  # of each bucket of n-grams in `ngram_vectors`, -1 for one that training did not see
    ngram_vectors: Singles
    alphabet: Alphabet
    trees: Singles


def fast_text() -> Any:
    """Return gensim's FastText, or say how to install it."""
    try:
        from gensim.models import FastText
    except ImportError:
        raise PorismError("TangentCFT needs gensim", fix="pip install 'porism[systems]'") from None
    return FastText


def write_vectors(
    trees: CollectionTrees, representation: Representation, training: FastTextTraining, progress: Progress, folder: Path
) -> None:
    """Train one representation and write it to a folder."""
    operators = of_operators(representation)
    found = trees.operators if operators else trees.layout
    forest, texts = tuples.represented(found.forest, found.labels.texts, representation)
    sentences = tuples.word_rows(forest, texts, operators)
    distinct, words = np.unique(sentences.rows, axis=0, return_inverse=True)
    alphabet = Alphabet()
    spelled = tuples.spell_words(distinct, texts, alphabet, operators)
    model = _train(_training_sentences(sentences, words.ravel(), spelled, training.formulas), training, progress)
    touched = np.unique(np.concatenate([np.empty(0, np.int64), *model.wv.buckets_word]))  # buckets that a word has
    rows = np.full(BUCKETS, -1, np.int32)
    rows[touched] = np.arange(len(touched))
    vectors = FormulaVectors(
        dict(model.wv.key_to_index),
        np.asarray(model.wv.vectors, np.float32),
        rows,
        np.asarray(model.wv.vectors_ngrams[touched], np.float32),
        alphabet,
        np.empty((0, training.dimensions), np.float32),
    )
    by_word = np.stack([_word_vector(word, vectors) for word in spelled]) if spelled else vectors.trees
    vectors = vectors._replace(trees=_tree_vectors(by_word, words.ravel(), sentences))
    folder.mkdir(exist_ok=True)
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(vectors, name))
    for name, known in (("words", vectors.words), ("alphabet", alphabet.symbols)):
        (folder / f"{name}.txt").write_bytes("\0".join(known).encode("utf-8", "surrogatepass"))


def _training_sentences(sentences: WordRows, words: Ints, spelled: list[str], limit: int) -> list[list[str]]:
    """Return the sentences that are read: all formulas, or evenly spaced ones."""
    count = len(sentences.starts) - 1
    chosen = np.arange(count) if not limit or count <= limit else np.linspace(0, count - 1, limit).astype(np.int64)
    spans = ((int(sentences.starts[at]), int(sentences.starts[at + 1])) for at in chosen)
    return [[spelled[word] for word in words[begin:end].tolist()] for begin, end in spans]


def _train(sentences: list[list[str]], training: FastTextTraining, progress: Progress) -> Any:
    """Train with one worker and a fixed seed, which gives the same vectors every time."""
    model = fast_text()(
        vector_size=training.dimensions, window=training.window, sg=1, hs=int(training.hierarchical),
        negative=training.negative, min_n=_MIN_NGRAM, max_n=_MAX_NGRAM, min_count=MIN_COUNT, bucket=BUCKETS,
        workers=1, seed=SEED,
    )  # fmt: skip
    counts = Counter(word for sentence in sentences for word in sentence)
    if max(counts.values(), default=0) < MIN_COUNT:  # a handful of formulas: keep every word
        model.min_count = 1
        counts = counts or Counter([chr(1)])
    model.build_vocab_from_freq(counts, corpus_count=len(sentences))
    with progress.stage("fastText", training.epochs) as advance:
        total = sum(counts.values())
        for epoch in range(training.epochs):
            rate = model.alpha - (model.alpha - model.min_alpha) * np.array((epoch, epoch + 1)) / training.epochs
            model.train(
                sentences, total_examples=len(sentences), total_words=total, epochs=1,
                start_alpha=float(rate[0]), end_alpha=float(rate[1]),
            )  # fmt: skip
            advance(1)
    return model


def _word_vector(word: str, vectors: FormulaVectors) -> Singles:
    """Return the vector of a word; zeros where nothing of it is known."""
    at = vectors.words.get(word)
    if at is not None:
        return np.asarray(vectors.word_vectors[at])
    from gensim.models.fasttext import ft_ngram_hashes

    rows = vectors.rows[ft_ngram_hashes(word, _MIN_NGRAM, _MAX_NGRAM, len(vectors.rows))]
    rows = rows[rows >= 0]
    if not len(rows):
        return np.zeros(vectors.word_vectors.shape[1], np.float32)
    return np.asarray(vectors.ngram_vectors[rows].mean(axis=0), np.float32)


def _tree_vectors(by_word: Singles, words: Ints, sentences: WordRows) -> Singles:
    """Return the mean vector of each tree's words, of length 1."""
    from scipy.sparse import csr_matrix

    shape = (len(sentences.starts) - 1, len(by_word))
    counts = csr_matrix((np.ones(len(words), np.float32), words, sentences.starts), shape)
    return _unit(np.asarray(counts @ by_word, np.float32))


def _unit(vectors: Singles) -> Singles:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


def read_vectors(folder: Path) -> FormulaVectors:
    """Open a representation that `write_vectors` wrote."""
    words_of, rows, ngrams, trees = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS)
    words, symbols = (
        (folder / f"{name}.txt").read_bytes().decode("utf-8", "surrogatepass").split("\0")
        for name in ("words", "alphabet")
    )
    known = {word: at for at, word in enumerate(words)}
    return FormulaVectors(known, words_of, rows, ngrams, Alphabet(symbols), trees)


def query_vector(query: Trees, representation: Representation, vectors: FormulaVectors) -> Singles:
    """Return the vector of a query formula, of length 1; zeros where nothing of it is known."""
    operators = of_operators(representation)
    root = query.operators if operators else query.layout
    texts = sorted({node.label for node in root.walk()})
    forest = one_tree(root, {text: at for at, text in enumerate(texts)})
    changed, labels = tuples.represented(forest, texts, representation)
    rows = tuples.word_rows(changed, labels, operators).rows
    words = tuples.spell_words(rows, labels, vectors.alphabet, operators)
    return _unit(np.sum([_word_vector(word, vectors) for word in words], axis=0))


_CODE = ("porism.systems.tangent", "porism.systems.dprl.tuples", "porism.systems.dprl.cft")


class VectorSearch:
    """The vectors of a collection's formulas in several representations, trained once and kept beside the index."""

    def __init__(self, context: SystemContext, names: tuple[Representation, ...], training: FastTextTraining) -> None:
        fast_text()
        read = f"{training.formulas:,}" if training.formulas else "all"
        self.note = (
            f"fastText trained on {read} formulas of the collection: {training.dimensions} dimensions, "
            f"window {training.window}, {training.negative} negatives, {training.epochs} epochs"
        )
        self.trees = open_trees(context)
        self.names = names
        self._vectors: dict[Representation, FormulaVectors] = {}
        for name in names:
            build = partial(write_vectors, self.trees, name, training, context.progress)
            folder = context.cached(f"tangent-cft-{name}", asdict(training), build, _CODE)
            self._vectors[name] = read_vectors(folder)

    def cosines(self, query: Trees, name: Representation) -> Floats:
        """Return the cosine of each formula, by its position, with the query."""
        vectors = self._vectors[name]
        found = self.trees.operators if of_operators(name) else self.trees.layout
        by_tree = vectors.trees @ query_vector(query, name, vectors)
        return np.asarray(by_tree[found.tree_of], np.float64)


class CftSearch(TreeRetriever):
    """Formulas by score-weighted reciprocal ranks, with the constant `k`, of `depth` hits of each representation. The
    other options are those of the training."""

    def __init__(
        self,
        context: SystemContext,
        representations: tuple[str, ...] = ("slt", "opt", "slt-type", "slt-unified"),
        k: float = 60.0,
        depth: int = DEPTH,
        *,
        training: FastTextTraining,
    ) -> None:
        unknown = [name for name in representations if name not in REPRESENTATIONS]
        if unknown:
            raise PorismError(f"no representation is named {unknown[0]}", fix=f"use {', '.join(REPRESENTATIONS)}")
        super().__init__(reads_official(context.content))
        names = tuple(name for name in REPRESENTATIONS if name in representations)
        self._search, self._k, self._depth = VectorSearch(context, names, training), k, depth
        self.notes = (self._search.note,)

    def ranked(self, formula: Parsed, k: int) -> Ranking:
        """Return the formulas that the representations find."""
        rankings = self._rankings(formula, max(k, self._depth))
        return Ranking.sorted(*score_rrf(rankings, [1.0] * len(rankings), self._k))

    def _rankings(self, formula: Parsed, depth: int) -> list[ScoredIds]:
        """Return one ranking for each representation."""
        rankings = []
        for name in self._search.names:
            cosines = self._search.cosines(trees_of(formula), name)
            best = np.argsort(-cosines, kind="stable")[:depth]
            rankings.append(ScoredIds(np.asarray(self._search.trees.visuals[best]), cosines[best]))
        return rankings

    def explained(self, formula: Parsed, id: int) -> Explanation | None:
        """Return what each representation adds to the score."""
        parts = []
        for name, ranking in zip(self._search.names, self._rankings(formula, self._depth), strict=True):
            rows = np.flatnonzero(ranking.ids == id)
            if len(rows):
                rank, cosine = int(rows[0]) + 1, float(ranking.scores[rows[0]])
                parts.append(Explanation(cosine / (self._k + rank), f"{name}: cosine {cosine:.3f}, rank {rank}"))
        return Explanation.total("score-weighted reciprocal ranks", parts)
