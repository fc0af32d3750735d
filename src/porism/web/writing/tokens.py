"""Tokens of programs that may change an index: random secrets, stored as hashes, with scopes, revocable while a server
runs.

A token is `porism_ID_SECRET`. The secret has 256 random bits, so that a plain hash is enough: nobody can try all of
them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from porism.errors import PorismError
from porism.files import disk_error
from porism.locks import only_writer

SCOPES = {
    "write": "add and replace posts, comments and links",
    "delete": "delete posts and comments",
    "merge": "merge all segments of the index",
}
LONGEST_NAME = 100
WAIT_SECONDS = 10.0  # for another process that changes the file
_TOKEN = re.compile(r"porism_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as the file has it: without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: int  # seconds since 1970
    hash: str


class NewToken(NamedTuple):
    """A token and its text, which is shown once."""

    token: Token
    text: str


class TokenFile:
    """The tokens in a file. A changed file is read again, so that a token is valid, or revoked, from the next request
    on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, the oldest first; none if there is no file."""
        try:
            state = self.path.stat()
        except FileNotFoundError:
            return ()
        version = (state.st_mtime_ns, state.st_ino, state.st_size)
        if version != self._version:
            if state.st_mode & 0o077:
                fix = f"chmod 600 {self.path}"
                raise PorismError("readable by other users of the machine", where=str(self.path), fix=fix)
            self._tokens, self._version = self._read(), version
        return self._tokens

    def _read(self) -> tuple[Token, ...]:
        try:
            raw = json.loads(self.path.read_text("utf-8"))["tokens"]
            return tuple(Token(**{**one, "scopes": tuple(one["scopes"])}) for one in raw)
        except (ValueError, TypeError, KeyError, OSError):
            fix = f"remove it and create tokens again: rm {self.path}"
            raise PorismError("not a file of tokens that can be read", where=str(self.path), fix=fix) from None

    def create(self, name: str, scopes: Iterable[str]) -> NewToken:
        """Add a token; its text cannot be found out later."""
        chosen = tuple(scope for scope in SCOPES if scope in set(scopes))
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            fix = f"give a name of at most {LONGEST_NAME} characters, for example --name sync"
            raise PorismError("the name of a token is empty or too long", fix=fix)
        secret = secrets.token_urlsafe(32)
        with only_writer(self.path, wait=WAIT_SECONDS):
            token = Token(secrets.token_hex(4), name, chosen, int(time.time()), _hash(secret))
            self._write((*self.tokens(), token))
        return NewToken(token, f"porism_{token.id}_{secret}")

    def revoke(self, name: str) -> list[Token]:
        """Remove the tokens with this id or name; return them."""
        with only_writer(self.path, wait=WAIT_SECONDS):
            before = self.tokens()
            gone = [token for token in before if name in (token.id, token.name)]
            if not gone:
                known = ", ".join(sorted({token.name for token in before})) or "there are none"
                raise PorismError(f"there is no token {name!r}", where=str(self.path), fix=f"tokens: {known}")
            self._write(tuple(token for token in before if token not in gone))
        return gone

    def find(self, text: str) -> Token | None:
        """Return the token with this text. Secrets are compared in constant time."""
        found = _TOKEN.fullmatch(text)
        if found is None:
            return None
        given = _hash(found[2])
        for token in self.tokens():
            if token.id == found[1] and hmac.compare_digest(token.hash, given):
                return token
        return None

    def _write(self, tokens: tuple[Token, ...]) -> None:
        """Replace the file; only its owner may read it."""
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-")  # mode 600
            with open(handle, "w", encoding="utf-8") as out:
                json.dump({"tokens": [asdict(token) for token in tokens]}, out, indent=1)
                out.flush()
                os.fsync(out.fileno())
            os.replace(name, self.path)
        except OSError as error:
            raise disk_error(error, self.path) from error


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()
