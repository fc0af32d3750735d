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

# The named colours of CSS Color 4, each followed by its value.
_NAMES = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 black
000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0
chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff
darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki
bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000 darksalmon
e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1
darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff firebrick
b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700
goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 hotpink ff69b4
indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00
lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow fafad2 lightgray
d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 lightsalmon ffa07a lightseagreen 20b2aa lightskyblue
87cefa lightslategray 778899 lightslategrey 778899 lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00
limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd
mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a
mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin
ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered
ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98 paleturquoise afeeee palevioletred db7093 papayawhip
ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399
red ff0000 rosybrown bc8f8f royalblue 4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57
seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090
snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise
40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32
"""
NAMED = dict(zip(_NAMES.split()[::2], _NAMES.split()[1::2], strict=True))
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


class BadValue(Exception):
    """A value that a setting cannot have: what is wrong, and what to write instead."""

    def __init__(self, fact: str, fix: str) -> None:
        super().__init__(fact)
        self.fact, self.fix = fact, fix


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
        raise BadValue("is not text", 'write it between quotation marks: "…"')
    if len(value) > LONGEST:
        raise BadValue(f"has {len(value)} characters", f"write at most {LONGEST}")
    if any(sign < " " or sign == "\x7f" for sign in value):
        raise BadValue("has more than one line, or control characters", "write one line of text")
    return value.strip()


def read_yes(value: object, folder: Path) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise BadValue("is neither true nor false", "write true or false, without quotation marks")
    return value


def checked(
    usable: Callable[[str], object], fact: str, fix: str, plain: Callable[[str], str] = str
) -> Callable[[object, Path], str]:
    """Return a reader of text that is empty or `usable`, once `plain` has written it in its plain form."""

    def read(value: object, folder: Path) -> str:
        text = plain(read_text(value, folder))
        if text and not usable(text):
            raise BadValue(fact, fix)
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
        raise BadValue(
            "has a path, but Porism is served at the root of a host", "write one such as https://example.org"
        )
    return text


def read_pattern(value: object, folder: Path) -> str:
    """Read an address with placeholders for a post."""
    text = read_text(value, folder)
    if not text:
        return ""
    names = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        used = [
            (name, form, conversion) for _, name, form, conversion in string.Formatter().parse(text) if name is not None
        ]
    except ValueError:
        used = [("", "", "")]
    if any(name not in PLACEHOLDERS or form or conversion for name, form, conversion in used):
        raise BadValue("has braces that are no placeholder", f"use {names}")
    if not any(name == "id" for name, _, _ in used):
        raise BadValue("does not contain {id}", "write one such as https://example.org/questions/{id}")
    read_url(text.replace("{", "").replace("}", ""), folder)
    return text


def read_address(value: object, folder: Path) -> str:
    """Read the address of this machine to listen on: an IP address or a name."""
    text = read_text(value, folder)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        if not HOST_NAME.fullmatch(text):
            raise BadValue("is not an address to listen on", "write one such as 127.0.0.1 or ::1") from None
    return text


def read_network(value: object, folder: Path) -> str:
    """Read an IP address or a network."""
    text = read_text(value, folder)
    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        raise BadValue("is not an IP address or a network", "write one such as 127.0.0.1 or 10.0.0.0/8") from None


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
        raise BadValue("is not a time in seconds", f"write a number up to {LONGEST_TIME:,}, for example 10")
    return float(value)


def many(read_one: Callable[[object, Path], str], least: int = 0) -> Callable[[object, Path], tuple[str, ...]]:
    """Return a reader of lists without repetitions."""

    def read(value: object, folder: Path) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise BadValue("is not a list", 'write it between brackets: ["…", "…"]')
        if len(value) < least:
            raise BadValue("is empty", "name at least one")
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
            raise BadValue("is not a whole number", f"write a number from {low} to {high}")
        if not low <= value <= high:
            raise BadValue("is out of range", f"write a number from {low} to {high}")
        return value

    return SettingKind(f"number from {low} to {high:,}", read, is_text=False)


def one_of(*choices: str) -> SettingKind:
    """Return the kind of one of several words."""

    def read(value: object, folder: Path) -> str:
        if value not in choices:
            nearest = difflib.get_close_matches(str(value), choices, 1, 0.6)
            fix = f"did you mean {nearest[0]}?" if nearest else f"choose from {', '.join(choices)}"
            raise BadValue(f"cannot be {str(value)[:40]!r}", fix)
        return str(value)

    return SettingKind(f"one of {', '.join(choices)}", read)


def some_of(*choices: str) -> SettingKind:
    """Return the kind of a list of some of several words, at least one."""
    return SettingKind(f"list of {', '.join(choices)}", many(one_of(*choices).read, 1), is_list=True)
