"""Sessions of readers: signed cookies, so that all processes of a server accept them; names and passwords of HTTP Basic; limits of guessing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from porism.lab.judging.people.accounts import dummy_hash, password_matches
from porism.lab.judging.people.login_limits import TooManyGuesses, password_check
from porism.web.site.users import UserFile, Users

SESSION_SECONDS = 12 * 3600
FREE_FAILURES = 5  # wrong passwords of a name before the delay grows
MOST_DELAY = 30.0  # seconds: nobody can lock out another person for longer
REMEMBERED = 2_000  # names with failures, and credentials that were checked


def sign(users: Users, purpose: str, *parts: str) -> str:
    """Return a signature by the secret of the site."""
    return hmac.new(users.secret.encode(), "\0".join((purpose, *parts)).encode(), "sha256").hexdigest()


def new_session(users: Users, name: str, now: float) -> str:
    """Return the value of a session cookie. It ends with a new password or by logging out, as both are signed."""
    expires = str(int(now + SESSION_SECONDS))
    return f"{expires}.{name}.{_signature(users, expires, name)}"


def session_user(users: Users, cookie: str, now: float) -> str:
    """Return the name in a session cookie, or "" if it is forged, too old, or its user has another password or has logged out."""
    expires, _, rest = cookie.partition(".")
    name, _, signature = rest.rpartition(".")
    if name not in users.hashes or not (expires.isascii() and expires.isdigit()) or len(expires) > 12:
        return ""
    is_right = hmac.compare_digest(_signature(users, expires, name).encode(), signature.encode())
    # One that ends later than a new one would is left over from a clock that was set back: it would live on for as long as that.
    is_current = now < int(expires) <= now + SESSION_SECONDS + 1
    return name if is_right and is_current else ""


def _signature(users: Users, expires: str, name: str) -> str:
    return sign(users, "session", expires, name, users.hashes[name], str(users.generation(name)))


class NamePassword(NamedTuple):
    """The name and the password of a request."""

    name: str
    password: str


class Delays:
    """Delays after wrong passwords, by name. They are counted in each process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def check(self, name: str) -> None:
        """Count an attempt before its password is checked, or raise an error that says how long to wait."""
        with self._lock:
            failures, last = self._failures.pop(name, (0, 0.0))
            wait = 0.0
            if failures >= FREE_FAILURES:
                wait = last + min(2.0 ** (failures - FREE_FAILURES + 1), MOST_DELAY) - self._clock()
            now = last if wait > 0 else self._clock()
            self._failures[name] = (failures + (wait <= 0), now)
            if len(self._failures) > REMEMBERED:
                self._failures.popitem(last=False)
        if wait > 0:
            raise TooManyGuesses("too many wrong passwords", wait)

    def forget(self, name: str) -> None:
        """Forget the failures of someone whose password was right."""
        with self._lock:
            self._failures.pop(name, None)


class PasswordChecker:
    """Checks names and passwords. What was right once is remembered, so that not every request of a program costs a scrypt hash."""

    def __init__(self, file: UserFile) -> None:
        self._file, self._delays, self._lock = file, Delays(), Lock()
        self._key = secrets.token_bytes(32)
        # By a keyed hash of name and password: the stored hash that they matched.
        self._right: OrderedDict[bytes, str] = OrderedDict()

    def remembers(self, given: NamePassword) -> bool:
        """Return whether name and password were right before and still are. This takes no time, whatever others guess."""
        stored, mark = self._file.current().hashes.get(given.name), self._mark(given)
        with self._lock:
            return stored is not None and self._right.get(mark) == stored

    def check(self, given: NamePassword) -> bool:
        """Return whether the password is that of the user. An unknown name takes as long as a known one. The caller has a place for a login."""
        with password_check():
            self._delays.check(given.name)
            stored = self._file.current().hashes.get(given.name)
            matches = password_matches(given.password, stored or dummy_hash()) and stored is not None
        if matches and stored is not None:
            self._delays.forget(given.name)
            with self._lock:
                self._right[self._mark(given)] = stored
                if len(self._right) > REMEMBERED:
                    self._right.popitem(last=False)
        return matches

    def _mark(self, given: NamePassword) -> bytes:
        return hmac.digest(self._key, f"{given.name}\0{given.password}".encode("utf-8", "replace"), hashlib.sha256)


def basic_credentials(header: str) -> NamePassword | None:
    """Return name and password of an Authorization header of HTTP Basic, or None."""
    kind, _, encoded = header.partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except ValueError:
        return None
    return NamePassword(name, password) if colon else None
