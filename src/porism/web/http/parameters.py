"""Parameters of requests, by a table that checks them and describes itself in the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from porism.web.http.errors import BadRequest

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

    @property
    def is_number(self) -> bool:
        """Whether the value is a whole number."""
        return self.type is int

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
        if self.is_number:
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
        if self.is_number:
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
