"""Text that would make the converter try for ever.

math-core looks for the partner of every opening bracket and starts again when there is none, which doubles its work with each lone
bracket: thirty of them never end. An opening bracket that shares a group with something else is not looked at, so `(` becomes `{({}}`
where too many are alone; the drawing is the same.
"""

from __future__ import annotations

import re

# So many lone brackets cost nothing yet.
MAX_LONE = 6

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


def tame(latex: str) -> str:
    """The same text when it is harmless, which nearly all are; else with lone opening brackets made harmless."""
    if (
        latex.count("(") + latex.count("[") + latex.count("\\l") + latex.count("\\{") + latex.count("corner")
        <= MAX_LONE
    ):
        return latex
    lone = _lone(latex)
    if len(lone) <= MAX_LONE:
        return latex
    for start, end in sorted(lone, reverse=True):
        latex = f"{latex[:start]}{{{_BARE.sub('', latex[start:end])}{{}}}}{latex[end:]}"
    return latex


def _lone(latex: str) -> list[tuple[int, int]]:
    """Where opening brackets stand that nothing closes within their own braces and cell."""
    lone: list[tuple[int, int]] = []
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
                lone.append(top)
                stack.pop()
            if found[0] == "}" and stack:
                stack.pop()
    return lone + [span for span in stack if span is not None]
