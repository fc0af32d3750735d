"""Pictures of the collection's own: found by the name that the build gave them, never by a path."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

# The address of a picture in a stored text.
OWN_PICTURE = re.compile(r"images/([0-9a-f]{64}\.(?:png|jpg|gif|webp|svg))\Z")
TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
}
# A picture that is opened by itself runs nothing and loads nothing; an SVG may have styles.
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    "cache-control": "public, max-age=31536000, immutable",
}


def own_picture(alt: str, address: str, other: Callable[[str, str], str]) -> str:
    """Return the HTML of a picture of the collection; `other` gives that of any other picture."""
    found = OWN_PICTURE.match(address)
    return f'<img src="/images/{found[1]}" alt="{html.escape(alt)}" loading="lazy">' if found else other(alt, address)


async def image(request: Request) -> Response:
    """Return a picture of the collection."""
    name = str(request.path_params["name"])
    found = request.app.state.engine.content.images([name]) if OWN_PICTURE.match(f"images/{name}") else {}
    if name not in found:
        raise HTTPException(404)
    return Response(found[name], media_type=TYPES[name.rpartition(".")[2]], headers=HEADERS)
