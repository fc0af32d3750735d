"""The page of the API: every call with its parameters and a form to try it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from porism.web.api.endpoints import CHANGES, ENDPOINTS, ApiEndpoint
from porism.web.http.errors import BadRequest
from porism.web.http.parameters import Parameter
from porism.web.http.schema import field_names
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
        return field_names(self.endpoint.result)


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


ROUTES = [Route("/api", api_page), Route("/api/try", try_call)]
