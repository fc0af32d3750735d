"""The frame of the visual formula editor. It has a policy of its own: MathLive sets inline styles, which the other
pages forbid."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.web.pages.routes import render
from porism.web.server.middleware import CONTENT_POLICY

POLICY = CONTENT_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
    "frame-ancestors 'none'", "frame-ancestors 'self'"
)


async def editor(request: Request) -> Response:
    """Return the page inside the frame."""
    response = render(request, "editor.html")
    response.headers["content-security-policy"] = POLICY
    response.headers["x-frame-options"] = "SAMEORIGIN"
    return response


def routes() -> list[Route]:
    """Return the route of the frame."""
    return [Route("/editor", editor)]
