"""Repair user LaTeX for the converter. Each repair has a name; tables such as `repairs.tsv` list them."""

from __future__ import annotations

import functools
import html
import re
from importlib import resources
from typing import NamedTuple

from porism.formula.latex.editable import Edit, EditableLatex
from porism.formula.latex.macros import DEFINES, Macros, expand_macros

# The converter accepts texts with these marks but misreads them, so they are prepared before the first try.
_MARKS = ("$", "%", "</", "<br", "\\qvar@", "command", "\\DeclareMath", "def", "\\let", "\\(", "\\[")
_MARKED_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00b2\u00b3\u00b9\u00bc-\u00be\u2044\u2070-\u209f\u2153-\u215e\u2c7c"
    r"\ufffe\uffff\ud800-\udfff]"
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
    "eqalign": "aligned", "eqalignno": "aligned", "displaylines": "gathered", "substack": "matrix", "mat": "pmatrix",
}  # fmt: skip
_PARENTHESES = re.compile(r"(?<!\\)((?:\\\\)*)\\[()]")
_ESCAPED_OR_DOLLAR = re.compile(r"\\.|\$", re.DOTALL)
_TEXT = re.compile(r"\\(?:text\w*|mbox|hbox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def _rows(name: str) -> list[list[str]]:
    text = resources.files("porism.formula.latex").joinpath(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


class PatternRepair(NamedTuple):
    """A row of `repairs.tsv`."""

    name: str
    pattern: re.Pattern[str]
    replacement: str


@functools.cache
def pattern_repairs() -> list[PatternRepair]:
    """Return the repairs of `repairs.tsv` in order."""
    found = []
    for name, pattern, replacement, _ in _rows("repairs.tsv"):
        if pattern.startswith(r"\\"):  # a command, not the second half of `\\b`, a line break and a letter
            pattern = rf"(?<!(?<!\\)\\){pattern}"
        found.append(PatternRepair(name, re.compile(pattern), replacement))
    return found


@functools.cache
def commands() -> dict[str, str]:
    """Return the commands of `commands.tsv` as macros for the converter."""
    return {row[0]: row[1] for row in _rows("commands.tsv")}


@functools.cache
def _environments() -> dict[str, str]:
    return {row[0]: row[1] if len(row) > 1 else "" for row in _rows("environments.tsv")}


@functools.cache
def _unicode() -> tuple[re.Pattern[str], dict[str, str]]:
    table = {row[0]: row[1] for row in _rows("unicode.tsv")}
    return re.compile("[" + "".join(table) + "]"), table


def needs_preparation(latex: str) -> bool:
    """Check whether a text must be prepared before conversion. Cheap, because most texts need no preparation."""
    for mark in _MARKS:
        if mark in latex:
            return True
    if "&" in latex and _ENTITY.search(latex):
        return True
    if "\\begin" in latex and any(found[2] in _environments() for found in _ENVIRONMENT.finditer(latex)):
        return True
    return not (latex.isascii() and latex.isprintable()) and _MARKED_CHARACTERS.search(latex) is not None


def prepare(source: EditableLatex, macros: Macros | None = None, wildcards: bool = False) -> None:
    """Apply the repairs that are right for all: entities, dollars, macros, environments, wildcards."""
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
        source.replace(wrapped.end(group), len(source.text), "")
        source.replace(0, wrapped.start(group), "")
        source.note_repair("dollar signs")
    if macros or DEFINES.search(source.text):
        expand_macros(source, macros)
    source.sub(_QVAR, _wildcard, "wildcards")
    if wildcards:
        source.sub(_WILDCARD, r"\\qvar{\1}", "wildcards")
    if "\\begin" in source.text:
        source.sub(_ENVIRONMENT, _renamed, "environment names")
    source.sub(_unicode()[0], lambda found: _unicode()[1][found[0]], "Unicode")
    source.sub(_PARENTHESES, r"\1$", "dollar signs")
    if "$" in source.text:
        _dollars(source)


def repair(source: EditableLatex) -> None:
    """Apply the repairs for a text that the converter refuses."""
    for name, pattern, new in pattern_repairs():
        source.sub(pattern, new, name)
    _braced_tables(source)
    source.sub(_ENTITY, _unescaped, "HTML entities")
    _Balancer(source).run()


# What to insert at the position of a complaint of the converter: complaint, text, name of the repair.
_INSERTIONS = {
    "an argument is missing at the end": ("{}", "missing arguments"),
    "an argument is missing": ("{}", "missing arguments"),
    "a script has no text": ("{}", "missing arguments"),
    "a second script at the same place": ("{}", "double scripts"),
    "\\left needs a bracket": (".", "delimiters"),
    "\\right needs a bracket": (".", "delimiters"),
}


def repair_at(source: EditableLatex, complaint: str, at: int) -> bool:
    """Repair one position that the converter complains about. Return False when no repair is known."""
    if complaint.startswith("unknown environment "):
        name = re.escape(complaint.removeprefix("unknown environment "))
        return source.sub(re.compile(rf"\\(?:begin|end)\s*\{{\s*{name}\s*\}}"), "", "environments")
    if complaint not in _INSERTIONS:
        return False
    text, name = _INSERTIONS[complaint]
    source.replace(at, at, text)
    source.note_repair(name)
    return True


def _unescaped(found: re.Match[str]) -> str:
    char = html.unescape(found[0])
    # A character that cannot occur in a formula stays as it was typed.
    return found[0] if _CONTROL.search(char) else {"\xa0": "~", "\\": "\\backslash "}.get(char, char)


def _wildcard(found: re.Match[str]) -> str:
    """Undo what LaTeXML with the wildcard package did: it read a question mark and its neighbour as a wildcard."""
    name = found[1].strip()
    if name == "missing":
        return "?"
    return f"\\qvar{{{name}}}" if re.fullmatch(r"[A-Za-z0-9]+", name) else "?" + name


def _renamed(found: re.Match[str]) -> str:
    new = _environments().get(found[2])
    return found[0] if new is None else f"\\{found[1]}{{{new}}}" if new else ""


def _dollars(source: EditableLatex) -> None:
    """Replace dollar signs: inside `\\text{if $x>0$}` they end and begin text, elsewhere they are stray."""
    text, at, out = source.text, 0, []
    while True:
        found = _TEXT.search(text, at)
        end = found.start() if found else len(text)
        out += [(mark.start(), "") for mark in _ESCAPED_OR_DOLLAR.finditer(text, at, end) if mark[0] == "$"]
        if not found:
            break
        depth, position, math = 1, found.end(), False
        while position < len(text) and depth:
            char = text[position]
            if char == "\\":
                position += 2
                continue
            if char == "$":
                out.append((position, found[0] if math else "}"))
                math = not math
            depth += (char == "{") - (char == "}")
            position += 1
        if math:
            out.pop()
        at = position
    for position, new in out:
        if not new:
            source.note_problem("stray $", position, position + 1)
    source.apply(Edit(position, position + 1, new) for position, new in out)
    if out:
        source.note_repair("dollar signs")


def _braced_tables(source: EditableLatex) -> None:
    """Rewrite plain TeX's `\\matrix{a & b \\cr c & d}` as an environment."""
    tables = {found.end() - 1: found for found in _BRACED.finditer(source.text)}
    if not tables:
        return
    edits: list[Edit] = []
    opened: list[re.Match[str] | None] = []  # the tables and other groups that are open
    for brace in _BRACE.finditer(source.text):
        if brace[0] == "{":
            opened.append(tables.get(brace.start()))
        elif brace[0] == "}" and opened:
            table = opened.pop()
            if table is not None:
                edits += _as_environment(table, brace.start(), brace.end())
    end = len(source.text)
    for table in opened:
        if table is not None:
            edits += _as_environment(table, end, end)
    edits.sort(key=lambda edit: edit.start)
    source.apply(edits)
    source.note_repair("old tables")


def _as_environment(table: re.Match[str], start: int, end: int) -> list[Edit]:
    """Return the edits that make an environment of a table whose closing brace is here."""
    name = _BRACED_AS.get(table[1], table[1])
    return [Edit(table.start(), table.end(), f"\\begin{{{name}}}"), Edit(start, end, f"\\end{{{name}}}")]


_BALANCED = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\(?:left|right)(?![A-Za-z])|\\.|[{}&]", re.DOTALL)
_ENVIRONMENT_NAME = re.compile(r"\{([^{}]*+)\}")
_CLOSERS = {"{": "}", "left": "\\right."}
_REPAIRS = {"{": "braces", "left": "delimiters", "cells": "cells"}
_SHOWN = {"{": "{", "left": "\\left"}


class _Open(NamedTuple):
    """An unclosed opening: `{`, `left`, or the name of an environment, and its position."""

    kind: str
    start: int
    end: int


class _Balancer:
    """Balances braces, environments and `\\left ... \\right` in one pass from the left: closes what is never closed,
    removes or opens what is never opened, and notes a problem for each one that had no partner."""

    def __init__(self, source: EditableLatex) -> None:
        self.source = source
        self.stack: list[_Open] = []
        self.environments = 0  # on the stack
        self.edits: list[Edit] = []
        self.cells = False

    def take(self, mark: str, start: int, end: int) -> None:
        """Handle the next brace, command or cell mark."""
        if mark == "{":
            self.stack.append(_Open("{", start, end))
        elif mark == "}":
            self.close("{", start, end, "} closes nothing", past=("left",))
        elif mark == "\\left":
            self.stack.append(_Open("left", start, end))
        elif mark == "\\right":
            self.right(start, end)
        elif mark in ("&", "\\\\"):
            self.cell(mark, start, end)
        elif mark.startswith("\\begin"):
            self.stack.append(_Open(_name(mark), start, end))
            self.environments += _name(mark) not in _CLOSERS
        elif mark.startswith("\\end"):
            self.close(_name(mark), start, end, f"\\end{{{_name(mark)}}} has no \\begin")

    def close(self, kind: str, start: int, end: int, complaint: str, past: tuple[str, ...] | None = None) -> None:
        """Close the innermost opening of a kind and everything inside it; without one remove the mark."""
        for at in range(len(self.stack) - 1, -1, -1):
            if self.stack[at].kind == kind:
                self.close_above(at + 1, start)
                self.pop()
                return
            if past is not None and self.stack[at].kind not in past:
                break
        self.edits.append(Edit(start, end, ""))
        self.note(kind, complaint, start, end)

    def pop(self) -> _Open:
        top = self.stack.pop()
        self.environments -= top.kind not in _CLOSERS
        return top

    def close_above(self, level: int, at: int) -> None:
        while len(self.stack) > level:
            kind, start, end = self.pop()
            self.edits.append(Edit(at, at, _CLOSERS.get(kind) or f"\\end{{{kind}}}"))
            shown = _SHOWN.get(kind) or f"\\begin{{{kind}}}"
            self.note(kind, f"{shown} is never closed", start, end)

    def right(self, start: int, end: int) -> None:
        """Pair a `\\right` with its `\\left`, or insert one."""
        if self.stack and self.stack[-1].kind == "left":
            self.stack.pop()
        else:
            self.edits.append(Edit(start, start, "\\left."))
            self.note("left", "\\right has no \\left", start, end)

    def cell(self, mark: str, start: int, end: int) -> None:
        """End a cell or row of a table: nothing may stay open in it. Outside a table there are no cells."""
        if self.environments:
            while self.stack[-1].kind in _CLOSERS:
                kind, first, last = self.pop()
                self.edits.append(Edit(first, last, "") if kind == "{" else Edit(start, start, _CLOSERS[kind]))
                self.note(kind, f"{_SHOWN[kind]} crosses the cells of a table", first, last)
        elif mark == "&":
            if self.stack:
                self.edits.append(Edit(start, end, ""))
            else:
                self.cells = True
            self.note("cells", "& outside a table", start, end)

    def note(self, kind: str, complaint: str, start: int, end: int) -> None:
        self.source.note_repair(_REPAIRS.get(kind, "environments"))
        self.source.note_problem(complaint, start, end)

    def run(self) -> None:
        """Balance the text."""
        for found in _BALANCED.finditer(self.source.text):
            self.take(found[0], *found.span())
        end = len(self.source.text)
        self.close_above(0, end)
        if self.cells:
            self.edits += [Edit(0, 0, "\\begin{matrix}"), Edit(end, end, "\\end{matrix}")]
        # At one position insertions come first, in the order in which they were made.
        self.source.apply(sorted(self.edits, key=lambda edit: (edit.start, edit.end)))


def _name(mark: str) -> str:
    found = _ENVIRONMENT_NAME.search(mark)
    return found[1].strip() if found else ""
