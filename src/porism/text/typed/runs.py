"""Where the formulas are in text without delimiters: runs of chunks that look like mathematics, with a sign that no
word has.

A chunk is what stands between blanks. Single letters, numbers and names of functions are mathematics only beside a
sign: `a`, `i`, `sum of n` and `log in` remain words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from porism.text.typed.tokens import SCRIPTS, is_name, names
from porism.text.words import stopwords

Kind = Literal["sure", "weak", "link", "word"]
# Letters that are never mathematics: with accents, and of scripts other than Latin and Greek. Chinese, Japanese and
# Thai are written without blanks.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_FOREIGN = re.compile(f"[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0400-\u06ff\u0900-\u0dff{_UNSPACED}\uac00-\ud7af]")
_CHUNK = re.compile(rf"[{_UNSPACED}]+|[^\s{_UNSPACED}]+")
_ENDS = " ,.;:?!\"'“”‘’"
_LETTERS = re.compile(r"[A-Za-z]+")
# A command, a script, a symbol of sets or calculus, a Greek letter, a wildcard: nobody types these by accident.
_SURE = re.compile(
    r"\\[A-Za-z]{2,}|\\[{}|,;!]|\^|(?<=[\w)\]])\*\*(?=[\w(])|(?<=[A-Za-z)\]}∑∫∏])_[{(A-Za-z0-9]"
    r"|\?[A-Za-z]\b(?=\S)|(?<=\S)\?[A-Za-z]\b"
    rf"|[±×÷{SCRIPTS}\u0370-\u03ff\u2070-\u209f\u2100-\u214f\u2190-\u23ff\u27c0-\u27ef\u2900-\u2bff\u1d2c-\u1d6a\u2c7c"
    r"\U0001d400-\U0001d7ff〖▒■¦]"
)
_OPERAND_END, _OPERAND_START = r"[A-Za-z0-9)\]!.'|}]", r"[A-Za-z0-9(\[{|√-]"
_OPERATOR = re.compile(
    rf"{_OPERAND_END}\s*(?:[+*/=<>]|-(?!\s)|[<>!=]=|:=|->|=>)\s*{_OPERAND_START}"
    r"|(?<![A-Za-z])[A-Za-z]+\d*'*\("  # f(
    r"|(?<![A-Za-z])[A-Za-z0-9]\|[A-Za-z0-9](?![A-Za-z])"  # a|b
    r"|(?<![A-Za-z])[A-Z]\[[a-z,]+\]"  # Z[x]
    r"|^n[CP][rk]$|^\d+C\d+$"  # nCr, 5C2
    r"|^\{[^{},]*+,[^{}]*+\}$|\d\.\.\."  # {1, 2}, 1...
    r"|^\(?[A-Za-z0-9]+\)?!$|^\|.+\|$"  # n!, |x|
    r"|(?<![A-Za-z\d])\d++[abcijkmnpqrtuvwxyz](?![A-Za-z0-9])"  # 2x
    r"|[A-Za-z]''?(?=$|[\s)(+=-])"  # f'
)
_HAS_SIGN = re.compile(r"[=^+*<>]|_[{(A-Za-z0-9]|\w[(\[]|/\(|\)/|^[A-Z]/[A-Za-z]{1,2}$")
_ANGLE = re.compile(r"<[^<>=\s]{1,20},[^<>=\s]{1,20}>")
_PRODUCT = re.compile(r"\d*[A-Za-z]{2}'*|\d+[A-Za-z]{1,3}")
_ROOT = re.compile(r"\b(?:square|cube) root of (?:\d+|[a-zA-Z]\b|\([^()]*\)|minus one\b)", re.IGNORECASE)
_LISTED = re.compile(r"[A-Za-z]_\{?\w+\}?|\.\.+|…")
_ONLY_NUMBERS = re.compile(r"[\d\s.,:%$-]+|\d+/\d+/\d+|\d+x\d+")
_INTERVAL = re.compile(r"[(\[]\s*[-\w.∞]+\s*,\s*[-\w.∞]+\s*[)\]]")
_WORD_WITH_POINTS = re.compile(
    r"[A-Za-z]\.[A-Za-z]|://|\w@\w++\."
    # From the start of a word only, so that a long one is read once.
    r"|(?<![A-Za-z])(?:[A-Za-z]{2,}+(?:[-/][A-Za-z]{2}|'[a-z])|[A-Za-z]++-[a-z]{2})"
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|d|D)|n-?th|k-?th")
_SIGN = re.compile(r"[-+*/=<>≤≥≠|~]|->|=>|<=|>=|!=|==|<=>|:=|\+-|\|\|")
_LINKS = frozenset((
    "from", "to", "of", "as", "when", "for", "mod", "modulo", "divides", "choose", "squared", "cubed", "over",
    "approaches", "(mod", "iff", "goes", "tends", "and", "or",
))  # fmt: skip
_ARTICLES = frozenset(("a", "A", "I"))
_VALUES = frozenset(("infinity", "inf", "oo", "∞", "-infinity", "zero"))
_NEED_ARGUMENT = frozenset(("function", "named", "big", "root", "fence", "accent", "binomial"))
_JOINING = frozenset(("=", "+", "<", ">", "<=", ">=", "!=", "*", "mod", "(mod", "|", "≤", "≥", "≠", "≡", "−"))
_SHORT_PRODUCT = 3  # letters of a product such as abc that is typed without blanks beside a sign
KINDS_KEPT = 5_000  # chunks whose kind is kept: most words of a query were in another one
MAX_LENGTH = 4000  # of the searched text; a longer one is a pasted post, whose formulas have delimiters


class FormulaRun(NamedTuple):
    """A formula in a text. `latex`: it is LaTeX already; `words`: it may be words as well."""

    start: int
    end: int
    latex: bool = False
    words: bool = False


class _Chunk(NamedTuple):
    start: int
    end: int
    text: str
    core: str
    kind: Kind


def find_runs(text: str) -> list[FormulaRun]:
    """Return the formulas of a text in order."""
    if len(text) > MAX_LENGTH:
        return []
    chunks = _promoted(_closed([_chunk(found) for found in _CHUNK.finditer(text)]))
    runs: list[FormulaRun] = []
    at = 0
    while at < len(chunks):
        if chunks[at].kind in ("word", "link"):
            at += 1
            continue
        end = _extend(chunks, at)
        run = _made(text, chunks, at, end)
        runs += [run] if run else []
        at = end
    roots = (FormulaRun(*found.span(), words=True) for found in _ROOT.finditer(text))
    free = [root for root in roots if not any(run.start < root.end and root.start < run.end for run in runs)]
    return sorted((*runs, *free))


def is_words(text: str) -> bool:
    """Return whether a text is words rather than a formula: one of its chunks is a word of three letters or more."""
    return any(
        _kind(chunk) in ("word", "link") and len(max(_LETTERS.findall(chunk), key=len, default="")) > 2
        for chunk in text.split()
    )


def _chunk(found: re.Match[str]) -> _Chunk:
    core = found[0].strip(_ENDS) if not found[0].endswith(("!", "'")) else found[0].strip(' ,.;:?"“”‘’')
    core = core or (found[0].rstrip(",;") if found[0][0] in ".…⋯" else "")
    return _Chunk(found.start(), found.end(), found[0], core, _kind(core or found[0]))


@lru_cache(KINDS_KEPT)
def _kind(core: str) -> Kind:
    if core.lower() in _LINKS:
        return "link"
    if _FOREIGN.search(core) and "\\" not in core:
        return "word"
    if "\\" in core and _SURE.search(core):
        return "sure"
    if (_WORD_WITH_POINTS.search(core) and not all(map(is_name, _LETTERS.findall(core)))) or _ORDINAL.fullmatch(core):
        return "word"
    has_sign = bool(_HAS_SIGN.search(core) or _SURE.search(core))
    letters = _LETTERS.findall(re.sub(r"_\{?\(?[A-Za-z]+", "", core))  # without words in subscripts, as in `x_max`
    if not all(_is_mathematical(run, has_sign) for run in letters):
        return "word"
    if _ANGLE.fullmatch(core):
        return "sure"
    if not re.search(r"[A-Za-z0-9]", core):
        is_relation = core in names() and names()[core].kind == "relation" and core != "~"
        return "sure" if is_relation or (_SURE.search(core) and core != "…") else "weak"
    if _SURE.search(core) or (_OPERATOR.search(core) and not _ONLY_NUMBERS.fullmatch(core)):
        return "sure"
    return "weak"


def _is_mathematical(run: str, has_sign: bool) -> bool:
    """Return whether letters can be part of a formula: one letter, a name, or a short product beside a sign."""
    if len(run) == 1 or run in names() or is_name(run):
        return True
    return has_sign and len(run) <= _SHORT_PRODUCT and run.lower() not in stopwords()


def _closed(chunks: list[_Chunk]) -> list[_Chunk]:
    """Extend a chunk with an open brace to the one that closes it: `\\frac{a b}{c}` is one formula."""
    depth, found = 0, []
    for chunk in chunks:
        inside = depth > 0
        if inside or chunk.kind == "sure":
            depth = max(0, depth + chunk.text.count("{") - chunk.text.count("}"))
        found.append(chunk._replace(kind="sure") if inside else chunk)
    return found if depth == 0 else chunks


def _promoted(chunks: list[_Chunk]) -> list[_Chunk]:
    """Return the chunks with short products beside a sign as mathematics: `x^2 = 49 mod pq`, `y = xy' + 1`."""

    def joins(at: int, side: int) -> bool:
        """Return whether a sign is beside a chunk, and mathematics beyond the sign."""
        if not 0 <= at + 2 * side < len(chunks):
            return False
        return chunks[at + side].core in _JOINING and chunks[at + 2 * side].kind in ("sure", "weak")

    found = list(chunks)
    for at, chunk in enumerate(chunks):
        if chunk.kind != "word" or not _PRODUCT.fullmatch(chunk.core.strip("()")) or chunk.core.lower() in stopwords():
            continue
        if joins(at, -1) or joins(at, 1) or (at > 0 and _is_function(chunks[at - 1].core)):
            found[at] = chunk._replace(kind="weak")
    return found


def _extend(chunks: Sequence[_Chunk], start: int) -> int:
    """Return the end of the run that starts at a chunk: mathematics, and words that link it."""
    at = start + 1
    while at < len(chunks):
        chunk, before = chunks[at], chunks[at - 1]
        if before.text[-1] in "?;" or (before.text[-1] == "," and not _continues(chunks, start, at)):
            break
        if chunk.kind == "word" or _starts_another(chunks, start, at):
            break
        if chunk.kind == "link" and not _links(chunks, start, at):
            break
        at += 1
    while at > start + 1 and (chunks[at - 1].kind == "link" and chunks[at - 1].core not in ("squared", "cubed")):
        at -= 1
    return at


def _starts_another(chunks: Sequence[_Chunk], start: int, at: int) -> bool:
    """Return whether an operator begins another formula (`a = b lim x`) or is a word (`x/y limit (0,0)`)."""
    if not _is_big(chunks[at].core) or _SIGN.fullmatch(chunks[at - 1].core):
        return False
    if len(chunks[at].core) > 3 and chunks[at].core.isalpha():
        following = [chunk.core for chunk in chunks[at + 1 : at + 5]]
        return not any(core in ("from", "to", "approaches") or "->" in core or "→" in core for core in following)
    return any("=" in chunk.core for chunk in chunks[start:at])


def _continues(chunks: Sequence[_Chunk], start: int, at: int) -> bool:
    """Return whether a comma is inside a bracket of the run, or in a list of variables, `x_1, x_2, ..., x_n`."""
    if all(_LISTED.fullmatch(chunk.core) for chunk in chunks[start : at + 1]):
        return True
    joined = "".join(chunk.text for chunk in chunks[start:at])
    return sum(joined.count(sign) for sign in "([{") > sum(joined.count(sign) for sign in ")]}")


def _links(chunks: Sequence[_Chunk], start: int, at: int) -> bool:
    """Return whether a word links the mathematics before it with that behind it."""
    word = chunks[at].core.lower()
    if word in ("squared", "cubed"):
        return len(chunks[at - 1].core) <= 3
    after = chunks[at + 1] if at + 1 < len(chunks) else None
    if after is None or after.kind == "word" or after.core in _ARTICLES:
        return False
    if after.kind == "link" and word not in ("to", "as", "goes", "tends"):
        return False
    typed = [chunk.core for chunk in chunks[start:at]]
    has_operator = any(_is_big(core) for core in typed)
    if word in ("and", "or"):
        return _continues(chunks, start, at)
    if word in ("goes", "tends"):
        return after.core == "to"
    if word == "of":
        has_arrow = any(core == "to" or "->" in core or "→" in core for core in typed)
        return _is_big(typed[-1]) or typed[-1] in ("sqrt", "log") or (has_operator and has_arrow)
    if word == "from":
        return has_operator
    if word == "to":
        is_value = after.core[:1].isdigit() or after.core in _VALUES
        return has_operator or "from" in typed or (len(typed[-1]) == 1 and is_value)
    if word in ("as", "when", "for"):
        following = [chunk.core for chunk in chunks[at + 1 : at + 4]]
        return any("->" in core or "→" in core or core in ("to", "approaches") for core in following)
    return True


def _is_big(core: str) -> bool:
    name = names().get(core) or names().get(core.lower()) or names().get(core[:1])
    return name is not None and name.kind == "big"


def _made(text: str, chunks: Sequence[_Chunk], first: int, end: int) -> FormulaRun | None:
    """Return the run without articles and single signs at its ends; None if nothing in it is surely mathematics."""
    last = end - 1
    while first <= last and _is_edge(chunks, first, chunks[first], leading=True):
        first += 1
    while last >= first and _is_edge(chunks, last, chunks[last], leading=False):
        last -= 1
    if first > last:
        return None
    named = first + 1 == last and chunks[first].core.lower() in ("limit", "integral")
    if named and _INTERVAL.fullmatch(chunks[last].core):
        first = last
    start, stop = chunks[first].start, chunks[last].end  # without the punctuation of the sentence
    while stop > start and (
        text[stop - 1] in ',;:?"“”' or (text[stop - 1] == "." and text[stop - 2 : stop - 1] != ".")
    ):
        stop -= 1
    while start < stop and text[start] in ',;:"“”':
        start += 1
    source = text[start:stop]
    kinds = [chunk.kind for chunk in chunks[first : last + 1]]
    cores = [chunk.core for chunk in chunks[first : last + 1]]
    sure = "sure" in kinds or (_is_big(cores[0]) and any(re.fullmatch("d[a-z]", core) for core in cores))
    if not sure and not _is_formula(source, chunks[first : last + 1]):
        return None
    if len(source) < 2 and not _SURE.search(source):
        return None
    return FormulaRun(start, stop, latex=bool(re.search(r"\\[A-Za-z{}|]", source)), words=not sure)


def _is_formula(source: str, chunks: Sequence[_Chunk]) -> bool:
    """Return whether weak chunks together are a formula: operands and operator, function call, interval."""
    if _ONLY_NUMBERS.fullmatch(source):
        return False
    if _OPERATOR.search(source) or _INTERVAL.search(source):
        return True
    cores = [chunk.core for chunk in chunks]
    if len(cores) > 1 and not {"mod", "divides", "choose", "squared", "cubed"}.isdisjoint(cores):
        return True
    if "|" in cores[1:-1]:
        return True
    return any(_is_function(left) and right.isalnum() for left, right in pairwise(cores))


def _is_function(core: str) -> bool:
    name = names().get(core)
    return name is not None and (name.kind in ("function", "root") or core in ("det", "gcd", "lcm", "tr", "ker"))


def _is_edge(chunks: Sequence[_Chunk], at: int, chunk: _Chunk, *, leading: bool) -> bool:
    """Return whether the last chunk of a run is no part of it: an article, sign, connecting word, lone name."""
    core = chunk.core
    if not core or (_SIGN.fullmatch(core) and not (leading and core == "-")):
        return True
    if core in _ARTICLES and at + 1 < len(chunks):
        after = chunks[at + 1]
        if leading:  # `a` or `A` is a variable before a sign, and a matrix before a vector
            is_matrix = core == "A" and re.fullmatch(r"[a-zA-Z]", after.core)
            if re.match(r"[A-Za-z0-9]", after.core) and not is_matrix:
                return True
        elif after.kind == "word" and not (at and _SIGN.fullmatch(chunks[at - 1].core)):
            return True
    if not leading and core in names() and names()[core].kind in _NEED_ARGUMENT:
        return True
    return chunk.kind == "link" and core.lower() not in ("squared", "cubed")
