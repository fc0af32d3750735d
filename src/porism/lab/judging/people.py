"""People of an assessment: accounts with scrypt passwords and sessions, limits of logins, and accounts of language
models."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from porism.errors import PorismError
from porism.lab.judging.assessments import MODEL_PREFIX, is_model
from porism.lab.judging.journal import Journal

PURPOSES = ("dual", "training")  # what a model may be assigned


def check_purpose(assessor: str, purpose: str) -> None:
    """Refuse to assign a model anything that becomes qrels or is meant for people."""
    if is_model(assessor) and purpose not in PURPOSES:
        raise PorismError(
            f"{assessor} is a model, whose judgments never become qrels",
            fix=f"assign a second opinion: porism lab assess dual JOURNAL {assessor} TOPIC",
        )


WINDOW_SECONDS = 900.0  # attempts are forgotten after this time


class LoginLimit(NamedTuple):
    """Attempts that match `condition` are free up to a number; then the delay doubles with each, from 2 seconds to the
    largest."""

    condition: str
    free: int
    most_seconds: float


MAX_FAILURES = 5
MAX_ADDRESS_FAILURES = 50  # a whole institute may share one address
MAX_NAME_FAILURES, MAX_NAME_DELAY = 20, 30.0
LIMITS = (
    LoginLimit("name = :name AND address = :address", MAX_FAILURES, WINDOW_SECONDS),
    LoginLimit("address = :address", MAX_ADDRESS_FAILURES, WINDOW_SECONDS),
    LoginLimit("name = :name", MAX_NAME_FAILURES, MAX_NAME_DELAY),
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


def _remaining(connection: sqlite3.Connection, limit: LoginLimit, name: str, address: str, now: float) -> float:
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


# scrypt's n, r and p. One guess costs 16 MiB and about a fifth of a second. They are stored with each hash, so they can
# be raised later.
COST = (2**14, 8, 5)
PASSWORD_LENGTH = 10
SESSION_SECONDS = 12 * 3600.0
ROLES = ("assessor", "organiser", "team")
# A session is marked as used once a minute at most, so that reading a page costs no write.
TOUCH_SECONDS = 60


class Account(NamedTuple):
    """The name and role of a person or team."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Session:
    """A logged-in account, and the CSRF token that each of its forms must carry."""

    account: str
    role: str
    csrf: str


def hash_password(password: str, salt: bytes | None = None) -> str:
    """Return `scrypt$n$r$p$salt$hash`, ready to be stored."""
    n, r, p = COST
    salt = secrets.token_bytes(16) if salt is None else salt
    digest = hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=2**26)
    return "$".join(
        ["scrypt", str(n), str(r), str(p), base64.b64encode(salt).decode(), base64.b64encode(digest).decode()]
    )


def password_matches(password: str, stored: str) -> bool:
    """Return whether the password fits the stored hash. A wrong password takes as long as the right one."""
    _, n, r, p, salt, digest = stored.split("$")
    computed = hashlib.scrypt(
        password.encode(), salt=base64.b64decode(salt), n=int(n), r=int(r), p=int(p), maxmem=2**26
    )
    return hmac.compare_digest(computed, base64.b64decode(digest))


def dummy_hash() -> str:
    """Return a hash to check when the name is unknown, so that the response time does not reveal which names exist."""
    zeros = base64.b64encode(b"0" * 64).decode()
    return "$".join(["scrypt", *map(str, COST), zeros, zeros])


def add_account(journal: Journal, name: str, role: str, password: str) -> None:
    """Create an account, or change the password and role of an existing one and end its sessions."""
    if name.startswith(MODEL_PREFIX):
        fix = (
            "choose another name, or create an account of a model: porism lab assess account JOURNAL NAME --role model"
        )
        raise PorismError(f"names that begin with {MODEL_PREFIX} belong to models", fix=fix)
    if role == "model":
        raise PorismError("models have no passwords", fix="porism lab assess account JOURNAL model.NAME --role model")
    _store_account(journal, name, role, password)


def add_model_account(journal: Journal, name: str) -> None:
    """Create the account of a language model: an assessor with whom nobody can log in."""
    if not name.startswith(MODEL_PREFIX):
        raise PorismError(f"{name!r} does not say that it is a model", fix=f"name it {MODEL_PREFIX}{name}")
    _store_account(journal, name, "assessor", secrets.token_urlsafe(32))


def _store_account(journal: Journal, name: str, role: str, password: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.]{0,39}", name):
        raise PorismError(f"{name!r} is not a valid name", fix="use up to 40 letters, digits, dots and underscores")
    if role not in ROLES:
        raise PorismError(f"there is no role {role!r}", fix="choose one of: " + ", ".join(ROLES))
    if len(password) < PASSWORD_LENGTH:
        raise PorismError("the password is too short", fix=f"use at least {PASSWORD_LENGTH} characters")
    with journal.write() as connection:
        connection.execute(
            "INSERT INTO account (name, role, password_hash) VALUES (?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET role = excluded.role, password_hash = excluded.password_hash",
            (name, role, hash_password(password)),
        )
        connection.execute("DELETE FROM session WHERE account = ?", (name,))


def log_in(journal: Journal, name: str, password: str, address: str = "") -> str | None:
    """Return the token of a new session, or None if the name or password is wrong.

    Raise TooManyGuesses after too many failed logins, or while too many are under way.
    """
    with place_for_login(), password_check():
        record_attempt(journal, name, address)
        rows = journal.read("SELECT password_hash FROM account WHERE name = ?", (name,))
        matches = password_matches(password, rows[0]["password_hash"] if rows else dummy_hash())
    if not matches or not rows:
        return None
    token, now = secrets.token_urlsafe(32), journal.clock()
    with journal.write() as connection:
        forget_attempts(connection, name, address)
        connection.execute("DELETE FROM session WHERE last_seen < ?", (now - SESSION_SECONDS,))
        connection.execute(
            "INSERT INTO session (token_hash, account, last_seen) VALUES (?, ?, ?)", (_token_hash(token), name, now)
        )
    return token


def _token_hash(token: str) -> str:
    """Hash a session token. Only the hash is stored, so a copy of the journal opens no session."""
    return hashlib.sha256(token.encode()).hexdigest()


def session_of(journal: Journal, token: str) -> Session | None:
    """Return the session of a token, or None if there is none or it was idle too long."""
    now = journal.clock()
    rows = journal.read(
        "SELECT account, role, password_hash, last_seen FROM session JOIN account ON account.name = session.account "
        "WHERE token_hash = ? AND last_seen > ?",
        (_token_hash(token), now - SESSION_SECONDS),
    )
    if not rows:
        return None
    row = rows[0]
    # A session of the future is left over from a clock that was set back; from now on it ends as usual.
    if not 0 <= now - row["last_seen"] <= TOUCH_SECONDS:
        with journal.write() as connection:
            connection.execute("UPDATE session SET last_seen = ? WHERE token_hash = ?", (now, _token_hash(token)))
    return Session(row["account"], row["role"], _csrf_token(journal, row["account"], row["password_hash"]))


def _csrf_token(journal: Journal, name: str, password_hash: str) -> str:
    """Return the token that every form of this account carries.

    It stays the same in the next session: a form that was left open while the session ended can still be sent after
    logging in again in another tab, so nothing typed is lost. A new password changes it.
    """
    key = journal.read("SELECT value FROM meta WHERE name = 'secret'")[0]["value"]
    return hmac.new(key.encode(), f"{name} {password_hash}".encode(), "sha256").hexdigest()


def log_out(journal: Journal, token: str) -> None:
    """End a session."""
    with journal.write() as connection:
        connection.execute("DELETE FROM session WHERE token_hash = ?", (_token_hash(token),))


def accounts(journal: Journal, role: str = "") -> list[Account]:
    """Return the accounts of one role, or all, by name."""
    return journal.records(Account, "SELECT name, role FROM account WHERE ? IN ('', role) ORDER BY name", (role,))


def require_assessor(journal: Journal, name: str) -> None:
    """Raise an error if no assessor has this name."""
    if Account(name, "assessor") not in accounts(journal):
        raise PorismError(f"there is no assessor {name!r}", fix=f"porism lab assess account JOURNAL {name}")
