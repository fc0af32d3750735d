"""Parse operands: letters, numbers, groups, texts. Functions push one and return the next position."""

from __future__ import annotations

from porism.formula.operators import table
from porism.formula.operators.calculus import derivative
from porism.formula.operators.functions import apply_node, arguments_of, decide, function_node, is_composition
from porism.formula.operators.groups import elements_of_group, group_shape, group_value
from porism.formula.operators.scripts import PLAIN, Guess, Parser, with_scripts
from porism.formula.operators.stack import InfixOperator, Stack
from porism.formula.operators.table import SYMBOLS
from porism.formula.tree import Node, row_of

_BRACKETS = frozenset("()[]{}⟨⟩⌊⌋⌈⌉⟦⟧⟮⟯⟪⟫⎰⎱")
_MODULO = frozenset(("V!mod", "T!mod", "mod", "V!Mod", "T!modulo"))


def push(parser: Parser, stack: Stack, value: Node, token: Node, simple: bool) -> None:
    """Push an operand with its scripts."""
    stack.value(value if token.edges in PLAIN else with_scripts(parser, value, token), simple)


def parse_operand(parser: Parser, stack: Stack, tokens: list[Node], at: int) -> int:
    """Parse a token that is no operator."""
    token = tokens[at]
    label = token.label
    kind = label[:2]
    if kind == "V!":
        return letter(parser, stack, tokens, at)
    if label[:1] == "?" and len(label) > 1:
        return wildcard(parser, stack, tokens, at)
    if kind == "N!":
        push(parser, stack, Node(label, None, "", token.places), token, True)
    elif kind == "M!":
        return bracket(parser, stack, tokens, at)
    elif kind == "O!":
        return construct(parser, stack, tokens, at)
    elif kind == "T!":
        return text(parser, stack, tokens, at)
    elif label == "W!":
        if token.edges not in PLAIN:
            push(parser, stack, Node("W!"), token, False)
        elif len(tokens) == 1:
            stack.value(Node("W!", None, "", token.places))
    else:
        # An unmatched bracket cannot be parsed; any other sign is a symbol.
        made = label if kind == "E!" else ("E!" if label in _BRACKETS else "V!") + label
        push(parser, stack, Node(made, None, "", token.places), token, False)
    return at + 1


def wildcard(parser: Parser, stack: Stack, tokens: list[Node], at: int) -> int:
    """Parse a wildcard; before a bracket it is a function where the letter of its name would be one: `?f(x)`."""
    token = tokens[at]
    head = Node(token.label, None, "", token.places)
    if at + 1 < len(tokens) and tokens[at + 1].label[:4] == "M!()" and token.edges in PLAIN:
        following = tokens[at + 1]
        arguments = arguments_of(following)
        named = Node("V!" + token.label[1:])
        if arguments is not None and not modulo_tokens(following) and decide(named, arguments, "()").applied:
            push(parser, stack, apply_node(parser, head, arguments, following.places), following, True)
            return at + 2
    push(parser, stack, head, token, True)
    return at + 1


def letter(parser: Parser, stack: Stack, tokens: list[Node], at: int) -> int:
    """Parse a letter or a name; before a bracket it may be a function."""
    token = tokens[at]
    label = token.label
    if at + 1 < len(tokens) and tokens[at + 1].label[:2] == "M!":
        following = tokens[at + 1]
        arguments = arguments_of(following, label)
        if (
            arguments is not None
            and not modulo_tokens(following)
            and _application(parser, stack, token, following, arguments)
        ):
            return at + 2
    # A name of several letters is a function; `dx` as one name is a differential.
    is_name = len(label) > 3 and label[2:].isalpha() and label.isascii() and not (label[2] == "d" and len(label) == 4)
    if is_name and at + 1 < len(tokens) and tokens[at + 1].label[:2] in ("V!", "C!"):
        stack.prefix(
            table.FUN, table.PREC_FUNCTION, lambda value: function_node(parser, "F!" + label[2:], token, [value])
        )
        return at + 1
    push(parser, stack, Node(label, None, "", token.places), token, True)
    return at + 1


def _call(parser: Parser, stack: Stack, token: Node, following: Node, arguments: list[list[Node]]) -> None:
    """Push the application of a name to a group."""
    values = [parser.row(part) for part in arguments if part]
    made = function_node(parser, "F!" + token.label[2:], token, values)
    made.places += following.places
    push(parser, stack, made, following, False)


def _application(parser: Parser, stack: Stack, token: Node, following: Node, arguments: list[list[Node]]) -> bool:
    """Push the application of a letter or name to a group, unless it is a factor."""
    label = token.label
    if len(label) > 3 and label[3:].isalpha():
        _call(parser, stack, token, following, arguments)
        return True
    decision = decide(token, arguments, group_shape(following.label).fences)
    if not decision.applied:
        if decision.uncertain:
            parser.guesses.append(Guess("product", Node(label, None, "", token.places)))
        return False
    head = Node(label, None, "", token.places)
    if token.edges not in PLAIN:
        head = with_scripts(parser, head, token)
    made = apply_node(parser, head, arguments, following.places)
    push(parser, stack, made, following, True)
    if decision.uncertain:
        parser.guesses.append(Guess("application", made))
    return True


def modulo_tokens(token: Node) -> int:
    """Return the tokens of a `mod` that begins a bracket: one, three if typed as letters, or 0."""
    inside = token.child("w") if token.label[:4] == "M!()" else None
    if inside is None:
        return 0
    if inside.label in _MODULO:
        return 1
    if inside.label == "V!m" and [node.label for node in row_of(inside)[1:3]] == ["V!o", "V!d"]:
        return 3
    return 0


def bracket(parser: Parser, stack: Stack, tokens: list[Node], at: int) -> int:
    """Parse a group: `(mod n)`, functions in brackets applied to the next group, or a value."""
    token = tokens[at]
    if (count := modulo_tokens(token)) and stack.has_operand:
        stack.between(table.INFIX, table.PREC_MODULO, InfixOperator("O!modulo", token.places))
        rest = elements_of_group(token)[0][count:]
        stack.value(parser.row(rest) if rest else Node("W!"))
        return at + 1
    value = group_value(parser, token)
    if token.edges not in PLAIN:
        value = with_scripts(parser, value, token)
    if at + 1 < len(tokens) and tokens[at + 1].label[:4] == "M!()" and is_composition(token):
        following = tokens[at + 1]
        arguments = arguments_of(following)
        if arguments is not None:
            push(parser, stack, apply_node(parser, value, arguments, following.places), following, False)
            return at + 2
    stack.value(value)
    return at + 1


def construct(parser: Parser, stack: Stack, tokens: list[Node], at: int) -> int:
    """Parse a fraction, a root, a stack of two rows, or something enclosed."""
    token = tokens[at]
    label = token.label
    over, under, inside = token.child("o"), token.child("u"), token.child("w")
    own = "ou"
    if label == "O!divide" and over is not None and under is not None:
        found = derivative(parser, over, under, token.places)
        if found is None:
            value = Node(label, [parser.chain(over), parser.chain(under)], "", token.places)
            before = tokens[at - 1] if at else token
            if _is_mixed_number(before, over, under) and stack.operands[-1].label == before.label:
                stack.operands[-1] = Node("U!plus", [stack.operands[-1], value])
                return at + 1
        elif found.of is not None:
            value = found.node(found.of)
        elif at + 1 < len(tokens) and begins_operand(tokens[at + 1]) and token.edges in ("nou", "neou"):
            stack.prefix(table.DIFF, table.PREC_BODY, found.node)
            return at + 1
        else:
            value = found.node(Node("W!"))
    elif label == "O!root":
        index = token.child("c")
        radicand = parser.chain(inside) if inside is not None else Node("W!")
        value = Node(label, [radicand, parser.chain(index) if index is not None else Node("N!2")], "", token.places)
        own = "c"
    elif label == "O!binom":
        value = Node("O!atop", [parser.chain(part) for part in (over, under) if part is not None], "", token.places)
    else:
        value = Node(label, [parser.chain(inside)] if inside is not None else [], "", token.places)
        own = ""
    push(parser, stack, value, _without(token, own), True)
    return at + 1


def _is_mixed_number(before: Node, over: Node, under: Node) -> bool:
    """Check for a mixed number, `2 1/3`: an integer before a proper fraction of numbers is added, not multiplied."""
    parts = (before, over, under)
    if any(part.label[:2] != "N!" or part.edges not in PLAIN or not part.label[2:12].isdecimal() for part in parts):
        return False
    return "n" not in over.edges and "n" not in under.edges and int(over.label[2:12]) < int(under.label[2:12])


def _without(token: Node, own: str) -> Node:
    """Return a token without the edges of its own parts, so that only scripts remain."""
    if not any(edge in own for edge in token.edges):
        return token
    kept = [(edge, child) for edge, child in zip(token.edges, token.children, strict=True) if edge not in own]
    return Node(token.label, [child for _, child in kept], "".join(edge for edge, _ in kept), token.places)


def begins_operand(token: Node) -> bool:
    """Check whether a token can begin an operand."""
    symbol = SYMBOLS.get(token.label)
    if symbol is None:
        return token.label[:2] != "T!" and token.label not in _BRACKETS
    return symbol.form not in table.BETWEEN and symbol.form != table.POST


def text(parser: Parser, stack: Stack, tokens: list[Node], at: int) -> int:
    """Parse words: connectives join formulas, a name before a bracket is a function, else a factor or unit."""
    token = tokens[at]
    words = token.label[2:].strip(" ,.;:").lower()
    joined = table.WORDS.get(words)
    if joined is not None and len(tokens) > 1:
        stack.between(table.INFIX, table.PREC_WORD, InfixOperator(joined, token.places))
        return at + 1
    if words == "mod" and stack.has_operand and at + 1 < len(tokens):
        stack.between(table.INFIX, table.PREC_MODULO, InfixOperator("O!modulo", token.places))
        return at + 1
    if " " not in token.label and words.isalpha() and at + 1 < len(tokens):
        following = tokens[at + 1]
        arguments = arguments_of(following) if following.label[:2] == "M!" else None
        if arguments is not None:
            _call(parser, stack, token, following, arguments)
            return at + 2
    is_phrase = " " in token.label.strip() or words in _CONNECTIVES
    if is_phrase and stack.has_operand:
        stack.between(table.INFIX, table.PREC_WORD, InfixOperator("O!text"))
    push(parser, stack, Node(token.label, None, "", token.places), token, False)
    if is_phrase:
        stack.after_text = True
    return at + 1


# Words that qualify a whole formula rather than multiply the symbol before them.
_CONNECTIVES = frozenset(
    [
        "if", "for", "where", "when", "then", "else", "otherwise", "with", "is", "are", "as", "in", "on", "by", "to",
        "of", "such", "that", "since", "so", "thus", "hence", "because", "but", "not", "all", "some", "any", "every",
        "odd", "even", "prime", "from", "at", "unless", "while", "we", "let", "i.e", "e.g",
    ]
)  # fmt: skip
