"""Mutations of inputs, text or bytes: small changes, repetition, nesting, and joining with other inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from attack.fuzz.grammar import ODD

_TOKEN = re.compile(r"\\[A-Za-z]+|</?[A-Za-z]+|[A-Za-z]+|\d+|\s+|.", re.DOTALL)
ODD_CHARACTERS = "\x00\x08\x0b\x1f\x7f\x85\u00ad\u0300\u034f\u200b\u200d\u202e\u2028\u2061\ud800\udc00\ue000\ufdd0\ufeff\ufffd\uffff\U0001d400\U000e0001\U0010ffff"
ODD_BYTES = (b"\x00", b"\xff", b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xfe\xff", b"\r", b"\n\n")
_PAIRS = ("{}", "()", "[]", "<>", "$$", "``", "**", '""', "''", "|" * 2)


def mutate_text(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    """Return a text with one to six changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        text = rng.choice(_TEXT)(text, rng, tokens, others, longest)[:longest]
    return text


def mutate_bytes(data: bytes, rng: Random, others: Sequence[bytes], longest: int) -> bytes:
    """Return bytes with one to six changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(_BYTES)(data, rng, others)[:longest]
    return data


def _span(length: int, rng: Random) -> tuple[int, int]:
    """Return a random range, mostly short."""
    start = rng.randint(0, length)
    return start, min(length, start + int(rng.paretovariate(0.8)))


def _times(rng: Random, size: int, longest: int) -> int:
    """Return how often to repeat a text of this size: mostly a few times, sometimes up to the limit."""
    most = max(2, longest // max(1, size))
    return min(most, int(2 ** rng.uniform(1, 5.5))) if rng.random() < 0.985 else int(most ** rng.uniform(0.3, 1.0))


def _delete(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    start, end = _span(len(text), rng)
    return text[:start] + text[end:]


def _insert(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(tokens) + text[at:]


def _odd(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(ODD_CHARACTERS) * rng.choice((1, 1, 3)) + text[at + rng.randint(0, 1) :]


def _odd_value(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    """Replace a number or a word by an odd value."""
    found = [match.span() for match in re.finditer(r"-?\d+(?:\.\d+)?|[A-Za-z]+", text[:5000])]
    if not found:
        return text
    start, end = rng.choice(found)
    return text[:start] + rng.choice(ODD["odd_number"]) + text[end:]


def _repeat(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    start, end = _span(len(text), rng)
    piece = text[start:end] or rng.choice(tokens)
    return text[:start] + piece * _times(rng, len(piece), longest - len(text)) + text[end:]


def _repeat_token(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    """Insert one to three tokens many times: what nests or searches ahead becomes expensive."""
    piece = "".join(rng.choice(tokens) for _ in range(rng.choice((1, 1, 2, 3))))
    at = rng.choice((0, len(text), rng.randint(0, len(text))))
    return text[:at] + piece * _times(rng, len(piece), longest - len(text)) + text[at:]


def _nest(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    """Put a part between repeated tokens or brackets."""
    start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    first, last = rng.choice(_PAIRS) if rng.random() < 0.6 else (rng.choice(tokens), rng.choice(tokens))
    times = _times(rng, len(first) + len(last), longest - len(text))
    return text[:start] + first * times + text[start:end] + last * times + text[end:]


def _swap(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    """Exchange, double or drop tokens."""
    pieces = _TOKEN.findall(text[:5000])
    if len(pieces) < 2:
        return text
    first, second = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    kind = rng.random()
    if kind < 0.4:
        pieces[first], pieces[second] = pieces[second], pieces[first]
    elif kind < 0.7:
        pieces[first] = pieces[second]
    else:
        del pieces[first]
    return "".join(pieces) + text[5000:]


def _splice(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    other = rng.choice(others)
    return text[: rng.randint(0, len(text))] + other[rng.randint(0, len(other)) :]


def _cut(text: str, rng: Random, tokens: Sequence[str], others: Sequence[str], longest: int) -> str:
    return text[: rng.randint(0, len(text))] if rng.random() < 0.5 else text[rng.randint(0, len(text)) :]


_TEXT: tuple[Callable[[str, Random, Sequence[str], Sequence[str], int], str], ...] = (
    _delete,
    _insert,
    _insert,
    _odd,
    _odd_value,
    _repeat,
    _repeat_token,
    _nest,
    _swap,
    _swap,
    _splice,
    _cut,
)


def _flip(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _byte(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice((rng.randbytes(1), *ODD_BYTES)) + data[at + rng.randint(0, 2) :]


def _number(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Overwrite a number of 1 to 8 bytes with one at the edge of its range."""
    width = rng.choice((1, 2, 4, 8))
    at = rng.randint(0, max(0, len(data) - width))
    edge = rng.choice((0, 1, 2 ** (8 * width - 1) - 1, 2 ** (8 * width - 1), 2 ** (8 * width) - 1, 255))
    return data[:at] + min(edge, 2 ** (8 * width) - 1).to_bytes(width, "little") + data[at + width :]


def _drop(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(len(data), rng)
    return data[:start] + data[end:]


def _truncate(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _double(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(len(data), rng)
    return data[:end] + data[start:end] * min(500, int(rng.paretovariate(0.7))) + data[end:]


def _join(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


_BYTES: tuple[Callable[[bytes, Random, Sequence[bytes]], bytes], ...] = (
    _flip,
    _flip,
    _byte,
    _number,
    _drop,
    _truncate,
    _double,
    _join,
)
