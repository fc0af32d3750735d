"""Protect the converter from unclosed brackets, which cost it exponential time.

math-core searches the partner of every opening bracket and starts again when there is none, which doubles its work with each unclosed
bracket: with thirty of them it never ends. It does not search in a group with other content, so `(` becomes `{({}}` where too many are
unclosed. The result looks the same.
"""

from __future__ import annotations

import re

# So many unclosed brackets cost nothing yet.
MAX_UNCLOSED = 6

_OPEN = (
    r"(?:\\[bB]igg?[lrm]?\s*)?(?:[(\[]|\\\{|\\l(?:brace|brack|angle|ceil|floor|vert|Vert|group|moustache|paren|bracket|Angle)(?![A-Za-z])"
    r"|\\(?:ulcorner|llcorner|llbracket|lBrace|llparenthesis|lbag|langle)(?![A-Za-z]))"
)
_CLOSE = (
    r"(?:\\[bB]igg?[lrm]?\s*)?(?:[)\]]|\\\}|\\r(?:brace|brack|angle|ceil|floor|vert|Vert|group|moustache|paren|bracket|Angle)(?![A-Za-z])"
    r"|\\(?:urcorner|lrcorner|rrbracket|rBrace|rrparenthesis|rbag|rangle)(?![A-Za-z]))"
)
_MARK = re.compile(
    rf"(?P<skip>\\(?:left|right|middle)\s*(?:\\[A-Za-z]+|\\?.))|(?P<open>{_OPEN})|(?P<close>{_CLOSE})|\\\\|\\.|[{{}}&]",
    re.DOTALL,
)
_BARE = re.compile(r"^\\[bB]igg?[lrm]?(?![A-Za-z])\s*")


def protect_brackets(latex: str) -> str:
    """Return the text with its unclosed opening brackets protected when there are many; nearly all texts stay as they are."""
    if (
        latex.count("(") + latex.count("[") + latex.count("\\l") + latex.count("\\{") + latex.count("corner")
        <= MAX_UNCLOSED
    ):
        return latex
    unclosed = _unclosed(latex)
    if len(unclosed) <= MAX_UNCLOSED:
        return latex
    for start, end in sorted(unclosed, reverse=True):
        latex = f"{latex[:start]}{{{_BARE.sub('', latex[start:end])}{{}}}}{latex[end:]}"
    return latex


def _unclosed(latex: str) -> list[tuple[int, int]]:
    """Return the positions of opening brackets that nothing closes within their own braces and cell."""
    unclosed: list[tuple[int, int]] = []
    stack: list[tuple[int, int] | None] = []
    for found in _MARK.finditer(latex):
        if found["open"]:
            stack.append(found.span())
        elif found["close"]:
            if stack and stack[-1] is not None:
                stack.pop()
        elif found[0] == "{":
            stack.append(None)
        elif found[0] in ("}", "&", "\\\\"):
            while stack and (top := stack[-1]) is not None:
                unclosed.append(top)
                stack.pop()
            if found[0] == "}" and stack:
                stack.pop()
    return unclosed + [span for span in stack if span is not None]
