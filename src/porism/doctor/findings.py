"""A finding: a fact about an installation or an index, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from porism.errors import PorismError

State = Literal["ok", "note", "action"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, the fact, whether it needs action, and the remedy. A `note` can be left as it is."""

    subject: str
    fact: str
    state: State = "ok"
    fix: str = ""


Check = Callable[[], Iterable[Finding]]


def run_checks(checks: Iterable[tuple[str, Check]]) -> Iterator[Finding]:
    """Run checks, each with its subject. An error of a check is a finding, too."""
    for subject, check in checks:
        try:
            yield from check()
        except PorismError as error:
            fact = f"{error.where}: {error.message}" if error.where else error.message
            yield Finding(subject, fact, "action", error.fix)
        except Exception as error:
            fact = f"could not be looked at ({type(error).__name__}: {error})"
            yield Finding(subject, fact, "action", "check that the files can be read; else report this line")
