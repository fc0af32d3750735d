"""Every regular expression of the package, on long runs: none may take more than time in proportion to the length.

Each pattern is pumped with its own openers (attack/fuzz/openers.py), and gets runs of any characters. A pattern that
the package searches with is searched with; others are matched at the start of the text.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from functools import cache

from attack.fuzz.grammar import Grammar
from attack.fuzz.openers import Frame, OwnPattern, Pump, own_patterns, pumps_of
from attack.fuzz.reader import Reader, to_text

LENGTH = 60_000  # characters of a run: a search that begins anew at each of them exceeds the limit of time
SEPARATOR = "¦"
# Characters of the longest text that the patterns of a package get; of others it is that of the pump.
LONGEST = {
    "porism.formula.latex": 40_000,
    "porism.search.reading": 20_000,
    "porism.text.typed": 20_000,
    "porism.search.display.post_formulas": 40_000,
}
# Patterns that get no such text, with the reason.
EXCEPTIONS = {
    ("porism.corpus.sources.documents.page", "TAG"): "searches sanitised HTML, whose tags end, and short titles",
    ("porism.text.read", "TAG_OR_PLACEHOLDER"): "searches sanitised HTML, in which every < starts a tag that ends",
    ("porism.text.find", "HTML"): "searches text in which every < has a > behind it",
    ("porism.text.find", "PATTERNS"): "searches text up to the last closing sign",
    ("porism.corpus.sources.documents.page", "HEADING"): "searches sanitised HTML, in which headings are closed",
    ("porism.formula.layout.build", ""): "searches MathML that was cleaned or that a converter wrote",
    ("porism.formula.latex.convert", "_MESSAGES"): "is matched with messages of the converter",
    ("porism.hashing", "_ENDS"): "searches our own source code",
    ("porism.hashing", "_STRING_OR_COMMENT"): "searches our own source code",
    ("porism.web.site.reading", "HEADER"): "is matched with a line of the operator's settings",
    ("porism.web.site.reading", "KEY"): "is matched with a line of the operator's settings",
    ("porism.web.site.reading", "PLACE"): "is matched with a message of the reader of the operator's settings",
    ("porism.web.site.values", "RGB"): "is matched with a colour of the operator's settings",
    ("porism.web.site.values", "HSL"): "is matched with a colour of the operator's settings",
    ("porism.web.site.look", ""): "searches our own style sheet",
}  # fmt: skip
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


@cache
def attacked_patterns() -> tuple[OwnPattern, ...]:
    """Return the patterns that texts of others can reach."""
    return tuple(own for own in own_patterns() if (own.module, own.name) not in EXCEPTIONS)


@cache
def own_pumps() -> tuple[tuple[Frame, Pump], ...]:
    """Return each pattern with its own pumps."""
    found = enumerate(attacked_patterns())
    return tuple((Frame(f"{at}{SEPARATOR}"), pump) for at, own in found for pump in pumps_of(own.pattern))


def search_run(data: bytes) -> Hashable:
    """Search a long run with one of the patterns."""
    which, *parts = to_text(data).split(SEPARATOR)
    patterns = attacked_patterns()
    number = int(which) if len(parts) == 1 and which.isdecimal() else zlib.crc32(which.encode("utf-8", "surrogatepass"))
    own = patterns[number % len(patterns)]
    before, run, after = (*parts, "", "", "")[:3]
    text = before if len(parts) == 1 else before + run * (LENGTH // max(len(run), 1)) + after
    text = text[: next((most for package, most in LONGEST.items() if own.module.startswith(package)), len(text))]
    given = text if isinstance(own.pattern.pattern, str) else text.encode("utf-8", "surrogatepass")
    if own.searches:
        return number % len(patterns), min(sum(1 for _ in own.pattern.finditer(given)), 3)
    return number % len(patterns), own.pattern.match(given) is None, own.pattern.fullmatch(given) is None


READERS = (
    Reader(
        "patterns", 20, search_run, RUNS, list(RUNS["atom"]), longest=200, seeds=lambda: (f"0{SEPARATOR}{SEPARATOR} {SEPARATOR}".encode(),),
        start=attacked_patterns, own_pumps=own_pumps, frames=(Frame(),), pump_share=900,
    ),
)  # fmt: skip
