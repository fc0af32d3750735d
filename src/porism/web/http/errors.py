"""Errors of the API: one shape for all of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request

from porism.errors import PorismError, StoreUnavailable
from porism.integrity import DamageError

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
    return {
        "ok": False,
        "error": {"code": code, "message": message, "where": where, "fix": fix},
        "request_id": request_id,
    }


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
