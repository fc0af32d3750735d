"""Compare an answer with its best reference: LO (lexical overlap) and CS (contextual similarity, BERTScore)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from porism.corpus.topics.formulas import split_formulas
from porism.errors import PorismError
from porism.models.directory import PACKAGED, ModelDirectory
from porism.models.libraries import library
from porism.models.loading import load_transformer

OPEN, CLOSE = " [MATH] ", " [/MATH] "
# An unescaped dollar sign, with the character before it: none, any but a backslash, or a double backslash.
DOLLAR = re.compile(r"(^|[^\\]|\\\\)\$")
WORD = re.compile(r"\[/?MATH\]|\\[A-Za-z]+|\\.|[^\W\d_]+|\d+|[^\w\s]|_")
MARKS_PER_FORMULA = 15  # the two marks have 17 characters, the two dollar signs that they replace 2
LONGEST_REFERENCE = 1200
LAYER = 10  # of the encoder, whose vectors are compared


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A function that splits text into tokens; `measure` names the resulting measure, LO, LO-local or LO-w.

    The lab's program drops the character before each dollar sign, so LO drops it too (`keep` is False), but not LO-w.
    """

    measure: str
    tokens: Callable[[str], Sequence[str]]
    keep: bool = True


def tokenize(text: str) -> list[str]:
    """Return our own tokens: lower-case words, numbers, LaTeX commands, single characters."""
    return [token if token.startswith(("\\", "[")) else token.lower() for token in WORD.findall(text)]


OWN = Tokenizer("LO-w", tokenize)


def local_tokenizer(directory: str | Path) -> Tokenizer:
    """Load the tokenizer of a local copy of witiko/mathberta (LO) or of another model (LO-local)."""
    name = str(directory)  # a path, or the name of an installed package that carries weights
    path = (ModelDirectory.open(directory).path if name in PACKAGED else Path(name)) / "tokenizer.json"
    if not path.is_file():
        fact = "has no tokenizer.json"
        raise PorismError(fact, where=str(directory), fix="give a local copy of the model witiko/mathberta")
    try:
        import tokenizers  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise PorismError("the package tokenizers is not installed", fix="pip install tokenizers") from None
    model = tokenizers.Tokenizer.from_file(str(path))

    def tokens(text: str) -> list[str]:
        return list(model.encode(f" {text.lstrip()}", add_special_tokens=False).tokens)

    return Tokenizer("LO" if is_mathberta(path.parent) else "LO-local", tokens, keep=False)


def is_mathberta(folder: Path) -> bool:
    """Return whether a folder is named as the lab's model, whose measures are called LO and CS."""
    return "mathberta" in folder.resolve().name.lower()


def answer_text(text: str, keep: bool = True) -> str | None:
    """Replace the dollar signs of an answer by marks around its formulas. Return None if their number is odd."""
    if len(DOLLAR.findall(text)) % 2:
        return None
    marks = cycle((OPEN, CLOSE))
    return _normalise(DOLLAR.sub(lambda found: (found[1] if keep else "") + next(marks), text))


def _normalise(text: str) -> str:
    """Collapse white space, join adjacent formulas, and remove a closing mark at the end."""
    line = re.sub(r"\s+", " ", text.rstrip())
    if not line.startswith(OPEN.rstrip()):
        line = line.lstrip()
    return line.replace(" [/MATH] [MATH] ", " ").removesuffix(CLOSE.rstrip())


def reference_text(body: str) -> str | None:
    """Turn a post's HTML into text with marked formulas. Return None if it is longer than Task 3 allows."""
    import lxml.html

    text, formulas = "", 0
    for part in split_formulas(body):
        if part.latex is not None:
            text += f"{OPEN}{part.latex}{CLOSE}"
            formulas += 1
        elif part.source.strip():
            text += str(lxml.html.fragment_fromstring(part.source, create_parent="div").text_content())
        else:
            text += part.source
    return _normalise(text) if len(text) - MARKS_PER_FORMULA * formulas <= LONGEST_REFERENCE else None


def token_f1(answer: Iterable[str], reference: Iterable[str]) -> float:
    """Return the F1 of two sets of tokens, as the lab's program does (its paper describes bags)."""
    first, second = set(answer), set(reference)
    common = len(first & second)
    return 2 * common / (len(first) + len(second)) if common else 0.0


def overlap(
    answers: Mapping[str, str], references: Mapping[str, Sequence[str]], tokenizer: Tokenizer = OWN
) -> dict[str, float]:
    """Return the overlap of each answer with its best reference. Topics without reference are left out."""
    return _with_best(answers, references, tokenizer.tokens, token_f1)


T = TypeVar("T")


def _with_best(
    answers: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    prepare: Callable[[str], T],
    compare: Callable[[T, T], float],
) -> dict[str, float]:
    """Compare each answer with its references, both prepared; return the highest values by topic."""
    values = {}
    for topic, text in answers.items():
        others = [prepare(reference) for reference in references.get(topic, ()) if reference]
        if others:
            mine = prepare(text)
            values[topic] = max(compare(mine, other) for other in others)
    if not values:
        raise PorismError("no answered topic has a reference", fix="give references: answers of grade 2 or 3")
    return values


class Encoded(NamedTuple):
    """Token vectors (one row each) and their weights; special tokens have weight 0."""

    vectors: NDArray[np.float64]
    weights: NDArray[np.float64]


class AnswerEncoder(NamedTuple):
    """A function that turns text into token vectors; `measure` names the resulting measure."""

    measure: str
    encode: Callable[[str], Encoded]


def bert_score_f1(answer: Encoded, reference: Encoded) -> float:
    """Match each token with the nearest of the other text; precision and recall are weighted means of these cosines."""
    one, two = _unit_rows(answer.vectors), _unit_rows(reference.vectors)
    cosines = one @ two.T
    precision = float(np.average(cosines.max(axis=1), weights=answer.weights))
    recall = float(np.average(cosines.max(axis=0), weights=reference.weights))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows to length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float64] = vectors / np.where(lengths == 0, 1, lengths)
    return scaled


def similarity(
    answers: Mapping[str, str], references: Mapping[str, Sequence[str]], encoder: AnswerEncoder
) -> dict[str, float]:
    """Return the similarity of each answer with its best reference. Topics without reference are left out."""
    written = {topic: text for topic, text in answers.items() if text}
    return _with_best(written, references, encoder.encode, bert_score_f1)


def local_encoder(directory: str | Path) -> AnswerEncoder:
    """Load the encoder of a local model directory; nothing is downloaded, and nothing in it is run."""
    found = ModelDirectory.open(directory)
    tokenizer, model = load_transformer(found, "AutoModel", tokenizer_options={"add_prefix_space": True})
    torch = library("torch")
    special = set(tokenizer.all_special_ids)
    # Only the lab's own model gives the measure called CS. A model with fewer layers uses its last one.
    depth = min(LAYER, int(model.config.num_hidden_layers))
    named = is_mathberta(found.path) and depth == LAYER

    def encode(text: str) -> Encoded:
        batch = tokenizer(text, return_tensors="pt", truncation=True)
        with torch.no_grad():
            states = model(**batch, output_hidden_states=True).hidden_states[depth][0]
        weights = [0.0 if int(token) in special else 1.0 for token in batch["input_ids"][0]]
        return Encoded(np.asarray(states, dtype=np.float64), np.asarray(weights))

    return AnswerEncoder("CS" if named else "CS-local", encode)
