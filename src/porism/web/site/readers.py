"""Readers of a private site: the file of users with hashed passwords, and sessions as signed cookies, which all
processes of a server accept."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from porism.errors import PorismError
from porism.files import disk_error
from porism.lab.judging.people import (
    PASSWORD_LENGTH,
    TooManyGuesses,
    dummy_hash,
    hash_password,
    password_check,
    password_matches,
)
from porism.locks import only_writer

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
LARGEST = 5_000_000
WAIT_SECONDS = 10.0  # for another process that changes the file


@dataclass(frozen=True, slots=True)
class Users:
    """The hashes of passwords by name, the secret of the site, and how often each user has logged out."""

    secret: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)

    def generation(self, name: str) -> int:
        """Return the number that the sessions of a user carry. Logging out raises it, which ends them all, copied ones
        included."""
        return self.generations.get(name, 0)


def read_users(path: Path) -> Users:
    """Read a file of users. One that others can read is refused."""
    fix = f"porism site users add {path} NAME"
    try:
        state = path.stat()
        if state.st_size > LARGEST:
            raise PorismError("too large for a file of users", where=str(path), fix=fix)
        if state.st_mode & 0o077:
            fix = f"chmod 600 {path}"
            raise PorismError("can be read by other accounts of this machine", where=str(path), fix=fix)
        document = json.loads(path.read_text("utf-8"))
        hashes = {str(name): str(text) for name, text in document["users"].items()}
        if not all(NAME.fullmatch(name) and text.startswith("scrypt$") for name, text in hashes.items()):
            raise ValueError
        generations = {str(name): int(number) for name, number in document.get("generations", {}).items()}
        return Users(str(document["secret"]), hashes, generations)
    except OSError as error:
        raise PorismError(f"cannot be read: {error.strerror}", where=str(path), fix=fix) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PorismError("not a file of users", where=str(path), fix=f"remove it, then: {fix}") from None


def write_users(path: Path, users: Users) -> None:
    """Write a file of users that only this account can read; readers see the old one or the new one."""
    generations = {name: number for name, number in sorted(users.generations.items()) if name in users.hashes}
    document = {"secret": users.secret, "users": dict(sorted(users.hashes.items())), "generations": generations}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # for this account only
        try:
            with open(handle, "w", encoding="utf-8") as out:
                json.dump(document, out, indent=1)
                out.write("\n")
                out.flush()
                os.fsync(out.fileno())
            os.replace(name, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
    except OSError as error:
        raise disk_error(error, path) from error


def add_user(path: Path, name: str, password: str) -> bool:
    """Add a user, or change the password of one, which ends their sessions. Return whether the user is new."""
    if not NAME.fullmatch(name):
        raise PorismError(f"{name!r} is not a valid name", fix="use up to 40 letters, digits, hyphens and underscores")
    if len(password) < PASSWORD_LENGTH:
        raise PorismError("the password is too short", fix=f"use at least {PASSWORD_LENGTH} characters")
    with only_writer(path, wait=WAIT_SECONDS):
        users = read_users(path) if path.exists() else Users(secrets.token_hex(32))
        write_users(path, replace(users, hashes={**users.hashes, name: hash_password(password)}))
    return name not in users.hashes


def remove_user(path: Path, name: str) -> None:
    """Remove a user, which ends their sessions."""
    with only_writer(path, wait=WAIT_SECONDS):
        users = read_users(path)
        if name not in users.hashes:
            raise PorismError(f"there is no user {name!r}", where=str(path), fix=f"porism site users list {path}")
        write_users(path, replace(users, hashes={one: text for one, text in users.hashes.items() if one != name}))


def end_sessions(path: Path, name: str) -> None:
    """End all sessions of a user, also for other processes and after a restart."""
    with only_writer(path, wait=WAIT_SECONDS):
        users = read_users(path)
        write_users(path, replace(users, generations={**users.generations, name: users.generation(name) + 1}))


class UserFile:
    """The users of a running site: the file is read again when it has changed, so that a removed user is out at
    once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: tuple[int, int, int] | None = None
        self._users = Users()

    def current(self) -> Users:
        """Return the users as the file has them now. A file that cannot be read is an error: nobody gets in."""
        try:
            state = self.path.stat()
        except OSError as error:
            raise PorismError(f"cannot be read: {error.strerror}", where=str(self.path)) from None
        version = (state.st_ino, state.st_mtime_ns, state.st_size)
        if version != self._version:
            self._users, self._version = read_users(self.path), version
        return self._users


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
    """Return the name in a session cookie, or "" if it is forged, too old, or its user has another password or has
    logged out."""
    expires, _, rest = cookie.partition(".")
    name, _, signature = rest.rpartition(".")
    if name not in users.hashes or not (expires.isascii() and expires.isdigit()) or len(expires) > 12:
        return ""
    is_right = hmac.compare_digest(_signature(users, expires, name).encode(), signature.encode())
    # One that ends later than a new one would is left over from a clock that was set back: it would live on for as long
    # as that.
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
    """Checks names and passwords. What was right once is remembered, so that not every request of a program costs a
    scrypt hash."""

    def __init__(self, file: UserFile) -> None:
        self._file, self._delays, self._lock = file, Delays(), Lock()
        self._key = secrets.token_bytes(32)
        # By a keyed hash of name and password: the stored hash that they matched.
        self._right: OrderedDict[bytes, str] = OrderedDict()

    def remembers(self, given: NamePassword) -> bool:
        """Return whether name and password were right before and still are. This takes no time, whatever others
        guess."""
        stored, mark = self._file.current().hashes.get(given.name), self._mark(given)
        with self._lock:
            return stored is not None and self._right.get(mark) == stored

    def check(self, given: NamePassword) -> bool:
        """Return whether the password is that of the user. An unknown name takes as long as a known one. The caller has
        a place for a login."""
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
