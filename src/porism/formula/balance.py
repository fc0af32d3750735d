"""Braces, environments and `\\left ... \\right` that do not pair are paired, each with a problem at its place."""

from __future__ import annotations

import re

from porism.formula.source import Source

_MARK = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\(?:left|right)(?![A-Za-z])|\\.|[{}&]", re.DOTALL)
_NAME = re.compile(r"\{\s*([^{}]*?)\s*\}")
_CLOSERS = {"{": "}", "left": "\\right."}
_REPAIRS = {"{": "braces", "left": "delimiters", "cells": "cells"}


def balance(source: Source) -> None:
    """Close what is open and drop or open what is closed too often, in one pass from the left."""
    text = source.text
    edits: list[tuple[int, int, str]] = []
    stack: list[tuple[str, int, int]] = []
    cells = False

    def close(upto: int, at: int) -> None:
        while len(stack) > upto:
            kind, start, end = stack.pop()
            edits.append((at, at, _CLOSERS.get(kind) or f"\\end{{{kind}}}"))
            _note(source, kind, f"{_shown(kind)} is never closed", start, end)

    for found in _MARK.finditer(text):
        mark, start, end = found[0], *found.span()
        if mark == "{":
            stack.append(("{", start, end))
        elif mark == "}":
            at = _innermost(stack, "{", {"left"})
            if at is None:
                edits.append((start, end, ""))
                _note(source, "{", "} closes nothing", start, end)
            else:
                close(at + 1, start)
                stack.pop()
        elif mark == "\\left":
            stack.append(("left", start, end))
        elif mark == "\\right":
            if stack and stack[-1][0] == "left":
                stack.pop()
            else:
                edits.append((start, start, "\\left."))
                _note(source, "left", "\\right has no \\left", start, end)
        elif mark in ("&", "\\\\") and not _in_environment(stack):
            if mark == "&":
                if stack:
                    edits.append((start, end, ""))
                else:
                    cells = True
                _note(source, "cells", "& outside a table", start, end)
        elif mark in ("&", "\\\\"):
            while stack and stack[-1][0] in _CLOSERS and _in_environment(stack):
                kind, first, last = stack.pop()
                if kind == "{":
                    edits.append((first, last, ""))
                    _note(source, kind, "{ crosses the cells of a table", first, last)
                else:
                    edits.append((start, start, _CLOSERS[kind]))
                    _note(source, kind, "\\left crosses the cells of a table", first, last)
        elif mark.startswith("\\begin"):
            stack.append((_name(mark), start, end))
        elif mark.startswith("\\end"):
            at = _innermost(stack, _name(mark), None)
            if at is None:
                edits.append((start, end, ""))
                _note(source, _name(mark), f"\\end{{{_name(mark)}}} has no \\begin", start, end)
            else:
                close(at + 1, start)
                stack.pop()
    close(0, len(text))
    if cells:
        edits += [(0, 0, "\\begin{matrix}"), (len(text), len(text), "\\end{matrix}")]
    # From the right, so that places stay true; at one place first what is taken out, then what is put in, in the order it was made.
    order = sorted(range(len(edits)), key=lambda at: (edits[at][0], edits[at][1], at), reverse=True)
    for start, end, new in (edits[at] for at in order):
        source.splice(start, end, new)


def _name(mark: str) -> str:
    found = _NAME.search(mark)
    return found[1] if found else ""


def _innermost(stack: list[tuple[str, int, int]], kind: str, past: set[str] | None) -> int | None:
    """Where the innermost open thing of this kind is, looking past some kinds only (None: past any)."""
    for at in range(len(stack) - 1, -1, -1):
        if stack[at][0] == kind:
            return at
        if past is not None and stack[at][0] not in past:
            return None
    return None


def _in_environment(stack: list[tuple[str, int, int]]) -> bool:
    return any(kind not in _CLOSERS for kind, _, _ in stack)


def _shown(kind: str) -> str:
    return {"{": "{", "left": "\\left"}.get(kind) or f"\\begin{{{kind}}}"


def _note(source: Source, kind: str, message: str, start: int, end: int) -> None:
    source.repaired(_REPAIRS.get(kind, "environments"))
    source.problem(message, start, end)
