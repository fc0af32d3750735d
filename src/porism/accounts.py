"""Accounts of people and programs: passwords, limits of guesses, sessions, tokens, and private files that keep them.

Three places have accounts: a private site (people in a `UserFile`), a server that takes changes (programs in a
`TokenFile`), and the journal of an assessment, which is a database with tables of its own. A secret is stored as a hash
only: scrypt for passwords, which people choose, and SHA-256 for random ones, of which nobody can try all.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from porism.errors import PorismError
from porism.files import atomic_file
from porism.locks import only_writer

T = TypeVar("T")

# scrypt's n, r and p. One guess costs 16 MiB and about a fifth of a second. They are stored with each hash, so they can
# be raised later.
COST = (2**14, 8, 5)
PASSWORD_LENGTH = 10


def hash_password(password: str) -> str:
    """Return `scrypt$n$r$p$salt$hash`, ready to be stored. A password that is too short is an error."""
    if len(password) < PASSWORD_LENGTH:
        raise PorismError("the password is too short", fix=f"use at least {PASSWORD_LENGTH} characters")
    salt = secrets.token_bytes(16)
    shown = (base64.b64encode(part).decode() for part in (salt, _scrypt(password, salt, *COST)))
    return "$".join(["scrypt", *map(str, COST), *shown])


def password_matches(password: str, stored: str | None) -> bool:
    """Return whether a password fits a stored hash. A wrong one takes as long as the right one, and so does no hash."""
    zeros = base64.b64encode(b"0" * 64).decode()
    _, n, r, p, salt, digest = (stored or "$".join(["scrypt", *map(str, COST), zeros, zeros])).split("$")
    computed = _scrypt(password, base64.b64decode(salt), int(n), int(r), int(p))
    return hmac.compare_digest(computed, base64.b64decode(digest)) and stored is not None


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=2**26)


class TooManyGuesses(PorismError):
    """An attempt to log in that is refused without a look at its password; it may be repeated after `seconds`."""

    def __init__(self, message: str, seconds: float) -> None:
        number, unit = (math.ceil(seconds), "second") if seconds < 60 else (math.ceil(seconds / 60), "minute")
        super().__init__(message, fix=f"wait {number} {unit}{'s' * (number != 1)} and try again")
        self.seconds = math.ceil(seconds)


class GuessLimit(NamedTuple):
    """LoginAttempts are free up to a number; then the delay doubles with each, from 2 seconds to the largest."""

    free: int
    largest: float

    def wait(self, attempts: int, last: float, now: float) -> float:
        """Return for how many more seconds the next attempt is refused, after the last of several."""
        if attempts < self.free:
            return 0.0
        return last + min(2.0 ** min(attempts - self.free + 1, 64), self.largest) - now


# A password check takes 16 MiB and a fifth of a second of a core; a flood of logins must not starve other pages.
SIMULTANEOUS_CHECKS, WAITING_CHECKS = 1, 4
_places = threading.BoundedSemaphore(SIMULTANEOUS_CHECKS + WAITING_CHECKS)
_checks = threading.BoundedSemaphore(SIMULTANEOUS_CHECKS)
BUSY_SECONDS = 2


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


REMEMBERED = 2_000  # names with attempts, and passwords that were right
# Nobody can lock out another person for longer than that many seconds.
NAME_LIMIT = GuessLimit(free=5, largest=30.0)


class LoginAttempts:
    """LoginAttempts to log in by name, counted in each process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._found: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def record(self, name: str) -> None:
        """Count an attempt before its password is checked; refuse one that comes too early, and do not count it."""
        with self._lock:
            now = self._clock()
            attempts, last = self._found.pop(name, (0, 0.0))
            wait = NAME_LIMIT.wait(attempts, last, now)
            self._found[name] = (attempts, last) if wait > 0 else (attempts + 1, now)
            if len(self._found) > REMEMBERED:
                self._found.popitem(last=False)
        if wait > 0:
            raise TooManyGuesses("too many wrong passwords", wait)

    def forget(self, name: str) -> None:
        """Forget the attempts of someone whose password was right."""
        with self._lock:
            self._found.pop(name, None)


def new_secret() -> str:
    """Return a random secret of 256 bits, for a session or a token."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """Return the hash of a random secret. Only the hash is stored, so that a copy of the file opens nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()


def sign(key: str, purpose: str, *parts: str) -> str:
    """Return a signature of texts by a secret key."""
    return hmac.new(key.encode(), "\0".join((purpose, *parts)).encode(), "sha256").hexdigest()


class PrivateFile(Generic[T]):
    """A JSON document that only this account of the machine can read.

    A change replaces it as a whole, and a changed file is read again at the next look, so that every process knows at
    once who was removed.
    """

    what: ClassVar[str]
    remedy: ClassVar[str]  # the command that makes such a file
    largest: ClassVar[int] = 5_000_000
    wait_seconds: ClassVar[float] = 10.0  # for another process that changes the file

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[tuple[int, int, int], T] | None = None

    def _parse(self, document: Any) -> T:
        raise NotImplementedError

    def current(self) -> T:
        """Return what the file has now. One that is wrong, or that others can read, is an error: nobody gets in."""
        remedy = self.remedy.format(self.path)
        try:
            state = self.path.stat()
            version = (state.st_ino, state.st_mtime_ns, state.st_size)
            if self._read is None or self._read[0] != version:
                if state.st_mode & 0o077:
                    raise self._wrong("can be read by other accounts of this machine", f"chmod 600 {self.path}")
                if state.st_size > self.largest:
                    raise self._wrong(f"too large for a {self.what}", remedy)
                self._read = version, self._parse(json.loads(self.path.read_text("utf-8")))
            return self._read[1]
        except OSError as error:
            raise self._wrong(f"cannot be read: {error.strerror}", remedy) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._wrong(f"not a {self.what}", f"remove it, then: {remedy}") from None

    def _wrong(self, fact: str, fix: str) -> PorismError:
        return PorismError(fact, where=str(self.path), fix=fix)

    def _changing(self) -> AbstractContextManager[None]:
        """Be the only process that changes the file."""
        return only_writer(self.path, wait=self.wait_seconds)

    def _write(self, document: Mapping[str, Any]) -> None:
        """Replace the file; readers see the old one or the new one."""
        with atomic_file(self.path, mode=0o600) as out:
            out.write(json.dumps(document, indent=1) + "\n")


USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Users:
    """The hashes of passwords by name, the secret of the site, and how often each user has logged out."""

    secret: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)

    def generation(self, name: str) -> int:
        """Return the number that a user's sessions carry. Logging out raises it, which ends all, copied ones too."""
        return self.generations.get(name, 0)


class UserFile(PrivateFile[Users]):
    """The users of a private site."""

    what, remedy = "file of users", "porism site users add {} NAME"

    def _parse(self, document: Any) -> Users:
        hashes = {str(name): str(text) for name, text in document["users"].items()}
        if not all(USER_NAME.fullmatch(name) and text.startswith("scrypt$") for name, text in hashes.items()):
            raise ValueError
        generations = {str(name): int(number) for name, number in document.get("generations", {}).items()}
        return Users(str(document["secret"]), hashes, generations)

    def _put(self, users: Users) -> None:
        generations = {name: number for name, number in sorted(users.generations.items()) if name in users.hashes}
        self._write({"secret": users.secret, "users": dict(sorted(users.hashes.items())), "generations": generations})

    def add(self, name: str, password: str) -> bool:
        """Add a user, or change the password of one, which ends their sessions. Return whether the user is new."""
        if not USER_NAME.fullmatch(name):
            fix = "use up to 40 letters, digits, hyphens and underscores"
            raise PorismError(f"{name!r} is not a valid name", fix=fix)
        hashed = hash_password(password)
        with self._changing():
            users = self.current() if self.path.exists() else Users(secrets.token_hex(32))
            self._put(replace(users, hashes={**users.hashes, name: hashed}))
        return name not in users.hashes

    def remove(self, name: str) -> None:
        """Remove a user, which ends their sessions."""
        with self._changing():
            users = self.current()
            if name not in users.hashes:
                raise self._wrong(f"there is no user {name!r}", f"porism site users list {self.path}")
            self._put(replace(users, hashes={one: text for one, text in users.hashes.items() if one != name}))

    def end_sessions(self, name: str) -> None:
        """End all sessions of a user, also for other processes and after a restart."""
        with self._changing():
            users = self.current()
            self._put(replace(users, generations={**users.generations, name: users.generation(name) + 1}))


SESSION_SECONDS = 12 * 3600


def new_session(users: Users, name: str, now: float) -> str:
    """Return the value of a session cookie. It ends with a new password or by logging out, as both are signed."""
    expires = str(int(now + SESSION_SECONDS))
    return f"{expires}.{name}.{_session_signature(users, expires, name)}"


def session_user(users: Users, cookie: str, now: float) -> str:
    """Return the name in a cookie; "" if it is forged, too old, or its user logged out or has a new password."""
    expires, _, rest = cookie.partition(".")
    name, _, signature = rest.rpartition(".")
    if name not in users.hashes or not (expires.isascii() and expires.isdigit()) or len(expires) > 12:
        return ""
    is_right = hmac.compare_digest(_session_signature(users, expires, name).encode(), signature.encode())
    # One that ends later than a new one would is left over from a clock that was set back: it would live on for as long
    # as that.
    is_current = now < int(expires) <= now + SESSION_SECONDS + 1
    return name if is_right and is_current else ""


def _session_signature(users: Users, expires: str, name: str) -> str:
    return sign(users.secret, "session", expires, name, users.hashes[name], str(users.generation(name)))


class NamePassword(NamedTuple):
    """The name and the password of a request."""

    name: str
    password: str


class PasswordChecker:
    """Checks names and passwords. It remembers what was right, so that not every request of a program costs scrypt."""

    def __init__(self, file: UserFile) -> None:
        self._file, self._attempts, self._lock = file, LoginAttempts(), threading.Lock()
        self._key = secrets.token_bytes(32)
        # By a keyed hash of name and password: the stored hash that they matched.
        self._right: OrderedDict[bytes, str] = OrderedDict()

    def remembers(self, given: NamePassword) -> bool:
        """Return whether name and password were right before and still are. It takes no time, whoever else guesses."""
        stored, mark = self._file.current().hashes.get(given.name), self._mark(given)
        with self._lock:
            return stored is not None and self._right.get(mark) == stored

    def check(self, given: NamePassword) -> bool:
        """Return whether the password is that of the user. The caller has a place for a login."""
        with password_check():
            self._attempts.record(given.name)
            stored = self._file.current().hashes.get(given.name)
            matches = password_matches(given.password, stored)
        if matches and stored is not None:
            self._attempts.forget(given.name)
            with self._lock:
                self._right[self._mark(given)] = stored
                if len(self._right) > REMEMBERED:
                    self._right.popitem(last=False)
        return matches

    def _mark(self, given: NamePassword) -> bytes:
        return hmac.digest(self._key, f"{given.name}\0{given.password}".encode("utf-8", "replace"), hashlib.sha256)


SCOPES = ("write", "delete", "merge")
LONGEST_NAME = 100
_TOKEN = re.compile(r"porism_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token of a program, as the file has it: without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: int  # seconds since 1970
    hash: str


class NewToken(NamedTuple):
    """A token and its text `porism_ID_SECRET`, which is shown once."""

    token: AccessToken
    text: str


class TokenFile(PrivateFile[tuple[AccessToken, ...]]):
    """The tokens of programs that may change an index, with scopes, revocable while a server runs."""

    what, remedy = "file of tokens", "porism site tokens create INDEX --name NAME"

    def _parse(self, document: Any) -> tuple[AccessToken, ...]:
        return tuple(AccessToken(**{**one, "scopes": tuple(one["scopes"])}) for one in document["tokens"])

    def _put(self, tokens: Iterable[AccessToken]) -> None:
        self._write({"tokens": [asdict(token) for token in tokens]})

    def tokens(self) -> tuple[AccessToken, ...]:
        """Return all tokens, the oldest first; none if there is no file."""
        return self.current() if self.path.exists() else ()

    def create(self, name: str, scopes: Iterable[str]) -> NewToken:
        """Add a token; its text cannot be found out later."""
        chosen = tuple(scope for scope in SCOPES if scope in set(scopes))
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            fix = f"give a name of at most {LONGEST_NAME} characters, for example --name sync"
            raise PorismError("the name of a token is empty or too long", fix=fix)
        secret = new_secret()
        with self._changing():
            token = AccessToken(secrets.token_hex(4), name, chosen, int(time.time()), hash_secret(secret))
            self._put((*self.tokens(), token))
        return NewToken(token, f"porism_{token.id}_{secret}")

    def revoke(self, name: str) -> list[AccessToken]:
        """Remove the tokens with this id or name; return them."""
        with self._changing():
            before = self.tokens()
            gone = [token for token in before if name in (token.id, token.name)]
            if not gone:
                known = ", ".join(sorted({token.name for token in before})) or "there are none"
                raise self._wrong(f"there is no token {name!r}", f"tokens: {known}")
            self._put(token for token in before if token not in gone)
        return gone

    def find(self, text: str) -> AccessToken | None:
        """Return the token with this text. Secrets are compared in constant time."""
        found = _TOKEN.fullmatch(text)
        if found is None:
            return None
        given = hash_secret(found[2])
        known = (token for token in self.tokens() if token.id == found[1])
        return next((token for token in known if hmac.compare_digest(token.hash, given)), None)
