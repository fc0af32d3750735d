"""XML as the lab wrote it: one element per line, data in attributes, no line ends inside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")
LINE_ENDS = re.compile(r"\r\n|[\r\n\t]")

Attributes = Mapping[str, str | int | None]


def attribute(text: str) -> str:
    """Return a text as the value of an attribute; characters that XML cannot hold are dropped."""
    text = LINE_ENDS.sub(" ", ILLEGAL.sub("", text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def lines(root: str, rows: Iterable[Attributes]) -> Iterator[str]:
    """Yield the lines of a file; attributes without a value are left out."""
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f"<{root}>\n"
    for row in rows:
        cells = " ".join(f'{name}="{attribute(str(value))}"' for name, value in row.items() if value not in (None, ""))
        yield f"   <row {cells}/>\n"
    yield f"</{root}>\n"


def write(path: Path, root: str, rows: Iterable[Attributes]) -> None:
    """Write one file."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.writelines(lines(root, rows))
