"""Balance braces, environments and `\\left ... \\right`, and note a problem for each one that had no partner."""

from __future__ import annotations

import re
from typing import NamedTuple

from porism.formula.latex.editable import Edit, EditableLatex

_MARK = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\(?:left|right)(?![A-Za-z])|\\.|[{}&]", re.DOTALL)
_NAME = re.compile(r"\{([^{}]*+)\}")
_CLOSERS = {"{": "}", "left": "\\right."}
_REPAIRS = {"{": "braces", "left": "delimiters", "cells": "cells"}
_SHOWN = {"{": "{", "left": "\\left"}


class _Open(NamedTuple):
    """An unclosed opening: `{`, `left`, or the name of an environment, and its position."""

    kind: str
    start: int
    end: int


def balance(source: EditableLatex) -> None:
    """Close what is never closed; remove or open what is never opened. One pass from the left."""
    balancer = _Balancer(source)
    for found in _MARK.finditer(source.text):
        balancer.take(found[0], *found.span())
    balancer.finish()


class _Balancer:
    """The openings that are not closed yet, and the edits that balance the text."""

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
        """Take the innermost opening off the stack."""
        top = self.stack.pop()
        self.environments -= top.kind not in _CLOSERS
        return top

    def close_above(self, level: int, at: int) -> None:
        """Close all openings above a level of the stack."""
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
        """Note a repair and the problem that it repairs."""
        self.source.note_repair(_REPAIRS.get(kind, "environments"))
        self.source.note_problem(complaint, start, end)

    def finish(self) -> None:
        """Close what is still open and apply the edits."""
        end = len(self.source.text)
        self.close_above(0, end)
        if self.cells:
            self.edits += [Edit(0, 0, "\\begin{matrix}"), Edit(end, end, "\\end{matrix}")]
        # At one position insertions come first, in the order in which they were made.
        self.source.apply(sorted(self.edits, key=lambda edit: (edit.start, edit.end)))


def _name(mark: str) -> str:
    found = _NAME.search(mark)
    return found[1].strip() if found else ""
