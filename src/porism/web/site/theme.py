"""The colours of a site: a stylesheet that sets the variables of the pages, and a check that text stays readable."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache

from porism.web.site.colours import AA, Colour, contrast, parse_colour
from porism.web.site.settings import Colours, SiteSettings

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
PAIRS = (
    ("text", "background"),
    ("text", "surface"),
    ("muted", "background"),
    ("muted", "surface"),
    ("accent", "background"),
    ("accent", "surface"),
)
WASH = "--wash: color-mix(in srgb, var(--accent) 9%, var(--sheet));"
SECTIONS = {"theme": "light", "dark": "dark"}  # sections of the settings, and what `prefers-color-scheme` calls them


@dataclass(frozen=True, slots=True)
class FaintText:
    """Two colours of a section with too little contrast, and its ratio."""

    section: str
    text: str
    behind: str
    ratio: float


def ink_on(colour: str) -> str:
    """Return the colour of text that can be read on a colour."""
    behind = parse_colour(colour)
    assert behind is not None
    inks = (LIGHT_INK, DARK_INK)
    return max(inks, key=lambda ink: contrast(behind, parse_colour(ink) or behind))


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
    return {
        section: dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]+);", part))
        for section, part in (("theme", light), ("dark", dark))
    }


def faint_texts(site: SiteSettings) -> Iterator[FaintText]:
    """Yield pairs of text and background that the owner's colours make hard to read (contrast below AA)."""
    for section in SECTIONS:
        chosen = {name: value for name, value in asdict(getattr(site, section)).items() if value}
        shown = {name: chosen.get(name) or default_colours()[section][variable] for name, variable in VARIABLES.items()}
        for text, behind in PAIRS:
            if text in chosen or behind in chosen:
                ratio = contrast(_colour(shown[text]), _colour(shown[behind]))
                if ratio < AA:
                    yield FaintText(section, text, behind, ratio)


def _colour(text: str) -> Colour:
    found = parse_colour(text)
    assert found is not None
    return found
