"""Byte-pair tokens of text and LaTeX, trained on the collection; or the merges of a directory, as those of roberta-base.

Needs the package `tokenizers` (extra `systems`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from porism.errors import PorismError
from porism.systems.scm.lines import CLOSE, OPEN, Line

TEXT_SIZE, LATEX_SIZE = 50_265, 50_000  # tokens: of roberta-base, and of the paper for LaTeX
LEAST_COUNT = 2  # of a pair that is merged
TEXT_FILE, LATEX_FILE, MODEL_FILE = "text.json", "latex.json", "model.json"


def _library() -> Any:
    """Import `tokenizers`, without threads, whose order could differ."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import tokenizers
    except ImportError:
        raise PorismError("needs the package tokenizers", fix='pip install "porism[systems]"') from None
    return tokenizers


def train_text(texts: Iterable[str], path: Path) -> None:
    """Train byte-pair tokens of text, upper and lower case kept, and write them."""
    library = _library()
    model = _byte_level(library, library.models.BPE())
    trainer = library.trainers.BpeTrainer(
        vocab_size=TEXT_SIZE,
        min_frequency=LEAST_COUNT,
        show_progress=False,
        initial_alphabet=sorted(library.pre_tokenizers.ByteLevel.alphabet()),
    )
    model.train_from_iterator(texts, trainer)
    model.save(str(path))


def train_latex(formulas: Iterable[str], path: Path) -> None:
    """Train byte-pair tokens of LaTeX, which is split at blanks first, and write them."""
    library = _library()
    model = library.Tokenizer(library.models.BPE(unk_token="[UNK]"))
    model.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    trainer = library.trainers.BpeTrainer(
        vocab_size=LATEX_SIZE, min_frequency=LEAST_COUNT, show_progress=False, special_tokens=["[UNK]"]
    )
    model.train_from_iterator(formulas, trainer)
    model.save(str(path))


def read_merges(folder: Path, path: Path) -> None:
    """Write the tokens of a model directory (vocab.json, merges.txt) in the form in which trained ones are kept."""
    library = _library()
    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    for file in (vocabulary, merges):
        if not file.is_file():
            raise PorismError(f"{file.name} is missing", where=str(folder), fix="name a directory of roberta-base")
    _byte_level(library, library.models.BPE.from_file(str(vocabulary), str(merges))).save(str(path))


def _byte_level(library: Any, model: Any) -> Any:
    tokenizer = library.Tokenizer(model)
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=True)
    return tokenizer


class LineTokens(Protocol):
    """Cuts lines into tokens."""

    def tokens(self, line: Line) -> list[str]:
        """Return the tokens of a line."""
        ...


class BytePairs:
    """Cuts lines into tokens."""

    def __init__(self, folder: Path) -> None:
        library = _library()
        self._text = library.Tokenizer.from_file(str(folder / TEXT_FILE))
        latex = folder / LATEX_FILE
        self._latex = library.Tokenizer.from_file(str(latex)) if latex.is_file() else None

    def tokens(self, line: Line) -> list[str]:
        """Return the tokens of a line; formulas are between marks, but for the end of a line that ends with one."""
        found: list[str] = []
        for place, piece in enumerate(line.pieces):
            if not piece.is_math or self._latex is None:
                found += self._text.encode(piece.text).tokens
                continue
            found += (OPEN, *self._latex.encode(piece.text).tokens)
            if place + 1 < len(line.pieces):
                found.append(CLOSE)
        return found


def line_text(line: Line) -> str:
    """Return a line as the text that a transformer reads, formulas between marks."""
    return " ".join(f"{OPEN} {piece.text} {CLOSE}" if piece.is_math else piece.text for piece in line.pieces)


class ModelTokens:
    """Cuts lines into the tokens of a transformer."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = _library().Tokenizer.from_file(str(folder / MODEL_FILE))

    def tokens(self, line: Line) -> list[str]:
        """Return the tokens of a line, without those that the model adds."""
        return list(self._tokenizer.encode(line_text(line), add_special_tokens=False).tokens)


class Tuples:
    """Tokens of lines whose pieces are tokens already."""

    def tokens(self, line: Line) -> list[str]:
        """Return the pieces."""
        return [piece.text for piece in line.pieces]


def texts_of(lines: Iterable[Line], is_math: bool, shortest: int = 0) -> Iterator[str]:
    """Yield the pieces of one kind with at least `shortest` characters."""
    for line in lines:
        for piece in line.pieces:
            if piece.is_math == is_math and len(piece.text) >= shortest:
                yield piece.text
