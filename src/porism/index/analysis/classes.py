"""What a label of a tree counts as: its class when structure is compared, and whether it can stand for another of its kind."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple
from zlib import crc32

OPERATOR, VARIABLE, NUMBER = 0, 1, 2
NO_SCRIPT, ABOVE, BELOW = 0, 1, 2
_SCRIPTS = {"O!SUP": ABOVE, "O!SUB": BELOW}
# Classes whose operands may stand in any order although not all their labels say so (`U!`).
_FREE = frozenset(("relation", "sum"))


class Trait(NamedTuple):
    """`code` is a number for the class, the same everywhere and always; `kind` says what may replace the label in an
    alignment; `free` that operands may stand in any order; `script` that it hangs something above or below its first operand."""

    code: int
    kind: int
    free: bool
    script: int


@lru_cache(maxsize=100_000)
def trait(label: str) -> Trait:
    """The traits of a label of either tree."""
    name = class_name(label)
    free = label[:2] == "U!" or name in _FREE
    return Trait(crc32(name.encode("utf-8", "surrogatepass")), kind(label), free, _SCRIPTS.get(label, NO_SCRIPT))


def kind(label: str) -> int:
    """Letters (also with an index) can be exchanged for letters, numbers for numbers, nothing else for anything."""
    if label[:2] == "V!" and (len(label) == 3 or label[3] == "_"):
        return VARIABLE
    return NUMBER if label[:2] == "N!" else OPERATOR


def class_name(label: str) -> str:
    """The class of a label."""
    head, rest = label[:2], label[2:]
    listed = _table().get(label)
    if listed is not None:
        return label if listed == "own" else listed
    if head == "V!":
        return "variable"
    if head == "N!":
        return {"0": "zero", "1": "one"}.get(rest, "number")
    if head == "M!":
        return label[:4]
    return {"T!": "text", "F!": "function"}.get(head, label)


@lru_cache(maxsize=1)
def _table() -> dict[str, str]:
    text = files(__package__).joinpath("classes.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {label: name for name, labels in rows for label in labels.split()}
