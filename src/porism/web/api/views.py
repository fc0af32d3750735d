"""The views: functions from an engine and checked parameters to records, which the API sends and the pages show; and
the endpoints of the API as a table of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism import __version__
from porism.corpus.post import Comment, Link, Post
from porism.deadline import TimeLimitExceeded
from porism.errors import PorismError, StoreUnavailable
from porism.formula import Parsed, parse
from porism.integrity import DamageError
from porism.records import Explanation, Query
from porism.search.completion import Completions
from porism.search.display.page_math import page_math
from porism.search.display.results import Extract, FormulaResults, Results
from porism.search.engine import Engine
from porism.search.formulas.searcher import Mode
from porism.search.generation.answer_text import AnswerBasis
from porism.search.query import SORTS, parse_part
from porism.text.typed.box import QueryPart, split_query
from porism.web.api import changes
from porism.web.api.changes import READ_ONLY, WriteAccess
from porism.web.api.results import run_view
from porism.web.http.requests import BadRequest, Parameter, encode, parse_parameters

T = TypeVar("T")
MOST_BODY = 2000  # characters of a question being written that are compared


@dataclass(frozen=True, slots=True)
class PreviewPart:
    """A part of a query as the engine reads it: text, or a formula with its MathML.

    `page_mathml` is the same without inline styles, for pages with a strict content policy.
    """

    kind: str
    source: str
    mathml: str
    problems: tuple[PreviewProblem, ...]
    page_mathml: str = ""


@dataclass(frozen=True, slots=True)
class PreviewProblem:
    """A problem in a formula, with its position in the source."""

    message: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Preview:
    """A query split into text and formulas."""

    parts: tuple[PreviewPart, ...]


@dataclass(frozen=True, slots=True)
class FormulaView:
    """A formula as Porism reads it: MathML, both trees as text, and the canonical form at each level."""

    latex: str
    mathml: str
    path: str
    layout: str
    operators: str
    canonical: dict[str, str]
    repairs: tuple[str, ...]
    problems: tuple[PreviewProblem, ...]


@dataclass(frozen=True, slots=True)
class PostView:
    """A post with its plain text and its comments."""

    post: Post
    text: str
    comments: tuple[Comment, ...]


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A question with its answers and links."""

    question: PostView
    answers: tuple[PostView, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the server, and what it searches."""

    status: str
    version: str
    collection: str
    posts: int
    formulas: int


Q = Parameter("q", "words and formulas as people type them, or LaTeX between dollar signs", required=True)
PAGE = (
    Parameter("k", "number of hits", int, 10, low=1, high=100),
    Parameter("offset", "number of hits to skip", int, 0, low=0, high=990),
)
FILTERS = (
    Parameter("kind", "kind of posts to find", default="answers", choices=("answers", "questions")),
    Parameter("tags", "only posts with all of these tags, separated by commas", default="", high=500),
    Parameter("from", "only posts from this year or later", int, low=1900, high=2200),
    Parameter("to", "only posts from this year or earlier", int, low=1900, high=2200),
    Parameter("accepted", "only accepted answers", bool, False),
)
SORT = Parameter("sort", "order of the most relevant hits", default="relevance", choices=SORTS)
GROUP = Parameter("group", "one hit for each thread, with further answers below it", bool, False)
EXPAND = Parameter("expand", "add formulas of names, and names of formulas, to the query", bool, True)
ASKED = (
    Parameter("title", "the title of the question that is being written", default="", high=500),
    Parameter("body", "its text, with formulas between dollar signs", default=""),
    Parameter("k", "number of questions", int, 5, low=1, high=20),
)
COMPLETIONS = Parameter("k", "number of completions", int, 8, low=1, high=20)
GENERATE = Parameter("generate", "let the language model of the server write the answer, if it has one", bool, True)
READING = (
    Parameter("as_words", "read only formulas between dollar signs as formulas", bool, False),
    Parameter("verbatim", "do not correct spelling, and add no other words for the same idea", bool, False),
)
MODE = Parameter(
    "mode",
    "which formulas match: similar ones, the same formula, those that contain it, or diverse ones",
    default="similar",
    choices=("similar", "exact", "subformula", "diverse"),
)


def search(engine: Engine, q: str, k: int, offset: int, **options: Any) -> Results:
    """Search answers or questions by text and formulas."""
    # `options` are the other parameters, which the table has checked.
    wanted = tuple(tag for one in options.pop("tags").split(",") if (tag := one.strip()))
    first, last = options.pop("from"), options.pop("to")
    span = (first or 0, last or 9999) if first or last else None
    if span and span[0] > span[1]:
        raise BadRequest(
            f"from ({span[0]}) is later than to ({span[1]})", where="from", fix="give the earlier year first"
        )
    return engine.search(q, k, tags=wanted, years=span, offset=offset, **options)


def asked(engine: Engine, title: str, body: str, k: int) -> Results:
    """Find existing questions that are nearest to one that is being written."""
    return engine.search(Query(body[:MOST_BODY], title), k, "questions")


def complete(engine: Engine, q: str, k: int) -> Completions:
    """Complete a query while it is being typed: titles, tags and common formulas."""
    return engine.complete(q, k)


def formulas(engine: Engine, q: str, k: int, offset: int, mode: Mode) -> FormulaResults:
    """Search distinct formulas."""
    return engine.formulas(q, k=k, mode=mode, offset=offset)


def ask(engine: Engine, q: str, generate: bool = True) -> Extract:
    """Return the best extract of at most 1,200 characters."""
    return engine.ask(q, generate)


def answer_basis(engine: Engine, q: str) -> AnswerBasis:
    """Return what a language model writes an answer from."""
    return engine.answer_basis(q)


def explain(engine: Engine, q: str, id: int) -> Explanation:
    """Explain the score of a post for a query."""
    return or_not_found(lambda: engine.explain(q, id), f"post {id}")


def preview(engine: Engine, q: str) -> Preview:
    """Show how the engine reads a query while it is being typed."""
    return Preview(tuple(preview_part(part) for part in split_query(q)))


def preview_part(part: QueryPart) -> PreviewPart:
    """Describe a part of the query; a formula with its MathML and problems."""
    if part.kind == "text":
        return PreviewPart(part.kind, part.source, "", ())
    parsed = parse_part(part)
    return PreviewPart(part.kind, part.source, parsed.mathml, problem_records(parsed), page_math(parsed.mathml))


def formula(engine: Engine, q: str) -> FormulaView:
    """Show a formula with its trees and canonical forms."""
    from porism.formula.canonical.forms import LEVELS, canonical
    from porism.formula.layout.tuples import tangent
    from porism.formula.plaintext import tree_text

    parsed = parse(q, wildcards=True)
    tree = parsed.operators
    forms: dict[str, str] = {level: tree_text(canonical(tree, level).tree) for level in LEVELS} if tree else {}
    return FormulaView(
        q,
        parsed.mathml,
        parsed.path,
        tangent(parsed.layout),
        tree_text(tree) if tree else "",
        forms,
        parsed.repairs,
        problem_records(parsed),
    )


def post(engine: Engine, id: int) -> PostView:
    """Return a post."""
    content = engine.content
    one = or_not_found(lambda: content.posts_by_id([id])[id], f"post {id}")
    return post_view(one, content.comments_by_post([id]).get(id, ()))


def thread(engine: Engine, id: int) -> ThreadView:
    """Return a question with its answers."""
    seen = or_not_found(lambda: engine.content.threads_by_id([id])[id], f"thread {id}")
    comments: dict[int, list[Comment]] = {}
    for comment in seen.comments:
        comments.setdefault(comment.post_id, []).append(comment)
    question, *answers = (post_view(one, comments.get(one.id, ())) for one in (seen.question, *seen.answers))
    return ThreadView(question, tuple(answers), seen.links)


def health(engine: Engine) -> Health:
    """Report that the server works, and what it searches."""
    count = engine.content.count
    return Health("ok", __version__, engine.name, count("posts"), count("formulas"))


def post_view(one: Post, comments: Sequence[Comment]) -> PostView:
    """Return a post with its text and its comments."""
    return PostView(one, one.body.plain(), tuple(comments))


def problem_records(parsed: Parsed) -> tuple[PreviewProblem, ...]:
    """Return the problems of a formula as records of the API."""
    return tuple(PreviewProblem(p.message, p.start, p.end) for p in parsed.problems)


def or_not_found(look_up: Callable[[], T], name: str) -> T:
    """Return what `look_up` finds, or answer 404."""
    try:
        return look_up()
    except (DamageError, StoreUnavailable, TimeLimitExceeded):
        raise
    except PorismError as error:
        raise BadRequest(error.message, where=name, fix="use an id that a search returned", status=404) from None


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """One route of the API: the view that answers it, the record it returns, its parameters, its kind of body.

    A view of the engine runs in a slot. One with `scopes` is a call to a server that takes changes, with a token.
    """

    path: str
    view: Callable[..., Any]
    result: type
    parameters: tuple[Parameter, ...] = ()
    method: str = "GET"
    scopes: tuple[str, ...] | None = None
    body: str = ""

    @property
    def summary(self) -> str:
        """What the endpoint does."""
        return " ".join((self.view.__doc__ or "").split())


ID = Parameter("id", "the id of a post or thread, as a search returns it", int, required=True, high=2**53)
PATH_ID = replace(ID, location="path")

ENDPOINTS = (
    ApiEndpoint("/v1/search", search, Results, (Q, *PAGE, *FILTERS, SORT, GROUP, EXPAND, *READING)),
    ApiEndpoint("/v1/asked", asked, Results, ASKED),
    ApiEndpoint("/v1/formulas", formulas, FormulaResults, (Q, *PAGE, MODE)),
    ApiEndpoint("/v1/ask", ask, Extract, (Q, GENERATE)),
    ApiEndpoint("/v1/explain", explain, Explanation, (Q, ID)),
    ApiEndpoint("/v1/complete", complete, Completions, (Q, COMPLETIONS)),
    ApiEndpoint("/v1/preview", preview, Preview, (Q,)),
    ApiEndpoint("/v1/formula", formula, FormulaView, (Q,)),
    ApiEndpoint("/v1/posts/{id}", post, PostView, (PATH_ID,)),
    ApiEndpoint("/v1/threads/{id}", thread, ThreadView, (PATH_ID,)),
    ApiEndpoint("/v1/health", health, Health),
)
POST_ID = Parameter("id", "the id of the post", int, required=True, low=1, high=10**15, location="path")
WAIT = Parameter("wait", "seconds to wait until every search finds the change", int, 0, low=0, high=30)
LINES, ACCEPTED = "application/x-ndjson", changes.Accepted
CHANGES = (
    ApiEndpoint("/v1/posts/{id}", changes.put_post, ACCEPTED, (POST_ID, WAIT), "PUT", ("write",), "application/json"),
    ApiEndpoint("/v1/posts/{id}", changes.delete_post, ACCEPTED, (POST_ID, WAIT), "DELETE", ("delete",)),
    ApiEndpoint("/v1/posts", changes.change_posts, ACCEPTED, (WAIT,), "POST", (), LINES),
    ApiEndpoint("/v1/merge", changes.request_merge, changes.MergeRequested, (), "POST", ("merge",)),
    ApiEndpoint("/v1/log", changes.log_status, changes.LogStatus, scopes=()),
)


def handler(endpoint: ApiEndpoint) -> Callable[[Request], Any]:
    """Return the function that serves an endpoint. A token is checked before the body is read."""

    async def serve(request: Request) -> Response:
        given = dict(request.query_params) | {name: str(value) for name, value in request.path_params.items()}
        if endpoint.scopes is None:
            record = await run_view(request, endpoint.view, parse_parameters(endpoint.parameters, given))
        else:
            access: WriteAccess | None = request.app.state.writing
            if access is None:
                raise READ_ONLY
            access.authorise(request, endpoint.scopes)
            record = await endpoint.view(request, access, **parse_parameters(endpoint.parameters, given))
        waits = endpoint.method != "GET" and not getattr(record, "searchable", False)
        body = encode({"ok": True, "data": record, "request_id": request.state.request_id})
        return Response(body, 202 if waits else 200, media_type="application/json")

    return serve


ROUTES = [Route(one.path, handler(one), methods=[one.method]) for one in (*ENDPOINTS, *CHANGES)]
