"""PorismError, the exception for every problem that the user can fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class PorismError(Exception):
    """A problem that the user can fix.

    `message` says what is wrong, `where` names the file and line (or another place), `fix` says what to do.

    >>> print(PorismError("answer 12 appears twice", where="a.tsv:7", fix="porism run fix a.tsv"))
    a.tsv:7: answer 12 appears twice
      fix: porism run fix a.tsv
    """

    def __init__(self, message: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n  fix: {self.fix}" if self.fix else head


def listed(lines: Sequence[str], shown: int = 20) -> str:
    """Return lines as one text; those after the first `shown` are only counted.

    >>> listed(["a.tsv:1: empty", "a.tsv:2: empty", "a.tsv:3: empty"], shown=1)
    'a.tsv:1: empty\\nand 2 more'
    """
    more = len(lines) - shown
    return "\n".join([*lines[:shown], *([f"and {more} more"] if more > 0 else [])])


class ArgumentTypeError(PorismError, TypeError):
    """An argument of the Python API has the wrong type; also a `TypeError`, as Python programmers expect."""


class ArgumentValueError(PorismError, ValueError):
    """An argument of the Python API has the right type but an impossible value; also a `ValueError`."""


class MissingModelError(PorismError):
    """A system needs a model that is not at hand."""


class StoreUnavailable(PorismError):
    """A store cannot answer at the moment. The same request may succeed after `RETRY_SECONDS`."""

    RETRY_SECONDS = 5


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the remedy for a name that is not known: the nearest one that is, or else another remedy."""
    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}?" if near else otherwise
