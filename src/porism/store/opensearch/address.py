"""Where a collection in an OpenSearch cluster is, and who may talk to the cluster.

An address is `opensearch://host1:9200,host2:9200/name`, with `opensearchs://` for TLS. User, password and certificates
come from the environment or from files.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from porism.errors import PorismError

PLAIN, TLS = "opensearch", "opensearchs"
SCHEMES = (PLAIN, TLS)
PORT = 9200
EXAMPLE = "opensearch://host1:9200,host2:9200/name"
LONGEST_NAME = 100
# What OpenSearch allows in the name of an index is wider; these names are safe in URLs and patterns as well.
NAME = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_NAME - 1}}}")
# Indexes of a collection are named NAME-KIND-NUMBER, so that these names would be mistaken for parts of another
# collection.
RESERVED = ("-threads", "-formulas", "-posts", "-rows", "-state")
HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")


class Host(NamedTuple):
    """A node, or a proxy before the nodes."""

    name: str
    port: int = PORT

    def __str__(self) -> str:
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Return whether it is this machine, so that nobody else sees what is sent."""
        if self.name == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.name).is_loopback
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """The hosts of a cluster, and the name of a collection there. User and password are never part of it."""

    hosts: tuple[Host, ...]
    name: str
    tls: bool = False

    def __str__(self) -> str:
        return f"{TLS if self.tls else PLAIN}://{','.join(map(str, self.hosts))}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Read an address; what is wrong with it is said without repeating a password that it may contain."""
        scheme, _, rest = text.partition("://")
        if scheme not in SCHEMES:
            raise PorismError("not the address of an OpenSearch cluster", where=scheme, fix=f"write {EXAMPLE}")
        if "@" in rest:
            place = f"{scheme}://...@{rest.rpartition('@')[2]}"
            fix = "remove them, and set PORISM_OPENSEARCH_USER and PORISM_OPENSEARCH_PASSWORD_FILE"
            raise PorismError("user and password may not be part of an address", where=place, fix=fix)
        hosts, _, name = rest.partition("/")
        if not NAME.fullmatch(name):
            fact = f"{name!r} is not the name of a collection" if name else "the name of the collection is missing"
            fix = f"write {EXAMPLE}, the name in a to z, 0 to 9, - and _, at most {LONGEST_NAME} characters"
            raise PorismError(fact, where=text, fix=fix)
        if name.endswith(RESERVED):
            fact = f"{name!r} could be mistaken for a part of the collection {name.rpartition('-')[0]!r}"
            raise PorismError(fact, where=text, fix=f"choose a name that does not end in {', '.join(RESERVED)}")
        return cls(tuple(_host(one, text) for one in hosts.split(",")), name, scheme == TLS)


def _host(text: str, address: str) -> Host:
    found = HOST.fullmatch(text)
    if found is None:
        raise PorismError(f"{text!r} is not a host", where=address, fix=f"write {EXAMPLE}, IPv6 as [::1]:9200")
    port = int(found["port"] or PORT)
    if not 0 < port < 65536:
        raise PorismError(f"{port} is not a port", where=address, fix="write a number from 1 to 65535 after the colon")
    return Host(found["six"] or found["host"], port)


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
