"""The API describes itself: the OpenAPI document is made from the table of endpoints and the records they answer."""

from __future__ import annotations

from typing import Any

from porism import __version__
from porism.web.api.endpoints import ENDPOINTS, Endpoint
from porism.web.api.schema import schema_of

STRING = {"type": "string"}
ERROR = {
    "type": "object",
    "description": "What is wrong, where, and what to do.",
    "properties": {
        "ok": {"const": False},
        "error": {
            "type": "object",
            "properties": {"code": STRING, "message": STRING, "where": STRING, "fix": STRING},
            "required": ["code", "message", "where", "fix"],
        },
        "request_id": STRING,
    },
    "required": ["ok", "error", "request_id"],
}
REFUSALS = {
    "404": "There is no such thing.",
    "413": "The request is too large.",
    "422": "A parameter is missing or wrong.",
    "503": "It took too long.",
}


def json_body(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON body of this schema."""
    return {"application/json": {"schema": schema}}


def operation(endpoint: Endpoint, defs: dict[str, Any]) -> dict[str, Any]:
    """One route: its summary, parameters and answers."""
    data = schema_of(endpoint.result, defs)
    success = {
        "type": "object",
        "properties": {"ok": {"const": True}, "data": data, "request_id": STRING},
        "required": ["ok", "data", "request_id"],
    }
    answers = {
        code: {"description": words, "content": json_body({"$ref": "#/components/schemas/Error"})}
        for code, words in REFUSALS.items()
    }
    return {
        "operationId": endpoint.view.__name__,
        "summary": " ".join((endpoint.view.__doc__ or "").split()),
        "parameters": [p.openapi() for p in endpoint.parameters],
        "responses": {"200": {"description": "The answer.", "content": json_body(success)}, **answers},
    }


def document() -> dict[str, Any]:
    """The whole OpenAPI document."""
    defs: dict[str, Any] = {"Error": ERROR}
    paths = {e.path: {"get": operation(e, defs)} for e in ENDPOINTS}
    about = "Words and formulas in one search. Keys are only ever added within a version."
    info = {"title": "Porism", "version": __version__, "description": about}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": defs}}
