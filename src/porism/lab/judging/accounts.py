"""Who may come in: accounts with scrypt passwords, sessions, and a brake on guessing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from porism.errors import PorismError
from porism.lab.judging.journal import Journal

# Cost of one guess: 16 MiB and about a fifth of a second. The numbers are stored with each hash, so they can be raised.
COST = (2**14, 8, 5)
PASSWORD_LENGTH = 10
SESSION_SECONDS = 12 * 3600.0
TRIES, WINDOW = 5, 900.0
# An address may stand for a whole institute, so it gets more tries than a name.
ADDRESS_TRIES = 50
ROLES = ("assessor", "organiser", "team")


@dataclass(frozen=True, slots=True)
class Session:
    """Someone who is logged in, and the token that every form of theirs must carry."""

    account: str
    role: str
    csrf: str


def hash_password(password: str, salt: bytes | None = None) -> str:
    """scrypt$n$r$p$salt$hash, ready to be stored."""
    n, r, p = COST
    salt = secrets.token_bytes(16) if salt is None else salt
    digest = hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=2**26)
    return "$".join(
        ["scrypt", str(n), str(r), str(p), base64.b64encode(salt).decode(), base64.b64encode(digest).decode()]
    )


def is_password(password: str, stored: str) -> bool:
    """Does the password fit the stored hash? Takes the same time for a wrong one."""
    _, n, r, p, salt, digest = stored.split("$")
    made = hashlib.scrypt(password.encode(), salt=base64.b64decode(salt), n=int(n), r=int(r), p=int(p), maxmem=2**26)
    return hmac.compare_digest(made, base64.b64decode(digest))


def _nobody() -> str:
    """Checked when the name is unknown, so that the time of an answer does not tell which names exist."""
    zeros = base64.b64encode(b"0" * 64).decode()
    return "$".join(["scrypt", *map(str, COST), zeros, zeros])


def add_account(journal: Journal, name: str, role: str, password: str) -> None:
    """A new account, or a new password (and role) for an existing one, whose sessions then end."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.]{0,39}", name):
        raise PorismError(f"{name!r} cannot be a name", fix="use up to 40 letters, digits, dots and underscores")
    if role not in ROLES:
        raise PorismError(f"there is no role {role!r}", fix="choose one of: " + ", ".join(ROLES))
    if len(password) < PASSWORD_LENGTH:
        raise PorismError("the password is too short", fix=f"use at least {PASSWORD_LENGTH} characters")
    with journal.write() as connection:
        connection.execute(
            "INSERT INTO account VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET role = excluded.role, secret = excluded.secret",
            (name, role, hash_password(password)),
        )
        connection.execute("DELETE FROM session WHERE account = ?", (name,))


def log_in(journal: Journal, name: str, password: str, address: str = "") -> str | None:
    """The token of a new session, or None for a wrong name or password. Too many tries raise an error that says when to come back."""
    now = journal.clock()
    by_name = journal.read("SELECT count(*) FROM failure WHERE name = ? AND at > ?", (name, now - WINDOW))[0][0]
    by_address = journal.read("SELECT count(*) FROM failure WHERE address = ? AND at > ?", (address, now - WINDOW))[0][
        0
    ]
    if by_name >= TRIES or by_address >= ADDRESS_TRIES:
        raise PorismError("too many wrong passwords", fix=f"wait {WINDOW / 60:.0f} minutes and try again")
    rows = journal.read("SELECT secret FROM account WHERE name = ?", (name,))
    if not is_password(password, rows[0]["secret"] if rows else _nobody()) or not rows:
        with journal.write() as connection:
            connection.execute("INSERT INTO failure VALUES (?, ?, ?)", (now, name, address))
        return None
    token = secrets.token_urlsafe(32)
    with journal.write() as connection:
        connection.execute("DELETE FROM failure WHERE name = ? OR at < ?", (name, now - WINDOW))
        connection.execute("DELETE FROM session WHERE seen < ?", (now - SESSION_SECONDS,))
        connection.execute("INSERT INTO session VALUES (?, ?, ?)", (_hidden(token), name, now))
    return token


def _hidden(token: str) -> str:
    """Tokens are stored hashed: a copy of the journal opens no session."""
    return hashlib.sha256(token.encode()).hexdigest()


def session_of(journal: Journal, token: str) -> Session | None:
    """Who holds this token, or None if nobody does or it was idle too long."""
    now = journal.clock()
    rows = journal.read(
        "SELECT account, role, secret, seen FROM session JOIN account ON account.name = session.account WHERE token = ? AND seen > ?",
        (_hidden(token), now - SESSION_SECONDS),
    )
    if not rows:
        return None
    # Written once a minute at most: reading a page should not cost a write.
    if now - rows[0]["seen"] > 60:
        with journal.write() as connection:
            connection.execute("UPDATE session SET seen = ? WHERE token = ?", (now, _hidden(token)))
    return Session(rows[0]["account"], rows[0]["role"], _form_token(journal, rows[0]["account"], rows[0]["secret"]))


def _form_token(journal: Journal, name: str, secret: str) -> str:
    """What every form of this person carries. It is the same in their next session, so that a form left open while the session
    ended can still be sent after logging in again in another tab: nothing typed is lost. A new password changes it."""
    key = journal.read("SELECT value FROM meta WHERE name = 'secret'")[0]["value"]
    return hmac.new(key.encode(), f"{name} {secret}".encode(), "sha256").hexdigest()


def log_out(journal: Journal, token: str) -> None:
    """End a session."""
    with journal.write() as connection:
        connection.execute("DELETE FROM session WHERE token = ?", (_hidden(token),))


def accounts(journal: Journal, role: str = "") -> list[tuple[str, str]]:
    """Names and roles, of one role or of all."""
    return [
        (row["name"], row["role"])
        for row in journal.read("SELECT name, role FROM account WHERE ? IN ('', role) ORDER BY name", (role,))
    ]
