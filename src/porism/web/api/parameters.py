"""What a request brings: parameters, by a table that checks them and describes itself in the OpenAPI document, and
headers within their limits."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from porism.web.api.errors import BadRequest

MAX_TEXT = 20_000
NUMBER = re.compile(r"-?[0-9]{1,30}")  # not what int() takes as well: 5_0, +5, digits of other scripts


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named value of a request: its type, its limits and its default.

    `low` and `high` bound a number; for text, `high` is the greatest length. `location` is query or path.
    """

    name: str
    description: str
    type: type = str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = MAX_TEXT
    location: str = "query"

    def parse(self, raw: str | None) -> Any:
        """Return the value of a raw string, or raise an error that says what is wrong with it."""
        if raw is None or raw == "":
            if self.required:
                raise BadRequest(
                    f"the parameter {self.name} is missing",
                    where=self.name,
                    fix=f"give {self.name}: {self.description}",
                )
            return self.default
        if self.type is int:
            return self._parse_number(raw)
        if self.type is bool:
            return self._parse_choice(raw, ("true", "false", "1", "0")) in ("true", "1")
        if len(raw) > self.high:
            fix = f"send at most {self.high:,} characters"
            raise BadRequest(f"{self.name} has {len(raw):,} characters", where=self.name, fix=fix, status=413)
        return self._parse_choice(raw, self.choices) if self.choices else raw

    def _parse_number(self, raw: str) -> int:
        fix = f"give a whole number from {self.low} to {self.high}"
        if not NUMBER.fullmatch(raw):
            raise BadRequest(f"{self.name} is not a whole number", where=self.name, fix=fix)
        number = int(raw)
        if not self.low <= number <= self.high:
            raise BadRequest(f"{self.name} is out of range", where=self.name, fix=fix)
        return number

    def _parse_choice(self, raw: str, choices: tuple[str, ...]) -> str:
        if raw not in choices:
            raise BadRequest(
                f"{self.name} cannot be {raw[:40]!r}", where=self.name, fix=f"give one of {', '.join(choices)}"
            )
        return raw

    def openapi(self) -> dict[str, Any]:
        """Describe this parameter for an OpenAPI document."""
        schema: dict[str, Any] = {"type": {int: "integer", bool: "boolean"}.get(self.type, "string")}
        if self.type is int:
            schema |= {"minimum": self.low, "maximum": self.high}
        elif self.choices:
            schema["enum"] = list(self.choices)
        elif self.type is str:
            schema |= {"maxLength": self.high} | ({"minLength": 1} if self.required else {})
        if self.default is not None:
            schema["default"] = self.default
        return {
            "name": self.name,
            "in": self.location,
            "required": self.required,
            "description": self.description,
            "schema": schema,
        }


def parse_parameters(table: tuple[Parameter, ...], given: Mapping[str, str]) -> dict[str, Any]:
    """Return all values of a request by name. An unknown name is an error, so that no misspelt filter is ignored."""
    unknown = sorted(set(given) - {parameter.name for parameter in table})
    if unknown:
        names = ", ".join(parameter.name for parameter in table)
        raise BadRequest(f"there is no parameter {unknown[0][:40]!r}", where=unknown[0][:40], fix=f"use {names}")
    return {parameter.name: parameter.parse(given.get(parameter.name)) for parameter in table}


MOST_HEADERS = 100
MOST_HEADER_BYTES = 64 * 1024  # of the names and values of all headers together
LONGEST_HEADER = 16 * 1024
# Headers that libraries take apart piece by piece. Nobody needs a long one.
LONGEST = {b"content-type": 1024, b"range": 1024}
LONGEST_COOKIE = 4096
_LENGTH = re.compile("[0-9]{1,18}")

Headers = Iterable[tuple[bytes, bytes]]


def headers_fit(headers: Headers) -> bool:
    """Return whether the headers of a request are within the limits: each of them, their number, and all together."""
    number = total = 0
    for name, value in headers:
        number, total = number + 1, total + len(name) + len(value)
        if number > MOST_HEADERS or len(name) + len(value) > LONGEST.get(name, LONGEST_HEADER):
            return False
    return total <= MOST_HEADER_BYTES


def announced_length(header: str | None) -> int:
    """Return the number of bytes that Content-Length announces, 0 without one. What is no length is longer than any
    limit."""
    if header is None:
        return 0
    return int(header) if _LENGTH.fullmatch(header) else sys.maxsize


def cookie_of(headers: Headers, name: str) -> str:
    """Return the value of a cookie, the last of this name, or "". Quotes are part of a value: ours have none."""
    wanted, found = name.encode("ascii"), b""
    for header, value in headers:
        if header == b"cookie":
            for pair in value.split(b";"):
                given, _, content = pair.partition(b"=")
                if given.strip() == wanted:
                    found = content.strip()
    return found.decode("latin-1") if len(found) <= LONGEST_COOKIE else ""
