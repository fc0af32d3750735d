"""Rate limiting of logins: each attempt is recorded before its password is checked, so that simultaneous guesses are counted, too.

Few attempts are under way at a time, and one more is refused at once: a flood of guesses keeps no threads and no journal from other people.

Someone who mistypes a password waits a little longer each time. Guesses from other addresses delay an account by at most
MAX_NAME_DELAY, so that nobody can lock out another person.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from porism.errors import PorismError
from porism.lab.judging.storage.journal import Journal

WINDOW_SECONDS = 900.0  # attempts are forgotten after this time


class Limit(NamedTuple):
    """Attempts that match `condition` are free up to a number; then the delay doubles with each, from 2 seconds to the largest."""

    condition: str
    free: int
    most_seconds: float


MAX_FAILURES = 5
MAX_ADDRESS_FAILURES = 50  # a whole institute may share one address
MAX_NAME_FAILURES, MAX_NAME_DELAY = 20, 30.0
LIMITS = (
    Limit("name = :name AND address = :address", MAX_FAILURES, WINDOW_SECONDS),
    Limit("address = :address", MAX_ADDRESS_FAILURES, WINDOW_SECONDS),
    Limit("name = :name", MAX_NAME_FAILURES, MAX_NAME_DELAY),
)
# A password check takes 16 MiB and a fifth of a second of a core; a flood of logins must not starve other pages.
SIMULTANEOUS_CHECKS, WAITING_CHECKS = 1, 4
_places = threading.BoundedSemaphore(SIMULTANEOUS_CHECKS + WAITING_CHECKS)
_checks = threading.BoundedSemaphore(SIMULTANEOUS_CHECKS)
BUSY_SECONDS = 2


class TooManyGuesses(PorismError):
    """An attempt to log in that is refused without a look at its password; it may be repeated after `seconds`."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message, fix=f"wait {_duration(seconds)} and try again")
        self.seconds = math.ceil(seconds)


def record_attempt(journal: Journal, name: str, address: str) -> None:
    """Record an attempt to log in, or raise an error that says how long to wait. Refused attempts are not counted."""
    now = journal.clock()
    with journal.write() as connection:
        # Attempts of the future are left over from a clock that was set back.
        connection.execute("DELETE FROM login_failure WHERE at > ? OR at < ?", (now, now - WINDOW_SECONDS))
        wait = max(_remaining(connection, limit, name, address, now) for limit in LIMITS)
        if wait > 0:
            raise TooManyGuesses("too many wrong passwords", wait)
        connection.execute("INSERT INTO login_failure (at, name, address) VALUES (?, ?, ?)", (now, name, address))


def _remaining(connection: sqlite3.Connection, limit: Limit, name: str, address: str, now: float) -> float:
    """Return how many seconds of a limit's delay are left."""
    query = f"SELECT count(*), max(at) FROM login_failure WHERE {limit.condition}"
    failures, last = connection.execute(query, {"name": name, "address": address}).fetchone()
    if failures < limit.free:
        return 0.0
    return float(last + min(2.0 ** (failures - limit.free + 1), limit.most_seconds) - now)


def _duration(seconds: float) -> str:
    number, unit = (math.ceil(seconds), "second") if seconds < 60 else (math.ceil(seconds / 60), "minute")
    return f"{number} {unit}{'s' * (number != 1)}"


def forget_attempts(connection: sqlite3.Connection, name: str, address: str) -> None:
    """Forget the attempts of someone who has logged in; the caller commits."""
    connection.execute("DELETE FROM login_failure WHERE name = ? AND address = ?", (name, address))


@contextmanager
def place_for_login() -> Iterator[None]:
    """Take a place among the few logins that are under way; without one, refuse at once. It never waits."""
    if not _places.acquire(blocking=False):
        raise TooManyGuesses("too many people log in at the same time", BUSY_SECONDS)
    try:
        yield
    finally:
        _places.release()


def password_check() -> AbstractContextManager[bool]:
    """Wait for a turn to check a password. Only who has a place waits, so that never many do."""
    return _checks
