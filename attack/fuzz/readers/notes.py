"""Readers of notes: plain text, reStructuredText and Org files in a folder of documents."""

from __future__ import annotations

from collections.abc import Hashable

from attack.fuzz.grammar import Grammar
from attack.fuzz.openers import Frame
from attack.fuzz.reader import Reader
from attack.fuzz.readers.text_grammars import HTML, HTML_TOKENS
from attack.fuzz.readers.texts import read_file

SUFFIXES = (".txt", ".rst", ".org")

NOTES: Grammar = {
    **HTML,
    "start": ("0«plain»", "1«rst»", "1«rst»", "2«org»", "2«org»", "1«nodes»", "2«nodes»"),
    "plain": ("«words»\n\n«nodes»", "«nodes»\n===\n«plain»", "- «nodes»\n«plain»", "«nodes»"),
    "rst": ("«block»", "«block»\n\n«rst»", "«words»\n======\n\n«rst»", "«words»\n---\n\n«rst»"),
    "block": (
        "«inline»",
        "- «inline»\n\n  - «inline»",
        ".. math:: «row»",
        ".. math::\n   :label: «letter»\n\n   «cells»",
        ".. «directive»:: «odd_text»\n   :«letter»: «number»\n\n   «inline»",
        ".. |«letter»| replace:: |«letter»| «inline»",
        ".. _«letter»: «inline»_",
        ".. [«number»] «inline»",
        "::\n\n   «nodes»",
        "+---+---+\n| a | b |\n+---+---+",
        "== ==\n«letter» «letter»\n== ==",
        ":«letter»: «inline»",
        "«number». «inline»",
        ".. role:: «letter»(«directive»)",
    ),
    "directive": (
        "include",
        "raw",
        "csv-table",
        "image",
        "figure",
        "math",
        "note",
        "theorem",
        "code",
        "parsed-literal",
        "contents",
        "default-role",
        "class",
        "table",
        "replace",
        "unicode",
        "date",
        "sectnum",
        "target-notes",
        "meta",
    ),
    "inline": (
        "word",
        ":math:`«row»`",
        "*«inline»*",
        "``«nodes»``",
        "|«letter»|",
        "|«letter»|_",
        "`«words» <http://x>`_",
        "«letter»_",
        "[«number»]_",
        ":«letter»:`«row»`",
        "«nodes»",
        "_`«letter»`",
    ),
    "org": ("«headline»\n«org_text»", "«headline»\n«org»", "#+TITLE: «inline»\n#+FILETAGS: :a:«letter»:\n«org»"),
    "headline": ("* «words»", "** TODO [#A] «nodes» :a:b:", "*** «inline»", "***** «row»", "*", "* COMMENT x"),
    "org_text": (
        "«nodes»",
        "#+begin_src x\n«nodes»\n#+end_src\n«org_text»",
        "#+BEGIN_EXAMPLE\n«org_text»",
        ":PROPERTIES:\n:ID: «number»\n:END:\n«org_text»",
        "SCHEDULED: <2020-13-45 Mon +1w>\nCLOCK: [2020-01-01]--[2020]\n«org_text»",
        "[[«words»][«nodes»]] [[file:x.png]] =«nodes»= ~«nodes»~ */«words»/*",
        "| a | b |\n|---+---|\n«org_text»",
        "- [ ] «inline»\n«org_text»",
        "\\begin{align}\n* «cells»\n\\end{align}\n«org_text»",
        "# «nodes»\n#+X: «odd_text»",
    ),
}


def read_note(data: bytes) -> Hashable:
    """Read a note in a folder of documents; the first byte chooses its kind."""
    return read_file(data[1:], SUFFIXES[data[0] % len(SUFFIXES) if data else 0])


READERS = (
    Reader(
        "notes",
        25,
        read_note,
        NOTES,
        [*HTML_TOKENS, ".. ", "::\n\n   ", "|", "_", ":math:`", "`_", "\n===\n", "* ", "#+begin_src\n", ":END:", "[["],
        longest=20_000,
        seeds=lambda: (b"0A\n\ntext $x$\n", b"1A\n=\n\n:math:`x`\n", b"2* A\n\\(x\\)\n"),
        frames=(
            Frame("0"),
            Frame("1"),
            Frame("2"),
            Frame("1a\n=\n\n", "\n\nb\n"),
            Frame("2* "),
            Frame("2* a\n:PROPERTIES:\n", "\n:END:\n"),
        ),
        pump_share=3,  # docutils and orgparse take their whole time for many, and their process starts again
    ),
)
