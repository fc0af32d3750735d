"""Pages for the operator answer requests from this machine only, unless the operator opens them."""

from __future__ import annotations

import ipaddress

from starlette.exceptions import HTTPException
from starlette.requests import Request

from porism.web.server.hosts import LOOPBACK

NAMES = {name.strip("[]") for name in LOOPBACK}
# Headers of a proxy: the request was passed on for somebody else.
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


def check_operator(request: Request, open_pages: bool) -> None:
    """Refuse a request that does not come from this machine, as if there were no such page."""
    if not open_pages and not is_local(request):
        raise HTTPException(404)


def is_local(request: Request) -> bool:
    """Return whether a request comes from this machine, under a name of this machine, and not through a proxy."""
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    try:
        address = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    return address.is_loopback and request.url.hostname in NAMES
