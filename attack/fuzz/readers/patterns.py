"""Every regular expression of the package that searches in a text, on long runs: none may take more than time in proportion to the length."""

from __future__ import annotations

import importlib
import pkgutil
import re
import zlib
from collections.abc import Hashable, Iterator
from functools import cache
from pathlib import Path

import porism
from attack.fuzz.grammar import Grammar
from attack.fuzz.reader import Reader, to_text

LENGTH = 60_000  # characters of a run: a search that begins anew at each of them exceeds the limit of time
SEPARATOR = "¦"
SEARCHED = re.compile(r"\b(\w+)\.(?:sub|subn|search|finditer|findall|split)\(")
# Patterns that get no such text, with the reason.
EXCEPTIONS = {
    ("porism.text.sanitize", "TAG"): "searches sanitised HTML, in which every < starts a tag that ends",
    ("porism.text.sanitize", "TAG_OR_PLACEHOLDER"): "searches sanitised HTML, in which every < starts a tag that ends",
    ("porism.corpus.sources.documents.org", "PICTURE"): "is matched once, at the start of an address",
}
RUNS: Grammar = {
    "start": (f"«which»{SEPARATOR}«before»{SEPARATOR}«run»{SEPARATOR}«after»",),
    "which": ("«digit»«digit»«digit»«digit»",),
    "digit": tuple("0123456789abcdefghijklmnopqrstuvwxyz"),
    "before": ("", "", "<a", "<a ", "$", '"', "\\", "a", "(", "[", "{"),
    "run": ("«atom»", "«atom»«atom»", "«atom»«atom»«atom»"),
    "atom": (
        *" \t\n\r.,;:!?'\"`´’“”()[]{}<>|/\\-_=+*^~&%$#@", "a", "x", "A", "1", "é", "∑", "′", "\x1c", "\x1d", "\x1e", "</", "<a", "<m", "<mi>", "&#", "\\a",
        "\\(", "\\[", "$$", "--", "<!--", "http://", "\\begin{", "\\end{", "\ue000", "\ue001", " style=\"", "A:", "[1",
    ),
    "after": ("", "", "\x00", "!", "\n", "."),
}  # fmt: skip


def _module_patterns() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """Return all patterns for text that modules of the package define, with module and name."""
    for found in pkgutil.walk_packages(porism.__path__, "porism."):
        if not found.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(found.name)).items():
                if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                    yield found.name, name, value


@cache
def searching_patterns() -> tuple[re.Pattern[str], ...]:
    """Return the patterns with which the package searches; others are only matched at one place."""
    sources = "\n".join(path.read_text("utf-8") for path in sorted(Path(porism.__path__[0]).rglob("*.py")))
    names = set(SEARCHED.findall(sources))
    excepted = {getattr(importlib.import_module(module), name) for module, name in EXCEPTIONS}
    return tuple(dict.fromkeys(one for _, name, one in _module_patterns() if name in names and one not in excepted))


def search_run(data: bytes) -> Hashable:
    """Search a long run with one of the patterns."""
    which, before, run, after = (to_text(data).split(SEPARATOR) + [""] * 4)[:4]
    patterns = searching_patterns()
    number = zlib.crc32(which.encode("utf-8", "surrogatepass")) % len(patterns)
    text = before + run * (LENGTH // max(len(run), 1)) + after
    return number, min(sum(1 for _ in patterns[number].finditer(text)), 3)


READERS = (
    Reader(
        "patterns", 20, search_run, RUNS, list(RUNS["atom"]), longest=200, seeds=lambda: (f"0{SEPARATOR}{SEPARATOR} {SEPARATOR}".encode(),), start=searching_patterns
    ),
)  # fmt: skip
