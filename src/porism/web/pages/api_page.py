"""What the API is, described twice from its table: as a page with a form for every call, and as an OpenAPI document."""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from porism import __version__
from porism.text.segment import Text
from porism.web.api.views import CHANGES, ENDPOINTS, ApiEndpoint
from porism.web.http.requests import BadRequest, Parameter
from porism.web.pages.page import render

# Values that the forms start with, by name of the parameter.
EXAMPLES = {"q": "proof that $\\sqrt{2}$ is irrational", "title": "Why is the square root of 2 irrational?"}
FORMULA_CALLS = ("/v1/formulas", "/v1/formula")
FORMULA_EXAMPLE = "a^2+b^2=c^2"
PATH_ID = re.compile(r"[0-9]{1,16}")


class FormField(NamedTuple):
    """A parameter in the form of a call: what it offers, and what it starts with."""

    parameter: Parameter
    choices: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call of the API with its form; one that needs a token has none."""

    endpoint: ApiEndpoint
    fields: tuple[FormField, ...]

    @property
    def anchor(self) -> str:
        """The name of the call in addresses."""
        name = self.endpoint.path.strip("/").replace("/", "-").replace("{", "").replace("}", "")
        return name if self.endpoint.method == "GET" else f"{self.endpoint.method.lower()}-{name}"

    @property
    def results(self) -> tuple[str, ...]:
        """The names of what the call returns."""
        return tuple(field.name for field in dataclasses.fields(self.endpoint.result))


def _field(endpoint: ApiEndpoint, one: Parameter, example_id: int) -> FormField:
    examples = {**EXAMPLES, "id": str(example_id)}
    if endpoint.path in FORMULA_CALLS:
        examples["q"] = FORMULA_EXAMPLE
    default = "" if one.default is None else str(one.default).lower() if one.type is bool else str(one.default)
    is_example = one.required or one.name in ("title", "id")
    choices = one.choices or (("true", "false") if one.type is bool else ())
    return FormField(one, choices, examples.get(one.name, "") if is_example else default)


async def api_page(request: Request) -> Response:
    """Show the calls."""
    first = next(iter(request.app.state.engine.content.question_ids()), 1)
    fields = {one: tuple(_field(one, each, first) for each in one.parameters) for one in (*ENDPOINTS, *CHANGES)}
    return render(request, "api.html", calls=[ApiCall(one, found) for one, found in fields.items()])


async def try_call(request: Request) -> Response:
    """Redirect to a call whose address contains an id, which a form without scripts cannot write."""
    path, id = request.query_params.get("path", ""), request.query_params.get("id", "")
    if path not in {one.path for one in ENDPOINTS} or not PATH_ID.fullmatch(id):
        raise BadRequest("the id is not a number", where="id", fix="give the id of a post or thread")
    return RedirectResponse(path.replace("{id}", id), status_code=303)


# Text with formulas goes out in the official HTML form.
SIMPLE_TYPES = {Text: "string", str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema_of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type; the schemas of records go into `definitions` and are referenced by name."""
    if kind in SIMPLE_TYPES:
        return {"type": SIMPLE_TYPES[kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record_schema(kind, definitions)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(option, definitions) for option in arguments]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], definitions)}
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        return {"type": "array", "items": schema_of(arguments[0], definitions)}
    if origin is tuple:
        return {
            "type": "array",
            "items": {"anyOf": [schema_of(item, definitions) for item in arguments]},
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    if kind is Any:
        return {}
    raise TypeError(f"no JSON Schema for {kind!r}")


def _record_schema(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a record's schema, which is written to `definitions` once."""
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # a placeholder while the fields are read, since a record may contain itself
        hints = get_type_hints(kind)
        fields = {field.name: schema_of(hints[field.name], definitions) for field in dataclasses.fields(kind)}
        summary = (kind.__doc__ or "").strip().split("\n\n")[0]
        definitions[name] = {
            "type": "object",
            "description": " ".join(summary.split()),
            "properties": fields,
            "required": list(fields),
        }
    return {"$ref": f"#/components/schemas/{name}"}


STRING = {"type": "string"}
ERROR = {
    "type": "object",
    "description": "What is wrong, where, and how to fix it.",
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
ERROR_STATUSES = {
    "404": "There is no such post, thread or endpoint.",
    "413": "The request is too large.",
    "422": "A parameter is missing or wrong.",
    "503": "The query took too long, or the collection cannot be reached.",
}
# Of the calls that change the index, besides.
WRITE_STATUSES = {
    "401": "The token is missing, wrong or revoked.",
    "403": "The token lacks a scope.",
    "405": "The server takes no changes.",
    "429": "The server is busy, or too many changes wait.",
    "507": "The change cannot be stored: the disk is full.",
}


def operation(endpoint: ApiEndpoint, definitions: dict[str, Any]) -> dict[str, Any]:
    """Describe one endpoint: its summary, parameters and responses; of a change also its token and its body."""
    data = schema_of(endpoint.result, definitions)
    success = {
        "type": "object",
        "properties": {"ok": {"const": True}, "data": data, "request_id": STRING},
        "required": ["ok", "data", "request_id"],
    }
    changing = endpoint.scopes is not None
    responses = {"200": {"description": "The result.", "content": {"application/json": {"schema": success}}}}
    for status, text in (ERROR_STATUSES | (WRITE_STATUSES if changing else {})).items():
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        responses[status] = {"description": text, "content": content}
    described: dict[str, Any] = {
        "operationId": endpoint.view.__name__,
        "summary": endpoint.summary,
        "parameters": [parameter.openapi() for parameter in endpoint.parameters],
        "responses": responses,
    }
    if endpoint.method != "GET":
        responses["202"] = responses["200"] | {"description": "Stored; applied soon."}
    if endpoint.body:
        described["requestBody"] = {"required": True, "content": {endpoint.body: {"schema": STRING}}}
    return described | ({"security": [{"token": []}]} if changing else {})


def document() -> dict[str, Any]:
    """Return the whole OpenAPI document."""
    definitions: dict[str, Any] = {"Error": ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in (*ENDPOINTS, *CHANGES):
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation(endpoint, definitions)
    description = "Search for text and formulas. Within a version, keys are only added, never changed or removed."
    info = {"title": "Porism", "version": __version__, "description": description}
    components = {"schemas": definitions, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


@cache
def _document_as_json() -> bytes:
    """Return the OpenAPI document as it is served; it takes milliseconds to make, and never changes."""
    return json.dumps(document()).encode()


async def openapi_document(request: Request) -> Response:
    """Serve the OpenAPI document."""
    return Response(_document_as_json(), media_type="application/json")


ROUTES = [
    Route("/api", api_page),
    Route("/api/try", try_call),
    Route("/v1/openapi.json", openapi_document, methods=["GET"]),
]
