"""Tokens that are values: letters, numbers, groups, fractions, texts. Each reader pushes what it read and gives the next place."""

from __future__ import annotations

from porism.formula.operators.apply import applies, apply_node, arguments_of, composed
from porism.formula.operators.calculus import derivative
from porism.formula.operators.chains import Mark
from porism.formula.operators.groups import group_value, parts_of, shape
from porism.formula.operators.prefix import function_node
from porism.formula.operators.scripts import PLAIN, Rows, scripted
from porism.formula.operators.stack import Stack
from porism.formula.operators.table import (
    BETWEEN,
    DIFF,
    FUN,
    INFIX,
    POST,
    PREC_BODY,
    PREC_FUNCTION,
    PREC_MODULO,
    PREC_WORD,
    SYMBOLS,
    WORDS,
)
from porism.formula.tree import Node, row_of

_BRACKETS = frozenset("()[]{}⟨⟩⌊⌋⌈⌉⟦⟧⟮⟯⟪⟫⎰⎱")
_MODULO = frozenset(("V!mod", "T!mod", "mod", "V!Mod", "T!modulo"))


def push(rows: Rows, stack: Stack, value: Node, token: Node, simple: bool) -> None:
    """An operand with its scripts."""
    stack.value(value if token.edges in PLAIN else scripted(rows, value, token), simple)


def plain(rows: Rows, stack: Stack, tokens: list[Node], at: int) -> int:
    """A token that is no operator."""
    token = tokens[at]
    label = token.label
    kind = label[:2]
    if kind == "V!":
        return letter(rows, stack, tokens, at)
    if kind == "N!" or (label[:1] == "?" and len(label) > 1):
        push(rows, stack, Node(label, None, "", token.places), token, True)
    elif kind == "M!":
        return bracket(rows, stack, tokens, at)
    elif kind == "O!":
        return construct(rows, stack, tokens, at)
    elif kind == "T!":
        return text(rows, stack, tokens, at)
    elif label == "W!":
        if token.edges not in PLAIN:
            push(rows, stack, Node("W!"), token, False)
        elif len(tokens) == 1:
            stack.value(Node("W!", None, "", token.places))
    else:
        # A bracket without its partner is the one thing a row cannot explain; any other sign is a symbol.
        made = label if kind == "E!" else ("E!" if label in _BRACKETS else "V!") + label
        push(rows, stack, Node(made, None, "", token.places), token, False)
    return at + 1


def letter(rows: Rows, stack: Stack, tokens: list[Node], at: int) -> int:
    """A letter or a name; before a bracket perhaps a function."""
    token = tokens[at]
    if at + 1 < len(tokens) and tokens[at + 1].label[:2] == "M!":
        following = tokens[at + 1]
        arguments = arguments_of(following, token.label)
        if (
            arguments is not None
            and not is_modulo(following)
            and _application(rows, stack, token, following, arguments)
        ):
            return at + 2
    if at + 1 < len(tokens) and _is_function_name(token.label) and tokens[at + 1].label[:2] in ("V!", "C!"):
        stack.prefix(FUN, PREC_FUNCTION, lambda value: function_node(rows, "F!" + token.label[2:], token, [value]))
        return at + 1
    push(rows, stack, Node(token.label, None, "", token.places), token, True)
    return at + 1


def _is_function_name(label: str) -> bool:
    """A name of several plain letters; `dx` in one piece is a differential."""
    return len(label) > 3 and label[2:].isalpha() and label.isascii() and not (label[2] == "d" and len(label) == 4)


def _application(rows: Rows, stack: Stack, token: Node, following: Node, arguments: list[list[Node]]) -> bool:
    """Push the application of a letter or name to a group, unless it is a factor."""
    label = token.label
    if len(label) > 3 and label[3:].isalpha():
        values = [rows.row(part) for part in arguments if part]
        made = function_node(rows, "F!" + label[2:], token, values)
        made.places += following.places
        push(rows, stack, made, following, False)
        return True
    yes, unsure = applies(token, arguments, shape(following.label)[0])
    if not yes:
        if unsure:
            rows.unsure.append(("product", Node(label, None, "", token.places)))
        return False
    head = Node(label, None, "", token.places)
    made = apply_node(rows, head if token.edges in PLAIN else scripted(rows, head, token), arguments, following.places)
    push(rows, stack, made, following, True)
    if unsure:
        rows.unsure.append(("application", made))
    return True


def is_modulo(token: Node) -> int:
    """How many tokens the `mod` at the beginning of a bracket takes: one, three when typed as letters, 0 when there is none."""
    inside = token.child("w") if token.label[:4] == "M!()" else None
    if inside is None:
        return 0
    if inside.label in _MODULO:
        return 1
    if inside.label == "V!m" and [node.label for node in row_of(inside)[1:3]] == ["V!o", "V!d"]:
        return 3
    return 0


def bracket(rows: Rows, stack: Stack, tokens: list[Node], at: int) -> int:
    """A group: `(mod n)`, functions in brackets applied to the next group, or a value."""
    token = tokens[at]
    if (words := is_modulo(token)) and stack.have:
        stack.between(INFIX, PREC_MODULO, Mark("O!modulo", token.places))
        rest = parts_of(token)[0][words:]
        stack.value(rows.row(rest) if rest else Node("W!"))
        return at + 1
    value = group_value(rows, token)
    if token.edges not in PLAIN:
        value = scripted(rows, value, token)
    if at + 1 < len(tokens) and tokens[at + 1].label[:4] == "M!()" and composed(token):
        following = tokens[at + 1]
        arguments = arguments_of(following)
        if arguments is not None:
            push(rows, stack, apply_node(rows, value, arguments, following.places), following, False)
            return at + 2
    stack.value(value)
    return at + 1


def construct(rows: Rows, stack: Stack, tokens: list[Node], at: int) -> int:
    """A fraction, a root, two things one above the other, something enclosed."""
    token = tokens[at]
    label = token.label
    over, under, inside = token.child("o"), token.child("u"), token.child("w")
    own = "ou"
    if label == "O!divide" and over is not None and under is not None:
        found = derivative(rows, over, under, token.places)
        if found is None:
            value = Node(label, [rows.chain(over), rows.chain(under)], "", token.places)
            if at and _is_mixed(tokens[at - 1], over, under) and stack.values[-1].label == tokens[at - 1].label:
                stack.values[-1] = Node("U!plus", [stack.values[-1], value])
                return at + 1
        elif found.of is not None:
            value = found.node(found.of)
        elif at + 1 < len(tokens) and begins_operand(tokens[at + 1]) and token.edges in ("nou", "neou"):
            stack.prefix(DIFF, PREC_BODY, found.node)
            return at + 1
        else:
            value = found.node(Node("W!"))
    elif label == "O!root":
        index = token.child("c")
        radicand = rows.chain(inside) if inside is not None else Node("W!")
        value = Node(label, [radicand, rows.chain(index) if index is not None else Node("N!2")], "", token.places)
        own = "c"
    elif label == "O!binom":
        value = Node("O!atop", [rows.chain(part) for part in (over, under) if part is not None], "", token.places)
    else:
        value = Node(label, [rows.chain(inside)] if inside is not None else [], "", token.places)
        own = ""
    push(rows, stack, value, _without(token, own), True)
    return at + 1


def _is_mixed(before: Node, over: Node, under: Node) -> bool:
    """`2 1/3`: a whole number before a proper fraction of numbers is added to it, not multiplied."""
    parts = (before, over, under)
    if any(part.label[:2] != "N!" or part.edges not in PLAIN or not part.label[2:12].isdecimal() for part in parts):
        return False
    return "n" not in over.edges and "n" not in under.edges and int(over.label[2:12]) < int(under.label[2:12])


def _without(token: Node, own: str) -> Node:
    """A token as if the edges that are its own parts were not there, so that only scripts remain."""
    if not any(edge in own for edge in token.edges):
        return token
    kept = [(edge, child) for edge, child in zip(token.edges, token.children, strict=True) if edge not in own]
    return Node(token.label, [child for _, child in kept], "".join(edge for edge, _ in kept), token.places)


def begins_operand(token: Node) -> bool:
    """Whether a token can be the beginning of an operand."""
    symbol = SYMBOLS.get(token.label)
    if symbol is None:
        return token.label[:2] != "T!" and token.label not in _BRACKETS
    return symbol.form not in BETWEEN and symbol.form != POST


def text(rows: Rows, stack: Stack, tokens: list[Node], at: int) -> int:
    """Words: a connective joins formulas, a name before a bracket is a function, a single word is a factor or unit."""
    token = tokens[at]
    words = token.label[2:].strip(" ,.;:").lower()
    joined = WORDS.get(words)
    if joined is not None and len(tokens) > 1:
        stack.between(INFIX, PREC_WORD, Mark(joined, token.places))
        return at + 1
    if words == "mod" and stack.have and at + 1 < len(tokens):
        stack.between(INFIX, PREC_MODULO, Mark("O!modulo", token.places))
        return at + 1
    leaf = Node(token.label, None, "", token.places)
    if " " not in token.label and words.isalpha() and at + 1 < len(tokens):
        following = tokens[at + 1]
        arguments = arguments_of(following) if following.label[:2] == "M!" else None
        if arguments is not None:
            values = [rows.row(part) for part in arguments if part]
            name = "F!" + token.label[2:]
            made = function_node(rows, name, token, values)
            made.places += following.places
            push(rows, stack, made, following, False)
            return at + 2
    if " " in token.label.strip() or words in _LOOSE:
        if stack.have:
            stack.between(INFIX, PREC_WORD, Mark("O!text"))
        push(rows, stack, leaf, token, False)
        stack.after_text = True
        return at + 1
    push(rows, stack, leaf, token, False)
    return at + 1


# Words that qualify a whole formula rather than multiply the symbol before them.
_LOOSE = frozenset(
    [
        "if",
        "for",
        "where",
        "when",
        "then",
        "else",
        "otherwise",
        "with",
        "is",
        "are",
        "as",
        "in",
        "on",
        "by",
        "to",
        "of",
        "such",
        "that",
        "since",
        "so",
        "thus",
        "hence",
        "because",
        "but",
        "not",
        "all",
        "some",
        "any",
        "every",
        "odd",
        "even",
        "prime",
        "from",
        "at",
        "unless",
        "while",
        "we",
        "let",
        "i.e",
        "e.g",
    ]
)
