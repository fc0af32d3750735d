"""Pages for the operator answer on a port of their own, which only this machine reaches, unless the operator opens them.

A proxy on the same machine passes on requests of strangers as its own, and need not say so in any header. It knows the port of the site only.
"""

from __future__ import annotations

import ipaddress

from starlette.exceptions import HTTPException
from starlette.requests import Request

from porism.web.operations.settings import Operations
from porism.web.server.hosts import LOOPBACK

NAMES = {name.strip("[]") for name in LOOPBACK}


def check_operator(request: Request, settings: Operations) -> None:
    """Refuse a request that is not the operator's, as if there were no such page."""
    if not settings.open_pages and not (settings.port and is_local(request, settings.port)):
        raise HTTPException(404)


def is_local(request: Request, port: int) -> bool:
    """Return whether a request comes from this machine, under a name of this machine, to this port."""
    server = request.scope.get("server")
    if request.client is None or server is None or server[1] != port:
        return False
    try:
        address = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    return address.is_loopback and request.url.hostname in NAMES
