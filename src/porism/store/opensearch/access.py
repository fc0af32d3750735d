"""Who may talk to a cluster, and how the cluster is recognised: user, password, certificates. All of it comes from the
environment or files."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from porism.errors import PorismError
from porism.store.opensearch.address import PLAIN, TLS, ClusterAddress

USER = "PORISM_OPENSEARCH_USER"
PASSWORD = "PORISM_OPENSEARCH_PASSWORD"
PASSWORD_FILE = "PORISM_OPENSEARCH_PASSWORD_FILE"
AUTHORITY = "PORISM_OPENSEARCH_CA"
WITHOUT_TLS = "PORISM_OPENSEARCH_PLAIN"
LARGEST_PASSWORD = 4096


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password; printing them shows the user only."""

    user: str
    password: str = field(repr=False)

    def __str__(self) -> str:
        return self.user

    @classmethod
    def from_environment(cls) -> Credentials | None:
        """Return the user and the password that the environment names; None where it names none."""
        user, password, file = (os.environ.get(name, "") for name in (USER, PASSWORD, PASSWORD_FILE))
        if not user:
            if password or file:
                raise PorismError("a password is set without a user", where=USER, fix=f"set {USER} to the user's name")
            return None
        if bool(password) == bool(file):
            fact = "both a password and a file of it are set" if password else f"the user {user} has no password"
            raise PorismError(fact, where=PASSWORD, fix=f"set one of {PASSWORD} and {PASSWORD_FILE}")
        return cls(user, password or _read_password(Path(file)))


def _read_password(path: Path) -> str:
    """Return the first line of a file that only its owner can read."""
    try:
        with path.open("rb") as stream:
            if os.fstat(stream.fileno()).st_mode & 0o077:
                fact, fix = "can be read by other accounts of this machine", f"chmod 600 {path}"
                raise PorismError(fact, where=str(path), fix=fix)
            text = stream.readline(LARGEST_PASSWORD).decode("utf-8").rstrip("\r\n")
    except OSError as error:
        fix = f"write the password into a file with the rights 600, and name it in {PASSWORD_FILE}"
        raise PorismError(f"cannot be read: {error.strerror}", where=str(path), fix=fix) from None
    except UnicodeDecodeError:
        raise PorismError("not UTF-8 text", where=str(path), fix="write the password as UTF-8") from None
    if not text:
        raise PorismError("has no password in its first line", where=str(path), fix="write the password there")
    return text


def tls_context() -> ssl.SSLContext:
    """Return what verifies certificates and names of hosts: by the authorities of the machine, or by those of a
    file."""
    file = os.environ.get(AUTHORITY, "")
    try:
        return ssl.create_default_context(cafile=file or None)
    except ssl.SSLError:
        fact = "is not a file of certificates"
    except OSError as error:
        fact = f"cannot be read: {error.strerror}"
    fix = f"name in {AUTHORITY} the PEM file of the authority that signed the cluster's certificate"
    raise PorismError(fact, where=file, fix=fix)


def check_transport(address: ClusterAddress) -> None:
    """Refuse to send posts and passwords unencrypted over a network, unless the environment says so."""
    remote = [host for host in address.hosts if not host.is_local]
    if address.tls or not remote or os.environ.get(WITHOUT_TLS) == "1":
        return
    raise PorismError(
        f"{PLAIN}:// sends everything unencrypted to {remote[0]}",
        where=str(address),
        fix=f"write {TLS}://, or set {WITHOUT_TLS}=1 where you trust every machine on the way",
    )
