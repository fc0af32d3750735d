"""The values that settings may have: each kind reads a value of TOML, or reports what is wrong and what to write."""

from __future__ import annotations

import colorsys
import difflib
import ipaddress
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from porism.errors import PorismError

# The named colours of CSS Color 4, each with its value.
NAMED = dict(line.split("\t") for line in (Path(__file__).parent / "colours.tsv").read_text("utf-8").splitlines())
HEX = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})")
_NUMBER = r"(\d{1,3}(?:\.\d{1,4})?)"
_SEPARATOR = r"\s*(?:,|\s)\s*"
RGB = re.compile(rf"rgb\(\s*{_NUMBER}{_SEPARATOR}{_NUMBER}{_SEPARATOR}{_NUMBER}\s*\)")
HSL = re.compile(rf"hsl\(\s*{_NUMBER}(?:deg)?{_SEPARATOR}{_NUMBER}%{_SEPARATOR}{_NUMBER}%\s*\)")
AA = 4.5  # the least contrast of text and its background


class Colour(NamedTuple):
    """An opaque colour: red, green and blue from 0 to 1."""

    red: float
    green: float
    blue: float

    @property
    def luminance(self) -> float:
        """Return the relative luminance."""
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in (self.red, self.green, self.blue)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def parse_colour(text: str) -> Colour | None:
    """Parse a colour of CSS: a name, #rgb, #rrggbb, rgb(r, g, b) or hsl(h, s%, l%); None if it is none of these."""
    text = text.strip().lower()
    if text in NAMED or HEX.fullmatch(text):
        digits = NAMED.get(text, text.removeprefix("#"))
        digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
        return Colour(*(int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)))
    if found := RGB.fullmatch(text):
        parts = [float(part) for part in found.groups()]
        return Colour(*(part / 255 for part in parts)) if max(parts) <= 255 else None
    if found := HSL.fullmatch(text):
        hue, saturation, lightness = (float(part) for part in found.groups())
        if hue <= 360 and saturation <= 100 and lightness <= 100:
            return Colour(*colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100))
    return None


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, from 1 (the same) to 21 (black and white)."""
    low, high = sorted((one.luminance, other.luminance))
    return (high + 0.05) / (low + 0.05)


LONGEST = 300  # characters of a text
LONGEST_TIME = 1_000_000  # seconds
HOST_NAME = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,60}")
PLACEHOLDERS = ("id", "kind", "letter")


@dataclass(frozen=True, slots=True)
class SettingKind:
    """A kind of values. `read` checks a value; relative paths start at its folder. `--set` looks at the other two."""

    name: str
    read: Callable[[object, Path], Any]
    is_text: bool = True
    is_list: bool = False


def read_text(value: object, folder: Path) -> str:
    """Read one line of text."""
    if not isinstance(value, str):
        raise PorismError("is not text", fix='write it between quotation marks: "…"')
    if len(value) > LONGEST:
        raise PorismError(f"has {len(value)} characters", fix=f"write at most {LONGEST}")
    if any(sign < " " or sign == "\x7f" for sign in value):
        raise PorismError("has more than one line, or control characters", fix="write one line of text")
    return value.strip()


def read_yes(value: object, folder: Path) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise PorismError("is neither true nor false", fix="write true or false, without quotation marks")
    return value


def checked(
    usable: Callable[[str], object], fact: str, fix: str, plain: Callable[[str], str] = str
) -> Callable[[object, Path], str]:
    """Return a reader of text that is empty or `usable`, once `plain` has written it in its plain form."""

    def read(value: object, folder: Path) -> str:
        text = plain(read_text(value, folder))
        if text and not usable(text):
            raise PorismError(fact, fix=fix)
        return text

    return read


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return usable and "@" not in parts.netloc and not re.search(r"[\s\"'<>\\^`]", text)


read_url = checked(_is_url, "is not an address of the web", "write one such as https://example.org")
read_host = checked(
    HOST_NAME.fullmatch,
    "is not the name of a host",
    "write one such as math.stackexchange.com",
    lambda text: text.removeprefix("https://").rstrip("/"),
)
read_header = checked(HEADER_NAME.fullmatch, "is not the name of a header", "write one such as X-Remote-User")
read_colour = checked(
    parse_colour, "is not a colour", "write a name of CSS, #rrggbb, rgb(r, g, b) or hsl(h, s%, l%)", str.lower
)


def read_origin(value: object, folder: Path) -> str:
    """Read the address of a site: scheme, host and port, without a path."""
    text = read_url(value, folder).rstrip("/")
    if text and (urlsplit(text).path or urlsplit(text).query or urlsplit(text).fragment):
        fact = "has a path, but Porism is served at the root of a host"
        raise PorismError(fact, fix="write one such as https://example.org")
    return text


def read_pattern(value: object, folder: Path) -> str:
    """Read an address with placeholders for a post."""
    text = read_text(value, folder)
    if not text:
        return ""
    try:
        used = [(name, form or conversion) for _, name, form, conversion in string.Formatter().parse(text)]
    except ValueError:
        used = [("", None)]
    if any(name is not None and (name not in PLACEHOLDERS or form) for name, form in used):
        names = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise PorismError("has braces that are no placeholder", fix=f"use {names}")
    if not any(name == "id" for name, _ in used):
        raise PorismError("does not contain {id}", fix="write one such as https://example.org/questions/{id}")
    read_url(text.replace("{", "").replace("}", ""), folder)
    return text


def read_address(value: object, folder: Path) -> str:
    """Read the address of this machine to listen on: an IP address or a name."""
    text = read_text(value, folder)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        if not HOST_NAME.fullmatch(text):
            raise PorismError("is not an address to listen on", fix="write one such as 127.0.0.1 or ::1") from None
    return text


def read_network(value: object, folder: Path) -> str:
    """Read an IP address or a network."""
    text = read_text(value, folder)
    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        raise PorismError(
            "is not an IP address or a network", fix="write one such as 127.0.0.1 or 10.0.0.0/8"
        ) from None


def read_cors(value: object, folder: Path) -> str:
    """Read an origin whose pages may call the API, or * for all."""
    return "*" if value == "*" else read_origin(value, folder)


def read_path(value: object, folder: Path) -> str:
    """Read the path of a file or folder, relative to the folder of the settings."""
    text = read_text(value, folder)
    return str(folder / text) if text else ""


def read_seconds(value: object, folder: Path) -> float:
    """Read a time in seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LONGEST_TIME:
        raise PorismError("is not a time in seconds", fix=f"write a number up to {LONGEST_TIME:,}, for example 10")
    return float(value)


def many(read_one: Callable[[object, Path], str], least: int = 0) -> Callable[[object, Path], tuple[str, ...]]:
    """Return a reader of lists without repetitions."""

    def read(value: object, folder: Path) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise PorismError("is not a list", fix='write it between brackets: ["…", "…"]')
        if len(value) < least:
            raise PorismError("is empty", fix="name at least one")
        return tuple(dict.fromkeys(read_one(one, folder) for one in value))

    return read


TEXT = SettingKind("text", read_text)
YES = SettingKind("true or false", read_yes, is_text=False)
URL = SettingKind("web address", read_url)
ORIGIN = SettingKind("web address without a path", read_origin)
PATTERN = SettingKind("web address with placeholders", read_pattern)
HOST = SettingKind("host name", read_host)
ADDRESS = SettingKind("address of this machine", read_address)
HEADER = SettingKind("name of a header", read_header)
COLOUR = SettingKind("colour", read_colour)
PATH = SettingKind("path", read_path)
SECONDS = SettingKind("seconds", read_seconds, is_text=False)
HOSTS = SettingKind("list of host names", many(read_address), is_list=True)
ORIGINS = SettingKind("list of origins", many(read_cors), is_list=True)
NETWORKS = SettingKind("list of IP addresses and networks", many(read_network), is_list=True)


def whole(low: int, high: int) -> SettingKind:
    """Return the kind of whole numbers in a range."""

    def read(value: object, folder: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise PorismError("is not a whole number", fix=f"write a number from {low} to {high}")
        if not low <= value <= high:
            raise PorismError("is out of range", fix=f"write a number from {low} to {high}")
        return value

    return SettingKind(f"number from {low} to {high:,}", read, is_text=False)


def one_of(*choices: str) -> SettingKind:
    """Return the kind of one of several words."""

    def read(value: object, folder: Path) -> str:
        if value not in choices:
            nearest = difflib.get_close_matches(str(value), choices, 1, 0.6)
            fix = f"did you mean {nearest[0]}?" if nearest else f"choose from {', '.join(choices)}"
            raise PorismError(f"cannot be {str(value)[:40]!r}", fix=fix)
        return str(value)

    return SettingKind(f"one of {', '.join(choices)}", read)


def some_of(*choices: str) -> SettingKind:
    """Return the kind of a list of some of several words, at least one."""
    return SettingKind(f"list of {', '.join(choices)}", many(one_of(*choices).read, 1), is_list=True)
