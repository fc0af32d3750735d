"""Protect the converter from nested brackets, which can cost it exponential time.

math-core searches the partner of every opening bracket and starts again when there is none, which doubles its work with
each unclosed bracket: with thirty of them it never ends. `\\bigl` makes an opening bracket of any sign. It does not
search in a group with other content, so `(` becomes `{({}}` where too many are unclosed. The result looks the same.
Closed brackets can cost as much when they are nested, and a closing one that is the argument of a command (`\\norm)`)
closes nothing, so only a text with few opening brackets (`has_few_brackets`) is cheap for sure."""

from __future__ import annotations

import re
import unicodedata
from importlib.resources import files

# So many brackets cost nothing yet, unclosed or however they are nested.
MAX_UNCLOSED = 6
MAX_BRACKETS = 10


def _closing(command: str) -> str:
    """Return the command that closes a bracket: `\\rrbracket` of `\\llbracket`, `\\urcorner` of `\\ulcorner`."""
    if "corner" in command:
        return command[:2] + "r" + command[3:]
    letters = len(command[1:]) - len(command[1:].lstrip("l"))
    return "\\" + "r" * letters + command[1 + letters :]


def _pattern(tokens: list[str]) -> str:
    """Return a pattern of tokens; a command ends where its letters end."""
    commands = sorted((token[1:] for token in tokens if token[1:].isalpha()), key=len, reverse=True)
    symbols = "|".join(re.escape(token) for token in tokens if not token[1:].isalpha())
    return rf"(?:\\(?:{'|'.join(commands)})(?![A-Za-z])|{symbols})"


_SIZE = r"(?:\\[bB]igg?m?\s*+)?"
_SIGN = r"\s*+(?:\\[A-Za-z]+|\\?.)"
_LEFT, _RIGHT = rf"\\[bB]igg?l(?![A-Za-z]){_SIGN}", rf"\\[bB]igg?r(?![A-Za-z]){_SIGN}"
_LINES = (files("porism.formula.latex") / "openers.tsv").read_text("utf-8").splitlines()
_OPENERS = [line for line in _LINES if line and not line.startswith("#")]
_OPEN = f"{_LEFT}|{_SIZE}{_pattern(_OPENERS)}"
_CLOSERS = [chr(code) for code in range(0x3020) if unicodedata.category(chr(code)) in ("Pe", "Pf") and chr(code) != "}"]
_CLOSE = f"{_RIGHT}|{_SIZE}" + _pattern(
    ["\\}", "⎱", *_CLOSERS, *{_closing(token) for token in _OPENERS if token.startswith(("\\l", "\\u"))}]
)
_COMMAND_STARTS = (
    *sorted({token[:2] for token in _OPENERS if token[0] == "\\"}),
    *(rf"\{size}l" for size in ("big", "Big", "bigg", "Bigg")),
)
_ANY_OPEN = re.compile(f"{_LEFT}|{_pattern(_OPENERS)}", re.DOTALL)
_MARK = re.compile(
    rf"(?P<skip>\\(?:left|right|middle)\s*(?:\\[A-Za-z]+|\\?.))|(?P<open>{_OPEN})|(?P<close>{_CLOSE})|\\\\|\\.|[{{}}&]",
    re.DOTALL,
)
_BARE = re.compile(r"^\\[bB]igg?[lrm]?(?![A-Za-z])\s*")


def protect_brackets(latex: str) -> str:
    """Return the text with its unclosed brackets protected if there are many, as in few texts."""
    unclosed = [] if has_few_brackets(latex, MAX_UNCLOSED) else _unclosed(latex)
    if len(unclosed) <= MAX_UNCLOSED:
        return latex
    for start, end in sorted(unclosed, reverse=True):
        latex = f"{latex[:start]}{{{_BARE.sub('', latex[start:end])}{{}}}}{latex[end:]}"
    return latex


def has_few_brackets(latex: str, number: int = MAX_BRACKETS) -> bool:
    """Return whether opening brackets are so few that the converter takes linear time; mostly without a search."""
    if len(latex) <= number:
        return True
    if latex.isascii():
        brackets = latex.count("(") + latex.count("[")
        if brackets + latex.count("\\") <= number:
            return True
        for start in _COMMAND_STARTS:
            brackets += latex.count(start)
        if brackets <= number:
            return True
    return len(_ANY_OPEN.findall(latex)) <= number


def _unclosed(latex: str) -> list[tuple[int, int]]:
    """Return the positions of opening brackets that nothing closes within their own braces and cell."""
    unclosed: list[tuple[int, int]] = []
    stack: list[tuple[int, int] | None] = []
    for found in _MARK.finditer(latex):
        mark = found[0]
        if found["open"]:
            stack.append(found.span())
        elif found["close"]:
            if stack and stack[-1] is not None:
                stack.pop()
        elif mark == "{":
            stack.append(None)
        elif mark in ("}", "&", "\\\\"):
            while stack and (top := stack[-1]) is not None:
                unclosed.append(top)
                stack.pop()
            if mark == "}" and stack:
                stack.pop()
    return unclosed + [span for span in stack if span is not None]
