"""Blocks of code in Markdown."""

from __future__ import annotations

import pytest

from porism.text.find import code_blocks


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a $x$\n b", []),
        ("a\n\n    b\n    c\n\nd", ["    b\n    c\n"]),
        ("a\r\n\r\n\tb\r\n\r\nc", ["\tb\r\n"]),
        ("a\n    b", []),  # goes on with the paragraph
        ("~~~\na\n\nb\n~~~\nc", ["~~~\na\n\nb\n~~~\n"]),
        ("```\nnot closed", ["```\nnot closed"]),
        ("<pre>a\n\nb</pre>\nc", ["<pre>a\n\nb</pre>\n"]),
        ("- a\n\n    b\n\n        c\n", ["        c\n"]),
        ("> ~~~\n> a\n> ~~~\nb", ["> ~~~\n> a\n> ~~~\n"]),
    ],
)
def test_blocks(text: str, blocks: list[str]) -> None:
    assert [text[start:end] for start, end in code_blocks(text)] == blocks
