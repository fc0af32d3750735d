"""Convert LaTeX to Presentation MathML with a library: math-core, else latex2mathml, else not at all (the formula
becomes opaque).

Most formulas convert at once. Some need preparation first. A formula that math-core refuses is repaired and tried
again, then tried with unknown commands kept as names, then given to latex2mathml."""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from porism.formula.latex.brackets import has_few_brackets, protect_brackets
from porism.formula.latex.editable import EditableLatex, Problem
from porism.formula.latex.isolated import Task, TooExpensive, convert_isolated
from porism.formula.latex.macros import Macros
from porism.formula.latex.repair import commands, needs_preparation, prepare, repair, repair_at

MAX_LENGTH = 20_000
MAX_NESTING = 100
SHORT = 500  # characters; latex2mathml converts a shorter text in a few milliseconds
LONG = 4_000  # characters; a longer text of blanks (`~`) takes math-core time that grows with the square of the length
MAX_PROBLEMS = 20
MAX_POINT_REPAIRS = 8


class Converted(NamedTuple):
    """The MathML of a formula. `path` names the converter: `math-core`, `latex2mathml` or `opaque` (no MathML)."""

    mathml: str
    path: str
    repairs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class _Refusal(NamedTuple):
    """Why the converter refused a text, and at which position of the text that it was given."""

    problem: Problem
    at: int


@functools.cache
def math_core(lenient: bool = False) -> Any:
    """Return the converter of math-core with our commands; `lenient` keeps unknown commands as names."""
    from math_core import LatexToMathML

    converter = LatexToMathML(
        macros=commands(), fancy_error=False, allow_unreliable_rendering=True, ignore_unknown_commands=lenient
    )
    return converter.convert_with_local_state


def to_mathml(latex: str, macros: Macros | None = None, wildcards: bool = False) -> Converted:
    """Convert any string; never raise. `macros` are the user's own commands; with `wildcards`, `?x` is a wildcard."""
    if len(latex) > MAX_LENGTH:
        return _refused(EditableLatex(""), Problem(f"longer than {MAX_LENGTH:,} characters", MAX_LENGTH, len(latex)))
    source: EditableLatex | None = None
    try:
        if macros is None and not wildcards and not needs_preparation(latex) and not _nested(latex):
            try:
                return Converted(_math_core(latex), "math-core")
            except TooExpensive:
                raise
            except Exception:  # whatever the library raises, repair and try again
                pass
        source = EditableLatex(latex)
        return _with_repairs(source, macros, wildcards)
    except TooExpensive:
        return _refused(source or EditableLatex(""), Problem("takes too long to convert", 0, len(latex)))


def command_mathml(latex: str) -> str:
    """Return the MathML of one command, empty when math-core does not know it."""
    try:
        return _math_core(latex)
    except Exception:
        return ""


def _math_core(latex: str, lenient: bool = False) -> str:
    """Convert with math-core: here if surely quick, else in a process that can be killed. Raise its errors."""
    latex = protect_brackets(latex)
    if len(latex) <= LONG and has_few_brackets(latex):
        mathml: str = math_core(lenient)(latex, displaystyle=False)
        return mathml
    return convert_isolated(Task("math-core", latex, lenient))


def _with_repairs(source: EditableLatex, macros: Macros | None, wildcards: bool) -> Converted:
    """Prepare, convert, repair, convert again."""
    prepare(source, macros, wildcards)
    if (deep := _nested(source.text)) or len(source.text) > 2 * MAX_LENGTH:
        return _refused(source, source.problem(f"nested deeper than {MAX_NESTING} levels", deep, deep + 1))
    made = _try(source)
    if isinstance(made, _Refusal):
        repair(source)
        made = _try(source)
    for _ in range(MAX_POINT_REPAIRS):
        if not isinstance(made, _Refusal) or not repair_at(source, made.problem.message, made.at):
            break
        source.problems.append(made.problem)
        made = _try(source)
    if isinstance(made, _Refusal):
        return _leniently(source, made.problem)
    return _converted(source, "math-core", made)


def _leniently(source: EditableLatex, problem: Problem) -> Converted:
    """Convert with unknown commands kept as names; if that fails, use latex2mathml."""
    try:
        mathml = _math_core(source.text, lenient=True)
    except TooExpensive:
        raise
    except Exception:
        try:
            # It takes time quadratic in the length.
            isolated = len(source.text) > SHORT or not has_few_brackets(source.text)
            task = Task("latex2mathml", source.text)
            mathml = convert_isolated(task) if isolated else latex2mathml(source.text)
        except Exception:
            return _refused(source, problem)
        return _converted(source, "latex2mathml", mathml, problem)
    names = {found[1] for found in _UNKNOWN.finditer(mathml)}
    for found in _COMMAND.finditer(source.text):
        if found[0] in names:
            source.note_problem(f"unknown command {found[0]}", *found.span())
    return _converted(source, "math-core", mathml)


_UNKNOWN = re.compile(r'<merror class="math-core-unknown-cmd"><mtext>([^<]*)</mtext></merror>')
_COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)")


def latex2mathml(latex: str) -> str:
    """Convert with latex2mathml."""
    from latex2mathml.converter import convert

    return str(convert(latex))


def _refused(source: EditableLatex, problem: Problem) -> Converted:
    return _converted(source, "opaque", "", problem)


def _converted(source: EditableLatex, path: str, mathml: str, *more: Problem) -> Converted:
    return Converted(mathml, path, tuple(source.repairs), (*source.problems, *more)[:MAX_PROBLEMS])


def _try(source: EditableLatex) -> str | _Refusal:
    try:
        return _math_core(source.text)
    except TooExpensive:
        raise
    except Exception as error:
        return _refusal(str(error), source)


def _nested(latex: str) -> int:
    """Return the position where braces and `\\left` nest deeper than the limit; 0 when they do not."""
    if latex.count("{") + latex.count("\\left") <= MAX_NESTING:
        return 0
    depth = 0
    for found in _NESTING.finditer(latex):
        mark = found[0]
        if mark in ("{", "\\left"):
            depth += 1
            if depth > MAX_NESTING:
                return found.start()
        elif mark in ("}", "\\right") and depth:
            depth -= 1
    return 0


_NESTING = re.compile(r"\\(?:left|right)(?![A-Za-z])|\\.|[{}]", re.DOTALL)

_TOKEN = re.compile(r"\\[A-Za-z]+|\\?.", re.DOTALL)

# Messages of the converter as patterns, and our messages.
_MESSAGES = [
    (re.compile(r'Unknown command "(.*)"\.'), r"unknown command \1"),
    (re.compile(r'Unknown environment "(.*)"\.'), r"unknown environment \1"),
    (re.compile(r"Expected argument but reached end of input\."), "an argument is missing at the end"),
    (re.compile(r"Duplicate subscript or superscript\."), "a second script at the same place"),
    (re.compile(r'There must be a parenthesis after "(.*?)(?:,.*)?", but not found\.'), r"\1 needs a bracket"),
    (re.compile(r"Expected argument but got closing token.*"), "an argument is missing"),
    (re.compile(r"'\^' or '_' directly followed by.*"), "a script has no text"),
    (re.compile(r"Math mode within text mode is not implemented yet\."), "a formula inside text"),
    (re.compile(r"Not valid in (math|text) mode\."), r"not valid in \1"),
    (re.compile(r'Expected closing token "(.*)", but reached end of input\.'), r"\1 is missing at the end"),
    (re.compile(r'Unmatched closing token: "(.*)"\.'), r"\1 closes nothing"),
    (re.compile(r"Expected a relation after \\not\."), r"\\not needs a relation"),
    (re.compile(r'Found "&", which may only appear.*'), "& outside a table"),
]


def _refusal(message: str, source: EditableLatex) -> _Refusal:
    found = re.match(r"(\d+): (.*)", message, re.DOTALL)
    if not found:
        return _Refusal(source.problem("the converter refused it", 0, len(source.text)), 0)
    start = min(int(found[1]), len(source.text))
    complaint = found[2]
    for pattern, ours in _MESSAGES:
        if match := pattern.fullmatch(complaint):
            complaint = match.expand(ours)
            break
    token = _TOKEN.match(source.text, start)
    return _Refusal(source.problem(complaint, start, token.end() if token else start), start)
