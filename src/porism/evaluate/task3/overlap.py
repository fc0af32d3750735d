"""LO, lexical overlap of an answer with references: token F1, best reference, mean over topics.

With the tokens of MathBERTa it is the lab's LO; with our own tokens it is called LO-w and is another number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from porism.corpus.topics.text import Span, spans
from porism.errors import PorismError

OPEN, CLOSE = " [MATH] ", " [/MATH] "
# A dollar sign at the start, after a character that is no backslash, or after a double backslash; with that character.
DOLLAR = re.compile(r"(^|[^\\]|\\\\)\$")
WORD = re.compile(r"\[/?MATH\]|\\[A-Za-z]+|\\.|[^\W\d_]+|\d+|[^\w\s]|_")
MARKS_PER_FORMULA = 15  # the two marks have 17 characters, the dollar signs they stand for 2
LONGEST_REFERENCE = 1200


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Text becomes tokens; `measure` is the name under which the result may be reported.

    The lab's program loses the character before each dollar sign, so LO must lose it too (`keep` is False); LO-w keeps it.
    """

    measure: str
    tokens: Callable[[str], Sequence[str]]
    keep: bool = True


def words(text: str) -> list[str]:
    """Our own tokens: words in small letters, numbers, LaTeX commands, single signs."""
    return [token if token.startswith(("\\", "[")) else token.lower() for token in WORD.findall(text)]


OWN = Tokenizer("LO-w", words)


def local_tokenizer(directory: str | Path) -> Tokenizer:
    """The tokenizer in a local copy of witiko/mathberta; only this one gives LO."""
    path = Path(directory) / "tokenizer.json"
    if not path.is_file():
        raise PorismError(
            "no tokenizer.json here", where=str(directory), fix="name a local copy of the model witiko/mathberta"
        )
    try:
        import tokenizers  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise PorismError("the package tokenizers is not installed", fix="pip install tokenizers") from None
    model = tokenizers.Tokenizer.from_file(str(path))
    return Tokenizer(
        "LO", lambda text: list(model.encode(f" {text.lstrip()}", add_special_tokens=False).tokens), keep=False
    )


def answer_text(text: str, keep: bool = True) -> str | None:
    """A run's answer with marks around its formulas: unescaped dollar signs open and close in turn. None if their number is odd."""
    if len(DOLLAR.findall(text)) % 2:
        return None
    number = 0

    def mark(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return (found[1] if keep else "") + (OPEN if number % 2 else CLOSE)

    return normal(DOLLAR.sub(mark, text))


def normal(text: str) -> str:
    """One blank for any white space, neighbouring formulas joined, no closing mark at the end."""
    line = re.sub(r"\s+", " ", text.rstrip())
    if not line.startswith(OPEN.rstrip()):
        line = line.lstrip()
    line = line.replace(" [/MATH] [MATH] ", " ")
    return line.removesuffix(CLOSE.rstrip())


def reference_text(body: str) -> str | None:
    """A post's HTML as such a text, or None if it is longer than Task 3 allows."""
    formulas = 0
    pieces = []
    for part in spans(body):
        formulas += part.latex is not None
        pieces.append(plain(part))
    text = "".join(pieces)
    return normal(text) if len(text) - MARKS_PER_FORMULA * formulas <= LONGEST_REFERENCE else None


def plain(part: Span) -> str:
    """A formula between marks, or HTML without its tags."""
    if part.latex is not None:
        return f"{OPEN}{part.latex}{CLOSE}"
    import lxml.html

    if not part.source.strip():
        return part.source
    return str(lxml.html.fragment_fromstring(part.source, create_parent="div").text_content())


def f1(answer: Iterable[str], reference: Iterable[str], bag: bool = False) -> float:
    """F1 of the token sets (the lab's code) or bags (its text)."""
    first, second = (Counter(answer), Counter(reference)) if bag else (Counter(set(answer)), Counter(set(reference)))
    common = (first & second).total()
    return 2 * common / (first.total() + second.total()) if common else 0.0


def overlap(
    answers: Mapping[str, str], references: Mapping[str, Sequence[str]], tokenizer: Tokenizer = OWN, bag: bool = False
) -> dict[str, float]:
    """The overlap of each prepared answer with its best prepared reference; topics without reference are left out."""
    values = {}
    for topic, text in answers.items():
        tokens = [tokenizer.tokens(reference) for reference in references.get(topic, ()) if reference]
        if tokens:
            mine = tokenizer.tokens(text)
            values[topic] = max(f1(mine, other, bag) for other in tokens)
    if not values:
        raise PorismError("no answered topic has a reference", fix="give references: answers of grade 2 or 3")
    return values
