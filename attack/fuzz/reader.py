"""What the fuzzer knows of a reader: how to call it, and how to make inputs for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from attack.fuzz.grammar import Grammar
from attack.fuzz.openers import Frame, Pump

# A cheap test for mark-up that runs something in a browser; what it finds is parsed.
_SUSPECT = re.compile(
    r"<(?:script|iframe|object|embed|style|svg|foreignObject|base|meta|link|form)\b|\son\w+\s*=|\sstyle\s*=|script:|data:",
    re.I,
)
_ELEMENTS = frozenset(
    ["script", "iframe", "object", "embed", "style", "svg", "foreignobject", "base", "meta", "link", "form"]
)
_SCHEMES = ("javascript:", "data:", "vbscript:")


class _Tags(HTMLParser):
    """Collects the active tags of a page."""

    def __init__(self, styles: bool) -> None:
        super().__init__()
        self.active: list[str] = []
        self.styles = styles

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check a tag and its attributes."""
        for name, value in attrs:
            plain = "".join((value or "").split()).lower()
            if (
                name.startswith("on")
                or (name == "style" and not self.styles)
                or (name != "alt" and plain.startswith(_SCHEMES))
            ):
                self.active.append(f"{tag} {name}={value!r}"[:80])
        if tag in _ELEMENTS:
            self.active.append(tag)


def active_content(page: str, styles: bool = False) -> str:
    """Return the first tag of a page that runs something in a browser; empty if there is none. `styles`: inline styles
    are allowed."""
    if not _SUSPECT.search(page):
        return ""
    tags = _Tags(styles)
    tags.feed(page)
    return tags.active[0] if tags.active else ""


class Wrong(Exception):
    """A reader returned without an error, but its result is wrong."""


@dataclass(frozen=True)
class Reader:
    """A reader under attack.

    `read` reads one input and returns a small value that describes what happened; an input with a new value is kept and
    changed further. It raises PorismError where that is a legal answer. `share` is the part of all inputs that this
    reader gets, in thousandths.
    """

    name: str
    share: int
    read: Callable[[bytes], Hashable]
    grammar: Grammar | None = None  # none: inputs are mutations of the seeds only
    tokens: Sequence[str] = ()
    binary: bool = False
    longest: int = 20_000
    seeds: Callable[[], Sequence[bytes]] = field(default=tuple)
    prepare: Callable[[Path], None] | None = None  # makes what all inputs share, once, in the first process
    start: Callable[[], object] | None = None  # opens what the inputs of a process share
    cpu_seconds: float = 2.0
    descriptors: int = (
        40  # that may be open after a block and were not before it: threads have connections of their own
    )
    block: int = 250  # inputs that are made from one seed, one after another
    frames: Sequence[Frame] = ()  # how a pumped text becomes an input; none: the reader reads no text
    pumped: int = 200_000  # characters of the longest pumped text
    pump_share: int = 100  # the part of all pumped inputs that this reader gets; less for one that takes long for each
    own_pumps: Callable[[], Sequence[tuple[Frame, Pump]]] | None = None  # instead of all openers in all frames


def to_text(data: bytes) -> str:
    """Return an input as text. Lone surrogates are kept: JSON can bring them."""
    return data.decode("utf-8", "surrogatepass") if _is_text(data) else data.decode("utf-8", "replace")


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def to_bytes(text: str) -> bytes:
    """Return text as an input."""
    return text.encode("utf-8", "surrogatepass")
