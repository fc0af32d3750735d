"""The file of users of a private site: names with hashed passwords, and the secret that signs their sessions."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from porism.errors import PorismError
from porism.files import disk_error
from porism.lab.judging.people.accounts import PASSWORD_LENGTH, hash_password
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
        """Return the number that the sessions of a user carry. Logging out raises it, which ends them all, copied ones included."""
        return self.generations.get(name, 0)


def read_users(path: Path) -> Users:
    """Read a file of users. One that others can read is refused."""
    fix = f"porism site users add {path} NAME"
    try:
        state = path.stat()
        if state.st_size > LARGEST:
            raise PorismError("is too large for a file of users", where=str(path), fix=fix)
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
        raise PorismError("is not a file of users", where=str(path), fix=f"remove it, then: {fix}") from None


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
    """The users of a running site: the file is read again when it has changed, so that a removed user is out at once."""

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
