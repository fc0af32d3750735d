"""The options of a build."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Literal

from porism.errors import PorismError

TreesFrom = Literal["latex", "official"]
YEARS = re.compile(r"(\d{4})?-(\d{4})?|(\d{4})")


@dataclass(frozen=True, slots=True)
class Options:
    """Options that change the collection. Years are inclusive; None leaves that side open.

    `trees` chooses where the trees of formulas come from: `latex` for our parser, `official` for the MathML of the source where it has any.
    """

    first_year: int | None = None
    last_year: int | None = None
    compat: bool = False
    answers: bool = True
    comments: bool = True
    trees: TreesFrom = "latex"

    def as_dict(self) -> dict[str, object]:
        """Return the options as JSON values, for the manifest."""
        return asdict(self)


def parse_years(text: str) -> tuple[int | None, int | None]:
    """Parse `2010-2018`, `-2018`, `2015-` or `2015`."""
    match = YEARS.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise PorismError(
            f"years {text!r} are not understood", fix="write --years 2010-2018, --years -2018 or --years 2015-"
        )
    if match[3]:
        return int(match[3]), int(match[3])
    first, last = (int(year) if year else None for year in match.groups()[:2])
    if first is not None and last is not None and first > last:
        raise PorismError(f"years {text!r} end before they begin", fix=f"write --years {last}-{first}")
    return first, last
