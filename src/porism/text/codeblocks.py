"""Code blocks of Markdown: fenced, indented, or in `pre`. A dollar sign there opens no formula."""

from __future__ import annotations

import re
from itertools import accumulate

Ranges = tuple[tuple[int, int], ...]

# A text without any of these has no code block and need not be parsed.
HINT = re.compile(r"^(?: {4}|\t)|```|~~~|<(?:pre|script|style|textarea)\b", re.MULTILINE | re.IGNORECASE)
RAW = ("<pre", "<script", "<style", "<textarea")
# Lines as Markdown defines them.
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def code_blocks(text: str) -> Ranges:
    """Return start and end of each code block, in order; indented text of a list is not code."""
    if not HINT.search(text):
        return ()
    from markdown_it import MarkdownIt

    starts = [0, *accumulate(len(line) for line in LINE.findall(text))]
    return tuple(
        (starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)])
        for token in MarkdownIt("commonmark").parse(text)
        if token.map and _is_code(token.type, token.content)
    )


def _is_code(kind: str, content: str) -> bool:
    return kind in ("fence", "code_block") or (kind == "html_block" and content.lstrip().lower().startswith(RAW))
