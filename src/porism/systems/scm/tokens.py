"""Posts and topics as lines of tokens: words and formulas, byte pairs, and the vocabulary."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from porism.corpus.content import Content, batched
from porism.errors import PorismError
from porism.records import Topic
from porism.systems.arrays import Floats
from porism.systems.documents import AT_ONCE
from porism.systems.mathdowers.queries import placed_formulas
from porism.systems.mathdowers.retriever import FormulaTokens
from porism.systems.mathdowers.tuples import TANGENT_L_2021, math_tokens
from porism.systems.topic_queries import topic_text
from porism.text.segment import Segment, Text

Representation = Literal["text", "text+latex", "tangentl"]
OPEN, CLOSE = "[MATH]", "[/MATH]"
# Paragraphs with fewer characters are not used for training; formulas of any length are.
SHORTEST: dict[str, int] = {"text": 100, "text+latex": 250, "tangentl": 0}
_PARAGRAPH = re.compile(r"<(/?)p[\s>]")
_SPACE = re.compile(r"\s+")


class LinePiece(NamedTuple):
    """A piece of a line: text or LaTeX."""

    text: str
    is_math: bool


Line = Sequence[LinePiece]  # pieces of text and LaTeX in order, or tokens that need no tokenizer


def paragraphs(text: Text, whole: bool = False) -> Iterator[list[Segment]]:
    """Yield the segments of each paragraph, without text outside of paragraphs, unless `whole` (a title is one)."""
    inside: list[Segment] | None = [] if whole else None
    for segment in text.segments:
        edge = _PARAGRAPH.match(segment.text) if segment.kind == "tag" and not whole else None
        if edge is not None:
            if inside:
                yield inside
            inside = None if edge[1] else []
        elif inside is not None:
            inside.append(segment)
    if inside:
        yield inside


def line_of(segments: list[Segment], with_latex: bool) -> Line:
    """Return a paragraph as a line; without LaTeX a formula is a blank. Neighbouring formulas become one piece."""
    pieces: list[LinePiece] = []
    for is_math, group in groupby(
        (one for one in segments if one.kind != "tag"), lambda one: with_latex and one.is_formula
    ):
        joined = (" " if is_math else "").join(" " if one.is_formula and not is_math else one.text for one in group)
        text = _SPACE.sub(" ", joined).strip()
        if text and is_math and pieces and pieces[-1].is_math:  # nothing but a blank was between
            pieces[-1] = LinePiece(f"{pieces[-1].text} {text}", True)
        elif text:
            pieces.append(LinePiece(text, is_math))
    return pieces


class PostLines:
    """Lines of the posts of a collection and of topics in one representation."""

    def __init__(self, content: Content, representation: Representation) -> None:
        self._content, self._representation = content, representation
        self._tuples = FormulaTokens(content, TANGENT_L_2021) if representation == "tangentl" else None

    def of_texts(self, texts: Sequence[Text], whole: bool = False) -> Iterator[list[Line]]:
        """Yield the lines of each of some fields of the collection, which are read together."""
        if self._tuples is None:
            for text in texts:
                yield [line_of(one, self._representation == "text+latex") for one in paragraphs(text, whole)]
            return
        tokens = self._tuples.of_texts(texts)
        for text in texts:
            formulas = (one for segments in paragraphs(text, whole) for one in segments if one.is_formula)
            yield [_tuple_line(tokens[one.expression_id]) for one in formulas]

    def of_topic(self, topic: Topic, field: Literal["title", "question"]) -> Iterator[Line]:
        """Yield the lines of a field of a topic; a question without paragraphs is one."""
        text = topic_text(topic, field)
        if self._tuples is not None:
            for formula in placed_formulas(topic, field):
                yield _tuple_line(math_tokens(formula.mathml, TANGENT_L_2021))
            return
        whole = field == "title" or not any(paragraphs(text))
        for segments in paragraphs(text, whole):
            yield line_of(segments, self._representation == "text+latex")

    def training(self) -> Iterator[Line]:
        """Yield the lines of all bodies that are long enough for training; if none is, all lines."""
        found = False
        for line in self._bodies():
            marks = (len(OPEN) + len(CLOSE) + 2) * sum(piece.is_math for piece in line)
            if sum(len(piece.text) for piece in line) + marks >= SHORTEST[self._representation]:
                found = True
                yield line
        if not found:
            yield from self._bodies()

    def _bodies(self) -> Iterator[Line]:
        for posts in batched(self._content.posts(), AT_ONCE):
            for lines in self.of_texts([post.body for post in posts]):
                yield from filter(None, lines)


def _tuple_line(tokens: list[str]) -> Line:
    return [LinePiece(token.strip("#"), True) for token in tokens if token[:1] == "#"]


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
    alphabet = sorted(library.pre_tokenizers.ByteLevel.alphabet())
    trainer = library.trainers.BpeTrainer(
        vocab_size=TEXT_SIZE, min_frequency=LEAST_COUNT, show_progress=False, initial_alphabet=alphabet
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


class BytePairs:
    """Cuts lines into byte pairs of text and of LaTeX."""

    def __init__(self, folder: Path) -> None:
        library = _library()
        self._text = library.Tokenizer.from_file(str(folder / TEXT_FILE))
        latex = folder / LATEX_FILE
        self._latex = library.Tokenizer.from_file(str(latex)) if latex.is_file() else None

    def tokens(self, line: Line) -> list[str]:
        """Return the tokens of a line; formulas are between marks, but for the end of a line that ends with one."""
        found: list[str] = []
        for place, piece in enumerate(line):
            if not piece.is_math or self._latex is None:
                found += self._text.encode(piece.text).tokens
                continue
            found += (OPEN, *self._latex.encode(piece.text).tokens)
            if place + 1 < len(line):
                found.append(CLOSE)
        return found


def line_text(line: Line) -> str:
    """Return a line as the text that a transformer reads, formulas between marks."""
    return " ".join(f"{OPEN} {piece.text} {CLOSE}" if piece.is_math else piece.text for piece in line)


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
        return [piece.text for piece in line]


LineTokens = BytePairs | ModelTokens | Tuples


def texts_of(lines: Iterable[Line], is_math: bool, shortest: int = 0) -> Iterator[str]:
    """Return the pieces of one kind with at least `shortest` characters."""
    pieces = (piece for line in lines for piece in line)
    return (piece.text for piece in pieces if piece.is_math == is_math and len(piece.text) >= shortest)


LARGEST = 100_000
LEAST_LINES, LARGEST_SHARE = 2, 0.5
K1, B = 1.5, 0.75
_FILE = "vocabulary.json"


@dataclass(frozen=True)
class LineVocabulary:
    """Tokens by code, the number of training lines of each, and the number and mean length of all lines."""

    tokens: tuple[str, ...]
    frequencies: tuple[int, ...]
    lines: int
    mean_length: float

    @classmethod
    def of(cls, lines: Iterable[Sequence[str]]) -> LineVocabulary:
        """Count lines: tokens in two lines and at most half of all, the most frequent first."""
        frequencies: Counter[str] = Counter()
        number = length = 0
        for tokens in lines:
            number += 1
            length += len(tokens)
            frequencies.update(dict.fromkeys(tokens, 1))
        kept = (token for token, count in frequencies.items() if LEAST_LINES <= count <= LARGEST_SHARE * number)
        first = sorted(kept, key=lambda token: (-frequencies[token], token))[:LARGEST]
        return cls(tuple(first), tuple(frequencies[token] for token in first), number, length / max(number, 1))

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each token."""
        return {token: code for code, token in enumerate(self.tokens)}

    @cached_property
    def idf(self) -> Floats:
        """The idf of each token."""
        return np.log((self.lines + 1) / (np.array(self.frequencies, np.float64) + 0.5))

    def counts(self, tokens: Iterable[str]) -> dict[int, int]:
        """Return how often each code of the vocabulary occurs."""
        return Counter(self.codes[token] for token in tokens if token in self.codes)

    def weights(self, counts: dict[int, int]) -> dict[int, float]:
        """Return the BM25 weights of an answer from its counts; its length is that of its tokens in the vocabulary."""
        length = sum(counts.values())
        penalty = K1 * (1 - B + B * length / (self.mean_length or 1.0))
        return {code: float(self.idf[code]) * count / (count + penalty) for code, count in counts.items()}

    def save(self, folder: Path) -> None:
        """Write the vocabulary."""
        (folder / _FILE).write_text(json.dumps(asdict(self), ensure_ascii=False), "utf-8")

    @classmethod
    def open(cls, folder: Path) -> LineVocabulary:
        """Read a vocabulary."""
        record = json.loads((folder / _FILE).read_text("utf-8"))
        return cls(tuple(record["tokens"]), tuple(record["frequencies"]), record["lines"], record["mean_length"])
