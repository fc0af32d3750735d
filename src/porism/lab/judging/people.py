"""People of an assessment: accounts and sessions in the journal, limits of logins, and accounts of language models."""

from __future__ import annotations

import re
from typing import NamedTuple

from porism import accounts as logins
from porism.errors import PorismError
from porism.lab.judging.journal import Journal

MODEL_PREFIX = "model."
PURPOSES = ("dual", "training")  # what a model may be assigned
ROLES = ("assessor", "organiser", "team")
# A session is marked as used once a minute at most, so that reading a page costs no write.
TOUCH_SECONDS = 60


def is_model(assessor: str) -> bool:
    """Return whether an account belongs to a language model."""
    return assessor.startswith(MODEL_PREFIX)


WINDOW_SECONDS = 900.0  # attempts are forgotten after this time
MAX_FAILURES = 5
MAX_ADDRESS_FAILURES = 50  # a whole institute may share one address
MAX_NAME_FAILURES, MAX_NAME_DELAY = 20, 30.0
# The attempts that each limit counts.
LIMITS = {
    "name = :name AND address = :address": logins.GuessLimit(MAX_FAILURES, WINDOW_SECONDS),
    "address = :address": logins.GuessLimit(MAX_ADDRESS_FAILURES, WINDOW_SECONDS),
    "name = :name": logins.GuessLimit(MAX_NAME_FAILURES, MAX_NAME_DELAY),
}


def record_attempt(journal: Journal, name: str, address: str) -> None:
    """Record an attempt to log in, or raise an error that says how long to wait. Refused attempts are not counted."""
    now, waits = journal.clock(), []
    with journal.write() as connection:
        # Attempts of the future are left over from a clock that was set back.
        connection.execute("DELETE FROM login_failure WHERE at > ? OR at < ?", (now, now - WINDOW_SECONDS))
        for condition, limit in LIMITS.items():
            query = f"SELECT count(*), max(at) FROM login_failure WHERE {condition}"
            attempts, last = connection.execute(query, {"name": name, "address": address}).fetchone()
            waits.append(limit.wait(attempts, last or 0.0, now))
        if max(waits) > 0:
            raise logins.TooManyGuesses("too many wrong passwords", max(waits))
        connection.execute("INSERT INTO login_failure (at, name, address) VALUES (?, ?, ?)", (now, name, address))


class Account(NamedTuple):
    """The name and role of a person or team."""

    name: str
    role: str


class Session(NamedTuple):
    """A logged-in account, and the CSRF token that each of its forms must carry."""

    account: str
    role: str
    csrf: str


def add_account(journal: Journal, name: str, role: str, password: str) -> None:
    """Create an account, or change the password and role of an existing one and end its sessions."""
    if is_model(name):
        command = "porism lab assess account JOURNAL NAME --role model"
        fix = f"choose another name, or create an account of a model: {command}"
        raise PorismError(f"names that begin with {MODEL_PREFIX} belong to models", fix=fix)
    if role == "model":
        raise PorismError("models have no passwords", fix="porism lab assess account JOURNAL model.NAME --role model")
    _store_account(journal, name, role, password)


def add_model_account(journal: Journal, name: str) -> None:
    """Create the account of a language model: an assessor with whom nobody can log in."""
    if not is_model(name):
        raise PorismError(f"{name!r} does not say that it is a model", fix=f"name it {MODEL_PREFIX}{name}")
    _store_account(journal, name, "assessor", logins.new_secret())


def _store_account(journal: Journal, name: str, role: str, password: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.]{0,39}", name):
        raise PorismError(f"{name!r} is not a valid name", fix="use up to 40 letters, digits, dots and underscores")
    if role not in ROLES:
        raise PorismError(f"there is no role {role!r}", fix="choose one of: " + ", ".join(ROLES))
    hashed = logins.hash_password(password)
    with journal.write() as connection:
        connection.execute(
            "INSERT INTO account (name, role, password_hash) VALUES (?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET role = excluded.role, password_hash = excluded.password_hash",
            (name, role, hashed),
        )
        connection.execute("DELETE FROM session WHERE account = ?", (name,))


def log_in(journal: Journal, name: str, password: str, address: str = "") -> str | None:
    """Return the token of a new session, or None if the name or password is wrong. Too many logins are an error."""
    with logins.place_for_login(), logins.password_check():
        record_attempt(journal, name, address)
        rows = journal.read("SELECT password_hash FROM account WHERE name = ?", (name,))
        matches = logins.password_matches(password, rows[0]["password_hash"] if rows else None)
    if not matches:
        return None
    token, now = logins.new_secret(), journal.clock()
    with journal.write() as connection:
        connection.execute("DELETE FROM login_failure WHERE name = ? AND address = ?", (name, address))
        connection.execute("DELETE FROM session WHERE last_seen < ?", (now - logins.SESSION_SECONDS,))
        session = (logins.hash_secret(token), name, now)
        connection.execute("INSERT INTO session (token_hash, account, last_seen) VALUES (?, ?, ?)", session)
    return token


def session_of(journal: Journal, token: str) -> Session | None:
    """Return the session of a token, or None if there is none or it was idle too long."""
    now, hashed = journal.clock(), logins.hash_secret(token)
    rows = journal.read(
        "SELECT account, role, password_hash, last_seen FROM session JOIN account ON account.name = session.account "
        "WHERE token_hash = ? AND last_seen > ?",
        (hashed, now - logins.SESSION_SECONDS),
    )
    if not rows:
        return None
    row = rows[0]
    # A session of the future is left over from a clock that was set back; from now on it ends as usual.
    if not 0 <= now - row["last_seen"] <= TOUCH_SECONDS:
        with journal.write() as connection:
            connection.execute("UPDATE session SET last_seen = ? WHERE token_hash = ?", (now, hashed))
    # The token of the forms stays the same in the next session: a form that was left open while the session ended can
    # still be sent after logging in again in another tab, so nothing typed is lost. A new password changes it.
    key = journal.read("SELECT value FROM meta WHERE name = 'secret'")[0]["value"]
    csrf = logins.sign(key, "form", row["account"], row["password_hash"])
    return Session(row["account"], row["role"], csrf)


def log_out(journal: Journal, token: str) -> None:
    """End a session."""
    with journal.write() as connection:
        connection.execute("DELETE FROM session WHERE token_hash = ?", (logins.hash_secret(token),))


def accounts(journal: Journal, role: str = "") -> list[Account]:
    """Return the accounts of one role, or all, by name."""
    return journal.records(Account, "SELECT name, role FROM account WHERE ? IN ('', role) ORDER BY name", (role,))


def require_assessor(journal: Journal, name: str) -> None:
    """Raise an error if no assessor has this name."""
    if Account(name, "assessor") not in accounts(journal):
        raise PorismError(f"there is no assessor {name!r}", fix=f"porism lab assess account JOURNAL {name}")
