"""What goes into a request and comes out of it: parameters by a table that checks them and describes itself in the
OpenAPI document, records as JSON, and errors, which have one shape."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from starlette.requests import Request

from porism.errors import PorismError, StoreUnavailable
from porism.integrity import DamageError
from porism.text.segment import Text

LOG = logging.getLogger("porism.web")
# The error code of each HTTP status.
CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "not_allowed",
    413: "too_large",
    422: "bad_request",
    429: "busy",
    503: "too_slow",
    507: "no_space",
}
# What a client learns about damaged files; the log and /ready name them.
DAMAGED = PorismError(
    "a file of the index is damaged",
    fix="the operator runs: porism store verify INDEX, then builds again what it names",
)
# The same for a store that does not answer; the log names its hosts.
AWAY = PorismError(
    "the collection cannot be reached at the moment", fix=f"try again in {StoreUnavailable.RETRY_SECONDS} seconds"
)


class BadRequest(Exception):
    """A request that cannot be answered, with what to change; it may be repeated after `retry_after` seconds."""

    def __init__(
        self, message: str, *, where: str = "", fix: str = "", status: int = 422, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.where, self.fix, self.status = message, where, fix, status
        self.headers = {} if retry_after is None else {"retry-after": str(retry_after)}


def error_body(code: str, message: str, where: str, fix: str, request_id: str) -> dict[str, object]:
    """Return the JSON body of an error."""
    error = {"code": code, "message": message, "where": where, "fix": fix}
    return {"ok": False, "error": error, "request_id": request_id}


class ShownError(NamedTuple):
    """An error as a client learns of it: the status, code and headers of its response, and what to do."""

    status: int
    code: str
    error: PorismError | BadRequest
    headers: Mapping[str, str] = {}


def shown_error(request: Request, error: Exception) -> ShownError:
    """Return what a client learns of an error. An unexpected one is logged with its request id and reveals no
    details."""
    request_id = getattr(request.state, "request_id", "")
    if isinstance(error, BadRequest):
        return ShownError(error.status, CODES[error.status], error, error.headers)
    if isinstance(error, DamageError):
        LOG.error("%s %s", request_id, error)
        return ShownError(503, "damaged", DAMAGED)
    if isinstance(error, StoreUnavailable):
        LOG.error("%s %s", request_id, " ".join(str(error).split()))
        return ShownError(503, "unavailable", AWAY, {"retry-after": str(error.RETRY_SECONDS)})
    if isinstance(error, PorismError):
        return ShownError(422, "bad_request", error)
    LOG.error("%s failed", request_id, exc_info=error)
    fix = f"report it with the request id {request_id}"
    return ShownError(500, "internal", PorismError("the server failed on this request", fix=fix))


MAX_TEXT = 20_000
NUMBER = re.compile(r"-?[0-9]{1,30}")  # not what int() takes as well: 5_0, +5, digits of other scripts


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named value of a request: its type, its limits and its default. `low` and `high` bound a number; for text,
    `high` is the greatest length. `location` is query or path."""

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
                raise self._wrong(f"the parameter {self.name} is missing", f"give {self.name}: {self.description}")
            return self.default
        if self.is_number:
            fix = f"give a whole number from {self.low} to {self.high}"
            if not NUMBER.fullmatch(raw):
                raise self._wrong(f"{self.name} is not a whole number", fix)
            if not self.low <= int(raw) <= self.high:
                raise self._wrong(f"{self.name} is out of range", fix)
            return int(raw)
        if self.type is bool:
            return self._choice(raw, ("true", "false", "1", "0")) in ("true", "1")
        if len(raw) > self.high:
            raise self._wrong(f"{self.name} has {len(raw):,} characters", f"send at most {self.high:,} characters", 413)
        return self._choice(raw, self.choices) if self.choices else raw

    def _choice(self, raw: str, choices: tuple[str, ...]) -> str:
        if raw not in choices:
            raise self._wrong(f"{self.name} cannot be {raw[:40]!r}", f"give one of {', '.join(choices)}")
        return raw

    def _wrong(self, fact: str, fix: str, status: int = 422) -> BadRequest:
        return BadRequest(fact, where=self.name, fix=fix, status=status)

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
        place = {"name": self.name, "in": self.location, "required": self.required}
        return {**place, "description": self.description, "schema": schema}


def parse_parameters(table: tuple[Parameter, ...], given: Mapping[str, str]) -> dict[str, Any]:
    """Return all values of a request by name. An unknown name is an error, so that no misspelt filter is ignored."""
    unknown = sorted(set(given) - {parameter.name for parameter in table})
    if unknown:
        names = ", ".join(parameter.name for parameter in table)
        raise BadRequest(f"there is no parameter {unknown[0][:40]!r}", where=unknown[0][:40], fix=f"use {names}")
    return {parameter.name: parameter.parse(given.get(parameter.name)) for parameter in table}


def encode(value: Any) -> bytes:
    """Encode records as JSON; NaN and infinities become null."""
    try:
        return _dumps(value, default=_fields_of)
    except ValueError:  # NaN and infinities are rare: only then walk over every value
        return _dumps(to_json(value))


def _dumps(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    text = json.dumps(value, default=default, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _fields_of(record: Any) -> dict[str, Any] | str:
    if isinstance(record, Text):  # goes out in the official HTML form
        return record.html()
    names, values_of = _reader(type(record))  # type: ignore[arg-type]
    return dict(zip(names, values_of(record), strict=True))


@lru_cache
def _reader(record_type: Hashable) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of the fields of a dataclass, and a function that reads them all at once."""
    names = tuple(field.name for field in dataclasses.fields(record_type))  # type: ignore[arg-type]
    if len(names) < 2:  # attrgetter then returns no tuple
        return names, lambda record: tuple(getattr(record, name) for name in names)
    return names, attrgetter(*names)


def to_json(value: Any) -> Any:
    """Convert records to plain JSON values."""
    if dataclasses.is_dataclass(value):
        return to_json(_fields_of(value))
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
