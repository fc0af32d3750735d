"""The look of a site: its colours as a readable stylesheet, its title, the lines at its foot, and its logo."""

from __future__ import annotations

import importlib.resources
import re
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.errors import PorismError
from porism.files import read_regular
from porism.web.http.middleware import PICTURE_HEADERS
from porism.web.site.settings import Colours, Licence, SiteSettings
from porism.web.site.values import AA, Colour, contrast, parse_colour

# The colours of a theme, and the CSS variables that they set.
VARIABLES = {
    "accent": "--accent",
    "background": "--paper",
    "surface": "--sheet",
    "text": "--ink",
    "muted": "--soft",
    "border": "--line",
    "highlight": "--highlight",
}
# Text on these colours is light or dark, whichever can be read.
INKS = {"accent": "--accent-ink", "highlight": "--highlight-ink"}
DARK_INK, LIGHT_INK = "#10151c", "#ffffff"
# Text and what is behind it.
PAIRS = [(text, behind) for text in ("text", "muted", "accent") for behind in ("background", "surface")]
WASH = "--wash: color-mix(in srgb, var(--accent) 9%, var(--sheet));"
SECTIONS = {"theme": "light", "dark": "dark"}  # sections of the settings, and what `prefers-color-scheme` calls them


def ink_on(colour: str) -> str:
    """Return the colour of text that can be read on a colour."""
    return max((LIGHT_INK, DARK_INK), key=lambda ink: contrast(_colour(colour), _colour(ink)))


def stylesheet(site: SiteSettings) -> str:
    """Return the stylesheet of the colours that the owner chose; empty without any."""
    rules = ((scheme, _declarations(getattr(site, section))) for section, scheme in SECTIONS.items())
    return "".join(
        f"@media (prefers-color-scheme: {scheme}) {{ :root {{ {text} }} }}\n" for scheme, text in rules if text
    )


def _declarations(colours: Colours) -> str:
    chosen = {name: value for name, value in asdict(colours).items() if value}
    found = [f"{VARIABLES[name]}: {value};" for name, value in chosen.items()]
    found += [f"{ink}: {ink_on(chosen[name])};" for name, ink in INKS.items() if name in chosen]
    return " ".join([*found, WASH] if "accent" in chosen or "surface" in chosen else found)


@cache
def default_colours() -> dict[str, dict[str, str]]:
    """Return the colours of the pages' own stylesheet by section."""
    text = (importlib.resources.files("porism.web") / "static" / "porism.css").read_text("utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)[:2]
    found = {"theme": light, "dark": dark}
    return {section: dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]+);", part)) for section, part in found.items()}


def faint_texts(site: SiteSettings) -> dict[tuple[str, str], float]:
    """Return the settings of text and background that the owner's colours make hard to read, with their contrast, which
    is below AA."""
    faint = {}
    for section in SECTIONS:
        chosen = {name: value for name, value in asdict(getattr(site, section)).items() if value}
        shown = {name: chosen.get(name) or default_colours()[section][variable] for name, variable in VARIABLES.items()}
        for text, behind in PAIRS:
            if text in chosen or behind in chosen:
                ratio = contrast(_colour(shown[text]), _colour(shown[behind]))
                if ratio < AA:
                    faint[f"{section}.{text}", f"{section}.{behind}"] = ratio
    return faint


def _colour(text: str) -> Colour:
    found = parse_colour(text)
    assert found is not None
    return found


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
        fact = "the logo is no picture that pages show"
        if content.lstrip().startswith(b"<"):
            fact, fix = "the logo has scripts or references to other files", f"save it as plain SVG, or as PNG: {fix}"
        raise PorismError(fact, where=path, fix=fix)
    return Logo(content, KINDS[kind], f"/logo.{kind}?{sha256(content).hexdigest()[:12]}")


@dataclass(frozen=True, slots=True)
class SiteLook:
    """What every page shows of the site. `stylesheet_address` changes with the colours: browsers may keep it."""

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
    headers = {"cache-control": PICTURE_HEADERS["cache-control"]}
    return Response(look.stylesheet, media_type="text/css", headers=headers)


async def logo(request: Request) -> Response:
    """Return the logo."""
    picture = request.app.state.look.logo
    if picture is None or not picture.address.startswith(f"{request.url.path}?"):
        raise HTTPException(404)
    return Response(picture.content, media_type=picture.media_type, headers=PICTURE_HEADERS)


ROUTES = [Route("/theme.css", theme), Route("/logo.{kind}", logo)]


def public_root(request: Request) -> str:
    """Return the address of the site without a slash at its end: the one of the settings, else of the request."""
    site: SiteSettings = request.app.state.site
    return site.site.base_url or str(request.base_url).rstrip("/")
