"""The page of the API: every call of the OpenAPI document with its parameters and a form to try it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from porism.web.api.endpoints import document
from porism.web.http.errors import BadRequest
from porism.web.pages.page import render

# Values that the forms start with, by name of the parameter.
EXAMPLES = {"q": "proof that $\\sqrt{2}$ is irrational", "title": "Why is the square root of 2 irrational?"}
FORMULA_CALLS = ("/v1/formulas", "/v1/formula")
FORMULA_EXAMPLE = "a^2+b^2=c^2"
PATH_ID = re.compile(r"[0-9]{1,16}")


@dataclass(frozen=True, slots=True)
class CallParameter:
    """A parameter of a call, ready for a form."""

    name: str
    description: str
    required: bool
    type: str
    choices: tuple[str, ...]
    default: str
    example: str
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call of the API: its address, what it does, its parameters, and the fields of its result."""

    path: str
    summary: str
    in_path: bool
    parameters: tuple[CallParameter, ...]
    fields: tuple[str, ...]
    method: str = "GET"
    has_form: bool = True  # a call that needs a token has none

    @property
    def anchor(self) -> str:
        """The name of the call in addresses."""
        name = self.path.strip("/").replace("/", "-").replace("{", "").replace("}", "")
        return name if self.method == "GET" else f"{self.method.lower()}-{name}"


@cache
def calls() -> tuple[ApiCall, ...]:
    """Return the calls of the OpenAPI document."""
    described = document()
    schemas = described["components"]["schemas"]
    found = [
        _call(path, method.upper(), operation, schemas)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return tuple(sorted(found, key=lambda call: not call.has_form))


def _call(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> ApiCall:
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["data"]
    record = schemas[schema["$ref"].rsplit("/", 1)[1]]
    example = FORMULA_EXAMPLE if path in FORMULA_CALLS else None
    parameters = tuple(_parameter(one, example) for one in operation["parameters"])
    fields = tuple(record["properties"])
    return ApiCall(path, operation["summary"], "{" in path, parameters, fields, method, "security" not in operation)


def _parameter(one: dict[str, Any], formula: str | None) -> CallParameter:
    schema, name = one["schema"], one["name"]
    default = schema.get("default", "")
    kind = "boolean" if schema["type"] == "boolean" else "number" if schema["type"] == "integer" else "text"
    return CallParameter(
        name,
        one["description"],
        one["required"],
        kind,
        tuple(schema.get("enum", ("true", "false") if kind == "boolean" else ())),
        json.dumps(default) if isinstance(default, bool) else str(default),
        (formula if name == "q" and formula else EXAMPLES.get(name, "")),
        schema.get("minimum"),
        schema.get("maximum"),
    )


async def api_page(request: Request) -> Response:
    """Show the calls."""
    first = next(iter(request.app.state.engine.content.question_ids()), 1)
    return render(request, "api.html", calls=calls(), example_id=first)


async def try_call(request: Request) -> Response:
    """Redirect to a call whose address contains an id, which a form without scripts cannot write."""
    path, id = request.query_params.get("path", ""), request.query_params.get("id", "")
    if path not in {call.path for call in calls()} or not PATH_ID.fullmatch(id):
        raise BadRequest("the id is not a number", where="id", fix="give the id of a post or thread")
    return RedirectResponse(path.replace("{id}", id), status_code=303)


def routes() -> list[Route]:
    """Return the routes of the page."""
    return [Route("/api", api_page), Route("/api/try", try_call)]
