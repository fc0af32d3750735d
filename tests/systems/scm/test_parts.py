"""What SCM is made of: lines, byte pairs, vocabulary, token similarities, vectors."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from porism.errors import PorismError
from porism.systems.scm.embeddings import CbowOptions, TokenLines, train_vectors
from porism.systems.scm.similarity import MOST, Neighbours, by_cosine, by_edit_distance, similarity_matrix
from porism.systems.scm.tokens import (
    BytePairs,
    LinePiece,
    LineVocabulary,
    line_of,
    paragraphs,
    read_merges,
    texts_of,
    train_latex,
    train_text,
)
from porism.text.read import read_official

pytest.importorskip("tokenizers", reason='pip install "porism[systems]"')


def ignore(number: int) -> None:
    """Receive progress."""


def edits(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for place, a in enumerate(left, 1):
        before, row = row, [place]
        for at, b in enumerate(right, 1):
            row.append(min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (a != b)))
    return row[-1]


def test_only_paragraphs_are_lines_and_neighbouring_formulas_are_one_piece() -> None:
    span = '<span class="math-container" id="{}">{}</span>'
    html = f"<p>Let {span.format(1, 'x')} {span.format(2, 'y')} be</p><ul><li>outside</li></ul><p>end {span.format(3, 'z')}</p>"
    text = read_official(html)
    lines = [line_of(segments, True) for segments in paragraphs(text)]
    assert lines[0] == [LinePiece("Let", False), LinePiece("x y", True), LinePiece("be", False)]
    assert lines[1] == [LinePiece("end", False), LinePiece("z", True)]
    assert [line_of(segments, False) for segments in paragraphs(text)][1] == [LinePiece("end", False)]


def test_byte_pairs_of_text_and_latex(tmp_path: Path) -> None:
    lines = [(LinePiece("the ring of the ring", False), LinePiece("\\frac a + \\frac b", True))] * 5
    for name in ("text.json", "again.json"):
        train_text(texts_of(lines, False), tmp_path / name)
    assert (tmp_path / "text.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    train_latex(texts_of(lines, True), tmp_path / "latex.json")
    found = BytePairs(tmp_path).tokens((LinePiece("ring", False), LinePiece("\\frac b", True), LinePiece("the", False)))
    assert found == ["Ġring", "[MATH]", "\\frac", "b", "[/MATH]", "Ġthe"]
    assert BytePairs(tmp_path).tokens([LinePiece("b", True)]) == ["[MATH]", "b"]


def test_merges_of_a_directory(tmp_path: Path) -> None:
    with pytest.raises(PorismError, match=r"vocab\.json is missing"):
        read_merges(tmp_path, tmp_path / "text.json")
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\nĠ ab\n")
    read_merges(tmp_path, tmp_path / "text.json")
    assert BytePairs(tmp_path).tokens([LinePiece("abab", False)]) == ["Ġab", "ab"]


def test_vocabulary_and_weights(tmp_path: Path) -> None:
    lines = [["a", "b", "a"], ["a", "c"], ["b", "d"], ["e"], ["a", "e"], ["f"]]
    vocabulary = LineVocabulary.of(lines)
    assert vocabulary.tokens == ("a", "b", "e")
    assert (vocabulary.lines, vocabulary.mean_length) == (6, 11 / 6)
    counts = vocabulary.counts(["a", "a", "b", "c"])
    assert counts == {0: 2, 1: 1}
    penalty = 1.5 * (0.25 + 0.75 * 3 / (11 / 6))
    assert vocabulary.weights(counts)[0] == pytest.approx(np.log(7 / 3.5) * 2 / (2 + penalty))
    vocabulary.save(tmp_path)
    assert LineVocabulary.open(tmp_path) == vocabulary


def test_neighbours_by_edit_distance_equal_those_of_the_plain_algorithm() -> None:
    source = random.Random(1)
    words = sorted({"".join(source.choice("abcd") for _ in range(source.randint(1, 7))) for _ in range(200)})
    found = by_edit_distance(words, ignore)
    for row, word in enumerate(words):
        near = [(edits(word, other), max(len(word), len(other))) for other in words if other != word]
        values = sorted((1.8 * (1 - d / longer) ** 5 for d, longer in near if d <= 3 and d < longer), reverse=True)
        assert found.similarities[row][found.tokens[row] >= 0].tolist() == pytest.approx(values[:MOST])


def test_neighbours_by_cosine() -> None:
    vectors = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], np.float32)
    found = by_cosine(vectors, np.array([4, 0, 2, 1], np.int32), 5, 1, ignore)
    assert found.tokens[4, :2].tolist() == [0, 1]
    assert found.similarities[4, 0] == pytest.approx(0.25)
    assert (found.tokens[3] == -1).all()


def test_the_matrix_is_symmetric_sparse_and_dominant() -> None:
    source = np.random.default_rng(3)
    vectors = source.normal(size=(300, 4)).astype(np.float32)
    near = by_cosine(vectors, np.arange(300, dtype=np.int32), 300, 1, ignore)
    idf = source.random(300)
    free, dominant = (similarity_matrix(near, idf, flag).toarray() for flag in (False, True))
    for matrix in (free, dominant):
        assert (matrix == matrix.T).all()
        assert (np.diag(matrix) == 1).all()
        assert (np.count_nonzero(matrix, axis=1) <= MOST + 1).all()
    assert (dominant.sum(axis=1) < 2).all()
    assert (free.sum(axis=1) > 2).any()


def test_rows_of_rare_tokens_are_filled_first() -> None:
    tokens = np.full((3, MOST), -1, np.int32)
    values = np.zeros((3, MOST), np.float32)
    tokens[0, :2], values[0, :2] = (1, 2), (0.7, 0.7)
    matrix = similarity_matrix(Neighbours(tokens, values), np.array([3.0, 1.0, 2.0]), True).toarray()
    assert (matrix[0, 1], matrix[0, 2]) == (0, pytest.approx(0.7))


def corpus() -> list[list[str]]:
    """Sentences in which two groups of words occur in the same contexts."""
    source = random.Random(5)
    groups = {"cat": ("milk", "purrs", "fur"), "dog": ("milk", "barks", "fur"), "sum": ("series", "limit", "terms"), "product": ("series", "limit", "terms")}  # fmt: skip
    return [[source.choice(groups[word]), word, source.choice(groups[word])] for word in groups for _ in range(300)]


def cosine(vectors: dict[str, np.ndarray], left: str, right: str) -> float:
    a, b = vectors[left], vectors[right]
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("positional", [0, 6])
def test_vectors_of_words_in_the_same_contexts_are_similar(positional: int) -> None:
    pytest.importorskip("gensim")
    options = CbowOptions(dimensions=20, window=3, sample=1.0, epochs=8, positional=positional)
    first, again = (train_vectors(TokenLines(lambda: iter(corpus())), options, ignore) for _ in range(2))
    assert (first.vectors == again.vectors).all()
    vectors = dict(zip(first.tokens, first.vectors, strict=True))
    assert cosine(vectors, "sum", "product") > cosine(vectors, "sum", "cat")


def test_positions_change_the_vectors() -> None:
    lines = TokenLines(lambda: iter(corpus()))
    plain, weighted = (
        CbowOptions(dimensions=20, window=3, sample=1.0, epochs=2, positional=number) for number in (1, 20)
    )
    assert not np.allclose(train_vectors(lines, plain, ignore).vectors, train_vectors(lines, weighted, ignore).vectors)


def test_too_few_words_have_no_vectors() -> None:
    assert train_vectors(TokenLines(lambda: iter([["a"]])), CbowOptions(), ignore).tokens == []


def test_vectors_do_not_depend_on_the_hash_seed() -> None:
    pytest.importorskip("gensim")
    code = (
        "import hashlib; from porism.systems.scm.embeddings import *; lines = [['a', 'b', 'c', 'd']] * 50;"
        "made = [train_vectors(TokenLines(lambda: iter(lines)), CbowOptions(dimensions=8, epochs=2, sample=1.0, positional=p), lambda n: None)"
        " for p in (0, 4)]; print(*(hashlib.sha256(one.vectors.tobytes()).hexdigest() for one in made), made[0].tokens)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_an_empty_vocabulary_has_an_empty_matrix() -> None:
    vocabulary = LineVocabulary.of([])
    matrix = similarity_matrix(by_edit_distance(vocabulary.tokens, ignore), vocabulary.idf, False)
    assert matrix.shape == (0, 0)
    nothing = by_cosine(np.zeros((0, 4), np.float32), np.zeros(0, np.int32), 0, 1, ignore)
    assert similarity_matrix(nothing, vocabulary.idf, True).shape == (0, 0)
