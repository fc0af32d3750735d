"""Classes of labels: which labels of a tree count as equal when the structure of formulas is compared, and which may
replace each other."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple
from zlib import crc32

OPERATOR, VARIABLE, NUMBER = 0, 1, 2
NO_SCRIPT, ABOVE, BELOW = 0, 1, 2
_SCRIPTS = {"O!SUP": ABOVE, "O!SUB": BELOW}
# Classes whose operands have no order, although not all of their labels say so (`U!`).
_UNORDERED = frozenset(("relation", "sum"))


class LabelTraits(NamedTuple):
    """What the comparison of structure needs to know of a label.

    `code` is the hash of its class, `unordered` means that its operands have no order, and `script` says whether it
    sets something above or below its first operand."""

    code: int
    unordered: bool
    script: int


@lru_cache(maxsize=100_000)
def label_traits(label: str) -> LabelTraits:
    """Return the traits of a label of a layout tree or an operator tree."""
    name = class_name(label)
    unordered = label[:2] == "U!" or name in _UNORDERED
    return LabelTraits(crc32(name.encode("utf-8", "surrogatepass")), unordered, _SCRIPTS.get(label, NO_SCRIPT))


def symbol_kind(label: str) -> int:
    """Return VARIABLE, NUMBER or OPERATOR. A variable can replace a variable and a number a number; operators are never
    replaced."""
    if label[:2] == "V!" and (len(label) == 3 or label[3] == "_"):
        return VARIABLE
    return NUMBER if label[:2] == "N!" else OPERATOR


def class_name(label: str) -> str:
    """Return the class of a label."""
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
