"""The page docs/results/reliability.md: each program writes its own part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "reliability.md"


def write_section(name: str, lines: Sequence[str]) -> None:
    """Replace the part of the page between the comments of this name."""
    text = PAGE.read_text("utf-8")
    part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not part.search(text):
        raise SystemExit(f"{PAGE}: there is no part <!-- {name} -->")
    PAGE.write_text(part.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text), "utf-8")
