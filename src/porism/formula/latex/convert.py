"""LaTeX to Presentation MathML by a library: math-core, else latex2mathml, else nothing (the caller makes an opaque node).

Most formulas go straight through. One that looks suspect is prepared first; one that the converter refuses is mended and tried again,
then tried with unknown commands kept as names, then given to latex2mathml.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from porism.formula.latex.macros import Macros
from porism.formula.latex.repair import commands, mend, nudge, prepare, suspect
from porism.formula.latex.source import Source
from porism.formula.latex.tame import tame
from porism.formula.problems import Problem

MAX_LENGTH = 20_000
MAX_NESTING = 100
MAX_PROBLEMS = 20
MAX_NUDGES = 8


class Converted(NamedTuple):
    """What a converter made of a formula. `path` is `math-core`, `latex2mathml` or `opaque`."""

    mathml: str
    path: str
    repairs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class _Refusal(NamedTuple):
    """Why the converter refused a text, and where in the text as it was given to it."""

    problem: Problem
    at: int


@functools.cache
def _core(lenient: bool = False) -> Any:
    from math_core import LatexToMathML

    converter = LatexToMathML(
        macros=commands(), fancy_error=False, allow_unreliable_rendering=True, ignore_unknown_commands=lenient
    )
    return converter.convert_with_local_state


def to_mathml(latex: str, macros: Macros | None = None, wildcards: bool = False) -> Converted:
    """MathML of any string; never raises. `macros` are the user's own commands, `wildcards` lets `?x` be one."""
    if macros is None and not wildcards and len(latex) <= MAX_LENGTH and not suspect(latex) and not _nested(latex):
        core = _core()
        try:
            return Converted(core(tame(latex), displaystyle=False), "math-core")
        except Exception:  # any refusal of the library means: mend and try again
            pass
    return _carefully(latex, macros, wildcards)


def command_mathml(latex: str) -> str:
    """MathML of a command that another converter did not know; empty when this one does not either."""
    core = _core()
    try:
        mathml: str = core(tame(latex), displaystyle=False)
    except Exception:
        return ""
    return mathml


def _carefully(latex: str, macros: Macros | None, wildcards: bool) -> Converted:
    """The slow way: prepare, try, mend, try again."""
    if len(latex) > MAX_LENGTH:
        return _refused(Source(""), Problem(f"longer than {MAX_LENGTH:,} characters", MAX_LENGTH, len(latex)))
    source = Source(latex)
    prepare(source, macros, wildcards)
    if (deep := _nested(source.text)) or len(source.text) > 2 * MAX_LENGTH:
        return _refused(source, source.located(f"nested deeper than {MAX_NESTING} levels", deep, deep + 1))
    made = _try(source)
    if isinstance(made, _Refusal):
        mend(source)
        made = _try(source)
    for _ in range(MAX_NUDGES):
        if not isinstance(made, _Refusal) or not nudge(source, made.problem.message, made.at):
            break
        source.problems.append(made.problem)
        made = _try(source)
    if isinstance(made, _Refusal):
        return _leniently(source, made.problem)
    return Converted(made, "math-core", tuple(source.repairs), tuple(source.problems[:MAX_PROBLEMS]))


def _leniently(source: Source, problem: Problem) -> Converted:
    """Unknown commands stay as names; if that does not help, another library may."""
    core = _core(lenient=True)
    try:
        mathml = core(tame(source.text), displaystyle=False)
    except Exception:
        return _by_another(source, problem)
    for found in _unknown(mathml, source.text):
        source.problem(f"unknown command {found[0]}", *found.span())
    return Converted(mathml, "math-core", tuple(source.repairs), tuple(source.problems[:MAX_PROBLEMS]))


def _by_another(source: Source, problem: Problem) -> Converted:
    from latex2mathml.converter import convert

    if len(source.text) > MAX_LENGTH // 4:
        # Its time grows with the square of the length.
        return _refused(source, problem)
    try:
        mathml = convert(source.text)
    except Exception:
        return _refused(source, problem)
    problems = (*source.problems, problem)[:MAX_PROBLEMS]
    return Converted(mathml, "latex2mathml", tuple(source.repairs), problems)


def _refused(source: Source, problem: Problem) -> Converted:
    return Converted("", "opaque", tuple(source.repairs), (*source.problems, problem)[:MAX_PROBLEMS])


def _try(source: Source) -> str | _Refusal:
    core = _core()
    try:
        mathml: str = core(tame(source.text), displaystyle=False)
        return mathml
    except Exception as error:
        return _refusal(str(error), source)


_UNKNOWN = re.compile(r'<merror class="math-core-unknown-cmd"><mtext>([^<]*)</mtext></merror>')


def _unknown(mathml: str, text: str) -> list[re.Match[str]]:
    """Where the commands that the converter did not know stand in the text."""
    names = {found[1] for found in _UNKNOWN.finditer(mathml)}
    return [found for found in re.finditer(r"\\(?:[A-Za-z]+|.)", text) if found[0] in names]


def _nested(latex: str) -> int:
    """Where braces, brackets of `\\left` and environments nest deeper than the limit; 0 when they do not."""
    if latex.count("{") + latex.count("\\left") <= MAX_NESTING:
        return 0
    depth = 0
    for found in _NESTING.finditer(latex):
        mark = found[0]
        if mark in ("{", "\\left"):
            depth += 1
            if depth > MAX_NESTING:
                return found.start()
        elif mark in ("}", "\\right"):
            depth -= 1
    return 0


_NESTING = re.compile(r"\\(?:left|right)(?![A-Za-z])|\\.|[{}]", re.DOTALL)

_TOKEN = re.compile(r"\\[A-Za-z]+|\\?.", re.DOTALL)

# What the converter says, and what we say: pattern, message.
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


def _refusal(message: str, source: Source) -> _Refusal:
    found = re.match(r"(\d+): (.*)", message, re.DOTALL)
    if not found:
        return _Refusal(source.located("the converter refused it", 0, len(source.text)), 0)
    start = min(int(found[1]), len(source.text))
    said = found[2]
    for pattern, ours in _MESSAGES:
        if match := pattern.fullmatch(said):
            said = match.expand(ours)
            break
    token = _TOKEN.match(source.text, start)
    return _Refusal(source.located(said, start, token.end() if token else start), start)
