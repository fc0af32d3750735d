"""The operator table: how each symbol acts in a row (`operators_table.tsv`)."""

from __future__ import annotations

from importlib.resources import files
from typing import Final, NamedTuple

REL: Final = 1
ADD: Final = 2
MUL: Final = 3
INFIX: Final = 4
BIG: Final = 5
INT: Final = 6
LIM: Final = 7
FUN: Final = 8
NEAR: Final = 9
PRE: Final = 10
POST: Final = 11
QUANT: Final = 12
SEP: Final = 13
CONST: Final = 14
LEAF: Final = 15
# A form that only the parser makes: a fraction d/dx that waits for its operand.
DIFF: Final = 16

# The words of the table for them.
_FORMS = {
    "rel": REL, "add": ADD, "mul": MUL, "infix": INFIX, "big": BIG, "int": INT, "lim": LIM, "fun": FUN, "near": NEAR,
    "pre": PRE, "post": POST, "quant": QUANT, "sep": SEP, "const": CONST, "leaf": LEAF,
}  # fmt: skip

# Forms of operators between two operands.
BETWEEN: Final = frozenset((REL, ADD, MUL, INFIX, SEP))

PREC_IMPLICIT: Final = 30
PREC_SIGN: Final = 23
PREC_BODY: Final = 27
PREC_FUNCTION: Final = 33
PREC_ARGUMENT: Final = 34
PREC_MODULO: Final = 9
PREC_WORD: Final = 3


class Symbol(NamedTuple):
    """A row of the table."""

    form: int
    prec: int
    label: str


def _load() -> dict[str, Symbol]:
    table: dict[str, Symbol] = {}
    text = files("porism.formula.operators").joinpath("operators_table.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        symbols, form, prec, label = line.split("\t")
        for symbol in symbols.split(" "):
            own = "F!" + symbol[2:] if label == "F!" else label
            table.setdefault(symbol, Symbol(_FORMS[form], int(prec), own))
    # In the table a blank separates symbols, so names of two words are added here.
    for name, label in (("V!lim sup", "O!limit-supremum"), ("V!lim inf", "O!limit-infimum")):
        table[name] = Symbol(LIM, PREC_BODY, label)
    return table


SYMBOLS: Final = _load()

# Letters that are functions whatever their argument is.
FUNCTIONS: Final = frozenset("fghFGHPQTLKNWSUDΓΦΨΘΛφϕψζχ") | frozenset("𝒪ℱℒ𝔼ℙ𝒩℘")
# Letters before a bracket that are factors, not functions, unless there are several arguments.
FACTORS: Final = frozenset("eiπ∞dn0")

# Names of functions that people type letter by letter.
_TYPED = ("sin", "cos", "tan", "cot", "sec", "csc", "log", "exp", "lim", "max", "min", "gcd", "lcm", "det", "mod")
_LONGER = ("sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "limsup", "liminf")
# By first and second letter: the letters after the first, and the name; longer names first.
SPELLED: Final[dict[str, dict[str, list[tuple[list[str], str]]]]] = {}
for _name in (*_LONGER, *_TYPED):
    _letters = [f"V!{letter}" for letter in _name]
    SPELLED.setdefault(_letters[0], {}).setdefault(_letters[1], []).append((_letters[1:], f"V!{_name}"))

# Words that join formulas, and the labels of their nodes.
WORDS: Final = {"and": "U!and", "or": "U!or", "iff": "U!iff", "if and only if": "U!iff", "implies": "O!implies"}
