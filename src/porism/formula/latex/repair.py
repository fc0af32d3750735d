"""User LaTeX becomes LaTeX that a converter takes. Each repair has a name; patterns are data (`repairs.tsv` and its neighbours)."""

from __future__ import annotations

import functools
import html
import re
from importlib import resources

from porism.formula.latex.balance import balance
from porism.formula.latex.macros import DEFINES, Macros, expand_macros
from porism.formula.latex.source import Source

# What a converter would take but read wrongly: these texts are repaired before the first try.
_SUSPECT = ("$", "%", "</", "<br", "\\qvar@", "command", "\\DeclareMath", "def", "\\let", "\\(", "\\[")
_SUSPECT_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00b2\u00b3\u00b9\u00bc-\u00be\u2044\u2070-\u209f\u2153-\u215e\u2c7c\ufffe\uffff\ud800-\udfff]"
)
_WRAPPED = re.compile(r"\s*(?:(\$\$?)(.*)\1|\\\[(.*)\\\]|\\\((.*)\\\))\s*\Z", re.DOTALL)
_ENTITY = re.compile(r"&(?:[a-zA-Z][a-zA-Z0-9]*|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_CUT_ENTITY = re.compile(r"&(?:lt|gt|amp|nbsp|quot)(?=[^;])")
_TAG = re.compile(r"</?(?:p|br|em|strong|span|div|sub|sup|code|blockquote|ul|li)\s*/?>")
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*\n?")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([A-Za-z]+\*?)\s*\}")
_QVAR = re.compile(r"\\qvar@construct\s*\{([^{}]*)\}")
_WILDCARD = re.compile(r"\?([A-Za-z][A-Za-z0-9]*)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_BRACED = re.compile(r"\\(eqalign|eqalignno|displaylines|cases|matrix|pmatrix|bmatrix|vmatrix|substack|mat)\s*\{")
_BRACED_AS = {
    "eqalign": "aligned",
    "eqalignno": "aligned",
    "displaylines": "gathered",
    "substack": "matrix",
    "mat": "pmatrix",
}
_PARENTHESES = re.compile(r"(?<!\\)((?:\\\\)*)\\[()]")
_ESCAPED_OR_DOLLAR = re.compile(r"\\.|\$", re.DOTALL)
_TEXT = re.compile(r"\\(?:text\w*|mbox|hbox)\s*\{")


def _rows(name: str) -> list[list[str]]:
    text = resources.files("porism.formula.latex").joinpath(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


@functools.cache
def patterns() -> list[tuple[str, re.Pattern[str], str]]:
    """Name, pattern and replacement of every repair of `repairs.tsv`, in order."""
    return [(row[0], re.compile(row[1]), row[2]) for row in _rows("repairs.tsv")]


@functools.cache
def commands() -> dict[str, str]:
    """Commands that the converter is taught, as macros."""
    return {row[0]: row[1] for row in _rows("commands.tsv")}


@functools.cache
def _environments() -> dict[str, str]:
    return {row[0]: row[1] if len(row) > 1 else "" for row in _rows("environments.tsv")}


@functools.cache
def _unicode() -> tuple[re.Pattern[str], dict[str, str]]:
    table = {row[0]: row[1] for row in _rows("unicode.tsv")}
    return re.compile("[" + "".join(table) + "]"), table


def suspect(latex: str) -> bool:
    """Whether a text must be prepared before the converter sees it; cheap, because most must not."""
    for mark in _SUSPECT:
        if mark in latex:
            return True
    if ("&" in latex and _ENTITY.search(latex)) or ("\\begin" in latex and _renamed(latex)):
        return True
    return not (latex.isascii() and latex.isprintable()) and _SUSPECT_CHARACTERS.search(latex) is not None


def _renamed(latex: str) -> bool:
    return any(found[2] in _environments() for found in _ENVIRONMENT.finditer(latex))


def prepare(source: Source, macros: Macros | None = None, wildcards: bool = False) -> None:
    """Repairs that are right for every text: entities, dollar signs, macros, numbered environments, wildcards."""
    source.sub(_CONTROL, " ", "control characters")
    if "&" in source.text:
        for _ in range(2):
            source.sub(_ENTITY, _unescaped, "HTML entities")
        if "\\begin" not in source.text:
            source.sub(_CUT_ENTITY, lambda found: html.unescape(found[0] + ";"), "HTML entities")
    if "</" in source.text or "<br" in source.text:
        source.sub(_TAG, " ", "HTML tags")
    if "%" in source.text:
        source.sub(_COMMENT, r"\1", "comments")
    wrapped = _WRAPPED.match(source.text)
    if wrapped:
        group = next(number for number in (2, 3, 4) if wrapped[number] is not None)
        source.splice(wrapped.end(group), len(source.text), "")
        source.splice(0, wrapped.start(group), "")
        source.repaired("dollar signs")
    if macros or DEFINES.search(source.text):
        expand_macros(source, macros)
    source.sub(_QVAR, _wildcard, "wildcards")
    if wildcards:
        source.sub(_WILDCARD, r"\\qvar{\1}", "wildcards")
    if "\\begin" in source.text:
        source.sub(_ENVIRONMENT, _drawn, "environment names")
    source.sub(_unicode()[0], lambda found: _unicode()[1][found[0]], "Unicode")
    source.sub(_PARENTHESES, r"\1$", "dollar signs")
    if "$" in source.text:
        _dollars(source)


def mend(source: Source) -> None:
    """Repairs for a text that the converter refuses."""
    for name, pattern, new in patterns():
        source.sub(pattern, new, name)
    _braced_tables(source)
    source.sub(_ENTITY, _unescaped, "HTML entities")
    balance(source)


# What the converter complains of, and what put at that place helps: complaint, text, name of the repair.
_NUDGES = {
    "an argument is missing at the end": ("{}", "missing arguments"),
    "an argument is missing": ("{}", "missing arguments"),
    "a script has no text": ("{}", "missing arguments"),
    "a second script at the same place": ("{}", "double scripts"),
    "\\left needs a bracket": (".", "delimiters"),
    "\\right needs a bracket": (".", "delimiters"),
}


def nudge(source: Source, complaint: str, at: int) -> bool:
    """One small repair at the place that the converter names; False when none is known."""
    if complaint.startswith("unknown environment "):
        name = re.escape(complaint.removeprefix("unknown environment "))
        return source.sub(re.compile(rf"\\(?:begin|end)\s*\{{\s*{name}\s*\}}"), "", "environments")
    if complaint not in _NUDGES:
        return False
    text, name = _NUDGES[complaint]
    source.splice(at, at, text)
    source.repaired(name)
    return True


def _unescaped(found: re.Match[str]) -> str:
    char = html.unescape(found[0])
    # A character that has no place in a formula stays as it was typed.
    return found[0] if _CONTROL.search(char) else {"\xa0": "~", "\\": "\\backslash "}.get(char, char)


def _wildcard(found: re.Match[str]) -> str:
    """LaTeXML with the wildcard package took a question mark and its neighbour for a wildcard."""
    name = found[1].strip()
    if name == "missing":
        return "?"
    return f"\\qvar{{{name}}}" if re.fullmatch(r"[A-Za-z0-9]+", name) else "?" + name


def _drawn(found: re.Match[str]) -> str:
    kind, name = found[1], found[2]
    if name not in _environments():
        return found[0]
    drawn = _environments()[name]
    return f"\\{kind}{{{drawn}}}" if drawn else ""


def _dollars(source: Source) -> None:
    """Inside `\\text{if $x>0$}` a dollar leaves text and enters it again; elsewhere it is stray."""
    text, at, out = source.text, 0, []
    while True:
        found = _TEXT.search(text, at)
        end = found.start() if found else len(text)
        out += [(mark.start(), "") for mark in _ESCAPED_OR_DOLLAR.finditer(text, at, end) if mark[0] == "$"]
        if not found:
            break
        depth, spot, math = 1, found.end(), False
        while spot < len(text) and depth:
            char = text[spot]
            if char == "\\":
                spot += 2
                continue
            if char == "$":
                out.append((spot, found[0] if math else "}"))
                math = not math
            depth += (char == "{") - (char == "}")
            spot += 1
        if math:
            out.pop()
        at = spot
    for spot, new in out:
        if not new:
            source.problem("stray $", spot, spot + 1)
    for spot, new in reversed(out):
        source.splice(spot, spot + 1, new)
    if out:
        source.repaired("dollar signs")


def _braced_tables(source: Source) -> None:
    """Plain TeX's `\\matrix{a & b \\cr c & d}` becomes an environment."""
    changed = False
    while True:
        found = _BRACED.search(source.text)
        if not found:
            break
        depth, spot = 1, found.end()
        while spot < len(source.text) and depth:
            char = source.text[spot]
            depth += (char == "{") - (char == "}")
            spot += 2 if char == "\\" else 1
        name = _BRACED_AS.get(found[1], found[1])
        source.splice(min(spot, len(source.text)) - (depth == 0), min(spot, len(source.text)), f"\\end{{{name}}}")
        source.splice(found.start(), found.end(), f"\\begin{{{name}}}")
        changed = True
    if changed:
        source.repaired("old tables")
