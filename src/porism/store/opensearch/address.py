"""The address of a collection in an OpenSearch cluster: `opensearch://host1:9200,host2:9200/name`, with
`opensearchs://` for TLS."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
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
