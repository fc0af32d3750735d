"""Read macro definitions from LaTeX and expand macros, within limits so that no formula can explode."""

from __future__ import annotations

import re
from dataclasses import dataclass

from porism.formula.latex.editable import EditableLatex

MAX_EXPANSIONS = 1000
MAX_GROWTH = 20_000

DEFINES = re.compile(
    r"\\(?:(?:re|provide)?newcommand|providecommand|renewcommand|DeclareMathOperator|def|gdef|edef|let)(?![A-Za-z])"
)
_PARAMETER = re.compile(r"(\\[A-Za-z]+|)#([1-9])")
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+|[^A-Za-z\s])")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: a body with `#1`..`#9`, and the default of an optional first argument."""

    body: str
    arguments: int = 0
    default: str | None = None


Macros = dict[str, Macro]


def definitions(text: str) -> Macros:
    """Return all macros that a text defines, such as the preamble of a document. The last definition of a name wins."""
    found: Macros = {}
    at = 0
    while True:
        start = DEFINES.search(text, at)
        if start is None:
            return found
        name, macro, at = _definition(text, start)
        if name and macro is not None:
            found[name] = macro


def expand_macros(source: EditableLatex, macros: Macros | None = None) -> None:
    """Remove the definitions from a formula, and expand their macros and the given ones."""
    known = dict(macros or {})
    at = 0
    while True:
        start = DEFINES.search(source.text, at)
        if start is None:
            break
        name, macro, end = _definition(source.text, start)
        if not name:
            source.note_problem(f"{start[0]} defines nothing", start.start(), start.end())
        elif macro is not None:
            known[name] = macro
        source.replace(start.start(), end, "")
        at = start.start()
        source.note_repair("macros")
    if known:
        _expand(source, known)


def _expand(source: EditableLatex, known: Macros) -> None:
    budget, at = MAX_EXPANSIONS, 0
    while True:
        found = _COMMAND.search(source.text, at)
        if found is None:
            return
        macro = known.get(found[0])
        if macro is None:
            at = found.end()
            continue
        if budget == 0 or len(source.text) > source.length + MAX_GROWTH:
            source.note_problem(f"{found[0]} expands without end; the rest stays as it is", found.start(), found.end())
            return
        budget -= 1
        body, end = _applied(macro, source.text, found.end())
        # A command that ends in a letter must not run into the letter after it.
        if re.search(r"\\[A-Za-z]+\Z", body) and source.text[end : end + 1].isalpha():
            body += " "
        source.replace(found.start(), end, body)
        at = found.start()
        source.note_repair("macros")


def _applied(macro: Macro, text: str, at: int) -> tuple[str, int]:
    """Return the body with its arguments filled in, and the position after the arguments."""
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
    body = _PARAMETER.sub(lambda found: found[1] + _value(values, int(found[2]), bool(found[1])), macro.body)
    return body, at


def _value(values: list[str], number: int, after_command: bool) -> str:
    """Return an argument; a letter at its start must not run into the command before it: `\\langle#1`."""
    value = values[number - 1] if number <= len(values) else ""
    return f" {value}" if after_command and value[:1].isalpha() else value


def _argument(text: str, at: int) -> tuple[str, int]:
    """Return the next argument without its braces, and its end."""
    space = _SPACE.match(text, at)
    at = space.end() if space else at
    if at >= len(text):
        return "", at
    if text[at] == "{":
        end = _group_end(text, at)
        return text[at + 1 : end - 1], end
    command = _COMMAND.match(text, at)
    end = command.end() if command else at + 1
    return text[at:end], end


def _group_end(text: str, at: int) -> int:
    """Return the position after the brace that closes the one at `at`, or the end of the text."""
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at):
        depth += (found[0] == "{") - (found[0] == "}")
        if depth == 0:
            return found.end()
    return len(text) + 1


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
        parameters = re.compile(r"[^{]*").match(text, at)
        count = parameters[0].count("#") if parameters else 0
        body, at = _argument(text, parameters.end() if parameters else at)
        return name, Macro(body, count), at
    if kind == "\\let":
        equals = re.compile(r"\s*=?\s*").match(text, at)
        body, at = _argument(text, equals.end() if equals else at)
        return name, (Macro(body) if body != name else None), at
    if kind == "\\DeclareMathOperator":
        body, at = _argument(text, at)
        star = "*" if "*" in text[start.end() : start.end() + 1] else ""
        return name, Macro(f"\\operatorname{star}{{{body}}}"), at
    options = re.compile(r"\s*(?:\[(\d)\])?\s*(?:\[([^\]]*)\])?").match(text, at)
    count = int(options[1] or 0) if options else 0
    default = options[2] if options else None
    body, at = _argument(text, options.end() if options else at)
    return name, Macro(body, count, default), at
