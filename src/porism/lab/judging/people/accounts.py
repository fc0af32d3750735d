"""Accounts: scrypt passwords and sessions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import NamedTuple

from porism.errors import PorismError
from porism.lab.judging.people.login_limits import forget_attempts, password_check, place_for_login, record_attempt
from porism.lab.judging.people.models import MODEL_PREFIX
from porism.lab.judging.storage.journal import Journal

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
