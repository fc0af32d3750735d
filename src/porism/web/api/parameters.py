"""What a request may say: a table of parameters that checks requests and describes itself in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_TEXT = 20_000


class BadRequest(Exception):
    """A request that cannot be answered, with what to change."""

    def __init__(self, message: str, *, where: str = "", fix: str = "", status: int = 422) -> None:
        super().__init__(message)
        self.message, self.where, self.fix, self.status = message, where, fix, status


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named value of a request: its kind, its limits and its default."""

    name: str
    about: str
    kind: type = str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = MAX_TEXT
    place: str = "query"

    def read(self, raw: str | None) -> Any:
        """The value of a raw string, or what is wrong with it."""
        if raw is None or raw == "":
            if self.required:
                raise BadRequest(
                    f"the parameter {self.name} is missing", where=self.name, fix=f"give {self.name}: {self.about}"
                )
            return self.default
        if self.kind is int:
            return self.read_number(raw)
        if self.kind is bool:
            return self.read_choice(raw, ("true", "false", "1", "0")) in ("true", "1")
        if len(raw) > self.high:
            fix = f"send at most {self.high:,} characters"
            raise BadRequest(f"{self.name} has {len(raw):,} characters", where=self.name, fix=fix, status=413)
        return self.read_choice(raw, self.choices) if self.choices else raw

    def read_number(self, raw: str) -> int:
        """A whole number within the limits."""
        fix = f"give a whole number from {self.low} to {self.high}"
        try:
            number = int(raw)
        except ValueError:
            raise BadRequest(f"{self.name} is not a whole number", where=self.name, fix=fix) from None
        if not self.low <= number <= self.high:
            raise BadRequest(f"{self.name} is out of range", where=self.name, fix=fix)
        return number

    def read_choice(self, raw: str, choices: tuple[str, ...]) -> str:
        """One of a few words."""
        if raw not in choices:
            raise BadRequest(
                f"{self.name} cannot be {raw[:40]!r}", where=self.name, fix=f"give one of {', '.join(choices)}"
            )
        return raw

    def openapi(self) -> dict[str, Any]:
        """This parameter in an OpenAPI document."""
        schema: dict[str, Any] = {"type": {int: "integer", bool: "boolean"}.get(self.kind, "string")}
        if self.kind is int:
            schema |= {"minimum": self.low, "maximum": self.high}
        elif self.choices:
            schema["enum"] = list(self.choices)
        elif self.kind is str:
            schema |= {"maxLength": self.high} | ({"minLength": 1} if self.required else {})
        if self.default is not None:
            schema["default"] = self.default
        return {
            "name": self.name,
            "in": self.place,
            "required": self.required,
            "description": self.about,
            "schema": schema,
        }


def read_parameters(table: tuple[Parameter, ...], given: Mapping[str, str]) -> dict[str, Any]:
    """All values of a request by name; what the table does not name is an error, so that no misspelt filter is ignored."""
    unknown = sorted(set(given) - {p.name for p in table})
    if unknown:
        names = ", ".join(p.name for p in table)
        raise BadRequest(f"there is no parameter {unknown[0][:40]!r}", where=unknown[0][:40], fix=f"use {names}")
    return {p.name: p.read(given.get(p.name)) for p in table}
