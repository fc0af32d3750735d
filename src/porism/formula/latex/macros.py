"""Read macro definitions from LaTeX and expand macros, within a budget so that no text can explode."""

from __future__ import annotations

import re
from dataclasses import dataclass

from porism.formula.latex.editable import Edit, EditableLatex

# Expanded macros may be this many times as long as the text that they are in, plus this many characters.
RATIO, FREE = 5, 1_000
LEAST = 20  # characters that an expansion counts for, however little it writes
MAX_GROWTH = 20_000  # of one formula
MAX_ARGUMENTS = 9
UNEXPANDED = f"its macros write more than {RATIO} times the length of the text, kept as typed"

DEFINES = re.compile(
    r"\\(?:(?:re|provide)?newcommand|providecommand|renewcommand|DeclareMathOperator|def|gdef|edef|let)(?![A-Za-z])"
)
_PARAMETER = re.compile(r"(\\[A-Za-z]++|)#([1-9])")
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|[^A-Za-z\s])")
_SPACE = re.compile(r"\s*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_ENDS_IN_COMMAND = re.compile(r"\\[A-Za-z]++\Z")
_TEXT_OF_PARAMETERS = re.compile(r"[^{]*")
_EQUALS = re.compile(r"\s*+=?\s*+")
# A default is short; without a bound, each `[` that nothing closes would be searched to the end of the text.
_OPTIONS = re.compile(r"\s*+(?:\[(\d)\])?\s*+(?:\[([^\]]{0,300})\])?")


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: a body with `#1`..`#9`, and the default of an optional first argument."""

    body: str
    arguments: int = 0
    default: str | None = None


Macros = dict[str, Macro]


class Budget:
    """How many characters macros may still write into a text of some length, and how many of its formulas they would
    not fit into.

    All formulas of a field, of a document or of a page share one, so that macros make no text more than a few times as
    long as it is."""

    __slots__ = ("left", "refused")

    def __init__(self, length: int) -> None:
        self.left = FREE + RATIO * length
        self.refused = 0

    def spend(self, characters: int) -> bool:
        """Take an expansion of this length from the budget; return False if so much is not left."""
        self.left -= max(LEAST, characters)
        return self.left >= 0


def definitions(text: str) -> Macros:
    """Return all macros that a text defines, such as the preamble of a document. The last definition of a name wins."""
    found: Macros = {}
    at = 0
    while start := DEFINES.search(text, at):
        name, macro, at = _definition(text, start)
        if name and macro is not None:
            found[name] = macro
    return found


def expand_macros(source: EditableLatex, macros: Macros | None = None, budget: Budget | None = None) -> bool:
    """Remove the definitions from a formula, and expand their macros and the given ones.

    Return False if the budget (of its own without another one) ended before all were expanded: the rest stays as it
    is."""
    known = dict(macros or {})
    removed: list[Edit] = []
    at = 0
    while start := DEFINES.search(source.text, at):
        name, macro, at = _definition(source.text, start)
        if not name:
            source.note_problem(f"{start[0]} defines nothing", start.start(), start.end())
        elif macro is not None:
            known[name] = macro
        removed.append(Edit(start.start(), at, ""))
    if removed:
        source.apply(removed)
        source.note_repair("macros")
    return not known or _expand(source, known, budget or Budget(source.length))


def _expand(source: EditableLatex, known: Macros, budget: Budget) -> bool:
    expansion, longest = _Expansion(source), len(source.text) + MAX_GROWTH
    at = 0
    while found := _COMMAND.search(expansion.rest, at):
        macro = known.get(found[0])
        if macro is None:
            at = found.end()
            continue
        has_room = expansion.read + len(expansion.rest) <= longest
        made = _applied(macro, expansion.rest, found.end(), budget) if has_room else None
        if made is None:
            start = expansion.read + found.start()
            expansion.finish()
            source.note_problem(
                f"{found[0]} expands without end; the rest stays as it is", start, start + len(found[0])
            )
            return False
        text, end = made
        expansion.replace(found.start(), end, text)
        at = 0
    expansion.finish()
    return True


class _Expansion:
    """A formula whose macros are expanded from the left: what is done, and the rest."""

    def __init__(self, source: EditableLatex) -> None:
        self.rest = source.text
        self.read = 0  # characters that are done
        self._source = source
        self._done: list[str] = []
        self._positions: list[int] = []
        self._written = 0  # characters at the start of the rest that macros wrote
        self._place = 0  # the position of those in the user's text

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace a part of the rest by what a macro writes; all before it is done."""
        behind = self.rest[end:]
        # A command that ends in a letter must not run into the letter after it.
        if behind[:1].isalpha() and _ENDS_IN_COMMAND.search(new):
            new += " "
        # What no macro wrote has a position in the user's text.
        own = len(self._source.text) - len(self.rest) + start
        place = self._place if start < self._written else self._source.positions[own]
        self._take(start)
        self._place = place
        self._written = len(new) + max(0, self._written - end)
        self.rest = new + behind
        self._source.note_repair("macros")

    def finish(self) -> None:
        """Put the result into the formula."""
        if self._done:
            self._take(len(self.rest))
            self._positions.append(self._source.positions[-1])
            self._source.text, self._source.positions = "".join(self._done), self._positions

    def _take(self, end: int) -> None:
        """Take the rest up to here as done."""
        self._done.append(self.rest[:end])
        self.read += end
        self._positions += [self._place] * min(end, self._written)
        if end > self._written:
            first = len(self._source.text) - len(self.rest)
            self._positions += self._source.positions[first + self._written : first + end]


def _applied(macro: Macro, text: str, at: int, budget: Budget) -> tuple[str, int] | None:
    """Return the body of a macro with its arguments filled in, and their end; None if that is over the budget."""
    values: list[str] = []
    if macro.default is not None:
        value = macro.default
        opening = _SPACE.match(text, at)
        start = opening.end() if opening else at
        if text[start : start + 1] == "[":
            end = text.find("]", start)
            if end > 0:
                value, at = text[start + 1 : end], end + 1
        values.append(value)
    while len(values) < macro.arguments:
        value, at = _argument(text, at)
        values.append(value)
    # Counted before it is written: a body of `#1#1#1...` multiplies its argument.
    size = len(macro.body) + sum(macro.body.count(f"#{number}") * len(one) for number, one in enumerate(values, 1))
    if not budget.spend(size):
        return None
    body = _PARAMETER.sub(lambda found: found[1] + _value(values, int(found[2]), bool(found[1])), macro.body)
    return body, at


def _value(values: list[str], number: int, after_command: bool) -> str:
    """Return an argument; a letter at its start must not run into the command before it: `\\langle#1`."""
    value = values[number - 1] if number <= len(values) else ""
    return f" {value}" if after_command and value[:1].isalpha() else value


def _argument(text: str, at: int) -> tuple[str, int]:
    """Return the next argument without its braces, and its end. A brace that nothing closes ends with the text."""
    space = _SPACE.match(text, at)
    at = space.end() if space else at
    if at >= len(text):
        return "", at
    if text[at] == "{":
        depth = 0
        for found in _BRACE.finditer(text, at):
            depth += (found[0] == "{") - (found[0] == "}")
            if depth == 0:
                return text[at + 1 : found.end() - 1], found.end()
        return text[at + 1 :], len(text) + 1
    command = _COMMAND.match(text, at)
    end = command.end() if command else at + 1
    return text[at:end], end


def _definition(text: str, start: re.Match[str]) -> tuple[str, Macro | None, int]:
    """Return the name, the macro and the end of a definition that starts here."""
    kind, at = start[0], start.end()
    if text[at : at + 1] == "*":
        at += 1
    name, at = _argument(text, at)
    name = name.strip()
    if not _COMMAND.fullmatch(name):
        return "", None, at
    if kind in ("\\def", "\\gdef", "\\edef"):
        parameters = _TEXT_OF_PARAMETERS.match(text, at)
        count = min(parameters[0].count("#"), MAX_ARGUMENTS) if parameters else 0
        body, at = _argument(text, parameters.end() if parameters else at)
        return name, Macro(body, count), at
    if kind == "\\let":
        equals = _EQUALS.match(text, at)
        body, at = _argument(text, equals.end() if equals else at)
        return name, (Macro(body) if body != name else None), at
    if kind == "\\DeclareMathOperator":
        body, at = _argument(text, at)
        star = "*" if "*" in text[start.end() : start.end() + 1] else ""
        return name, Macro(f"\\operatorname{star}{{{body}}}"), at
    options = _OPTIONS.match(text, at)
    count = int(options[1] or 0) if options else 0
    default = options[2] if options else None
    body, at = _argument(text, options.end() if options else at)
    return name, Macro(body, count, default), at
