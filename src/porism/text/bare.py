r"""LaTeX without delimiters: in `Proof that n^{3}+2n is divisible by 3` the formula is found without dollar signs."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FUNCTIONS = "sin cos tan cot sec csc log ln exp lim max min sup inf det gcd lcm mod arg deg dim ker sinh cosh tanh arcsin arccos arctan"
_WORD = re.compile(r"\S+")
# A command, a script, a set symbol: nobody types these by accident.
_SURE = re.compile(r"\\[a-zA-Z]{2,}|\\[{}|,;!]|[\^]|_[{A-Za-z0-9]|[∀-⋿⟨⟩ℝℕℤℚℂ]")
_WEAK = re.compile(r"[A-Za-z]'?|[0-9.,]*[0-9]!?|[-+*/=<>≤≥±×·|(){}\[\],:]+|\\[a-zA-Z]*|" + "|".join(_FUNCTIONS.split()))
_LETTERS = re.compile(r"[A-Za-z]+")
_OPERATOR = re.compile(
    r"[A-Za-z0-9)\]!.]\s*(?:[-+*/=<>≤≥|]|:=)+\s*[A-Za-z0-9(\[|-]|[A-Za-z]\([^()\s]*\)|^[A-Za-z0-9]!$|^\|.+\|$"
)
_SHORT = frozenset([*_FUNCTIONS.split(), "dx", "dy", "dt", "dz", "ab", "ba", "xy", "pi", "bc", "ac", "aa", "bb"])
_WILDCARD = re.compile(r"\?[A-Za-z]")
_ENDS = " ,.;:?!\"'"
_ARTICLES = frozenset(("a", "A", "I", ",", ":", ";", "|", "-", "(", ")"))


def split_bare(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text in order, each with whether it is a formula."""
    tokens = list(_WORD.finditer(text))
    kinds = [_kind(token[0]) for token in tokens]
    _close_braces(tokens, kinds)
    at = 0
    for first, last in _runs(tokens, kinds):
        start, end = _trim(text, tokens[first].start(), tokens[last].end())
        if start > at:
            yield text[at:start], False
        yield text[start:end], True
        at = end
    if at < len(text):
        yield text[at:], False


def _kind(token: str) -> str:
    """Return `sure` for mathematics, `weak` for what is mathematics beside other mathematics, `` for a word."""
    core = token.strip(_ENDS)
    if "://" in core:
        return ""
    if _SURE.search(core) or core in ("=", "≤", "≥", "<", ">"):
        return "sure"
    letters = _LETTERS.findall(core)
    longest = 2 if "=" in core else 1  # in ax+by=c two letters are a product
    plain = all(len(run) <= longest or run.lower() in _SHORT for run in letters)
    if plain and _OPERATOR.search(core):
        return "sure"
    return "weak" if not core or _WEAK.fullmatch(core) or (plain and not core.isalpha()) else ""


def _close_braces(tokens: list[re.Match[str]], kinds: list[str]) -> None:
    """Extend a formula with an open brace to the token that closes it."""
    depth = 0
    for number, token in enumerate(tokens):
        if depth > 0:
            kinds[number] = "sure"
        if kinds[number] == "sure":
            depth = max(0, depth + token[0].count("{") - token[0].count("}"))
    if depth:  # never closed: it was no group
        kinds[:] = [_kind(token[0]) for token in tokens]


def _runs(tokens: list[re.Match[str]], kinds: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the longest runs of sure and weak tokens with a sure one, without articles and single signs at their ends."""
    number = 0
    while number < len(tokens):
        if not kinds[number]:
            number += 1
            continue
        first = last = number
        while last + 1 < len(tokens) and kinds[last + 1] and tokens[last][0][-1] not in ",;?":
            last += 1
        number = last + 1
        while first <= last and (tokens[first][0] in _ARTICLES or not tokens[first][0].strip(_ENDS)):
            first += 1
        while last >= first and (tokens[last][0] in _ARTICLES or not tokens[last][0].strip(_ENDS)):
            last -= 1
        if first <= last and "sure" in kinds[first : last + 1] and not _lonely(tokens, first, last):
            yield first, last


def _lonely(tokens: list[re.Match[str]], first: int, last: int) -> bool:
    """Return whether a run is a single sign, which is no formula."""
    return first == last and len(tokens[first][0].strip(_ENDS)) < 2


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return start and end without the punctuation of the sentence."""
    while end > start and (text[end - 1] in ",;:?" or (text[end - 1] == "." and text[end - 2 : end - 1] != ".")):
        end -= 1
    while start < end and text[start] in ",;:?" and not _WILDCARD.match(text, start):
        start += 1
    return start, end
