"""The look of a site as the pages need it: title, lines at the foot, logo and stylesheet, and the routes that serve
them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.errors import PorismError
from porism.files import read_regular
from porism.web.pages.attribution import Licence
from porism.web.pages.images import HEADERS
from porism.web.site.settings import SiteSettings
from porism.web.site.theme import stylesheet

LARGEST_LOGO = 200_000
KINDS = {"png": "image/png", "webp": "image/webp", "svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Logo:
    """The bytes of a picture, its media type, and its address, which changes with its content."""

    content: bytes
    media_type: str
    address: str


def read_logo(path: str) -> Logo:
    """Read a logo. An SVG with scripts, or with references to other files, is refused."""
    from porism.corpus.sources.documents.images import image_kind

    fix = f"name a PNG, WebP or SVG file of at most {LARGEST_LOGO:,} bytes"
    try:
        content = read_regular(Path(path), LARGEST_LOGO)
    except OSError as error:
        raise PorismError(f"the logo cannot be read: {error.strerror}", where=path, fix=fix) from None
    kind = image_kind(content)
    if kind not in KINDS:
        has_parts = content.lstrip().startswith(b"<")
        fact = (
            "the logo has scripts or references to other files"
            if has_parts
            else "the logo is no picture that pages show"
        )
        raise PorismError(fact, where=path, fix=f"save it as plain SVG, or as PNG: {fix}" if has_parts else fix)
    return Logo(content, KINDS[kind], f"/logo.{kind}?{hashlib.sha256(content).hexdigest()[:12]}")


@dataclass(frozen=True, slots=True)
class SiteLook:
    """What every page shows of the site. `stylesheet_address` changes with the colours, so that browsers may keep
    it."""

    title: str
    heading: str
    attribution: str
    licence: Licence | None
    logo: Logo | None
    stylesheet: str
    stylesheet_address: str


def look_of(site: SiteSettings) -> SiteLook:
    """Return the look of a site; its logo is read."""
    colours = stylesheet(site)
    return SiteLook(
        site.site.title or "Porism",
        site.site.heading,
        site.site.attribution,
        Licence(site.posts.licence, site.posts.licence_url) if site.posts.licence else None,
        read_logo(site.site.logo) if site.site.logo else None,
        colours,
        f"/theme.css?{sha256(colours.encode()).hexdigest()[:12]}" if colours else "",
    )


async def theme(request: Request) -> Response:
    """Return the colours of the site as a stylesheet."""
    look: SiteLook = request.app.state.look
    headers = {"cache-control": HEADERS["cache-control"]}
    return Response(look.stylesheet, media_type="text/css", headers=headers)


async def logo(request: Request) -> Response:
    """Return the logo."""
    picture = request.app.state.look.logo
    if picture is None or not picture.address.startswith(f"{request.url.path}?"):
        raise HTTPException(404)
    return Response(picture.content, media_type=picture.media_type, headers=HEADERS)


def routes() -> list[Route]:
    """Return the routes of the stylesheet and the logo."""
    return [Route("/theme.css", theme), Route("/logo.{kind}", logo)]


def public_root(request: Request) -> str:
    """Return the address of the site, without a slash at its end: the one of the settings, else the one of the
    request."""
    site: SiteSettings = request.app.state.site
    return site.site.base_url or str(request.base_url).rstrip("/")
