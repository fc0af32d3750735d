"""The pages that people read. They show the records of `views` and work without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from porism.search.formulas.searcher import DEPTH
from porism.web.api import views
from porism.web.api.endpoints import call
from porism.web.api.parameters import Parameter, read_parameters
from porism.web.pages import show

TABS = (("answers", "Answers"), ("questions", "Questions"), ("formulas", "Formulas"), ("ask", "Ask"))
TAB = Parameter("tab", "what to look for", default="answers", choices=tuple(name for name, _ in TABS))
OFFSET = Parameter("offset", "hits to pass over", int, 0, low=0, high=990)
FILTERS = tuple(p for p in views.FILTERS if p.name != "kind")
SEARCH = (Parameter("q", "words and formulas", default=""), TAB, OFFSET, views.MODE, *FILTERS)
PER_PAGE = 10

# Keys of the palette: what is shown, what is put into the box ({} is where the writer goes on), and its name for those who listen.
PALETTE = (
    ("x²", "{}^2", "square"),
    ("√", "\\sqrt{}", "square root"),
    ("a⁄b", "\\frac{}{}", "fraction"),
    ("∑", "\\sum_{k=1}^{n} ", "sum"),
    ("∫", "\\int_{0}^{1} ", "integral"),
    ("lim", "\\lim_{x \\to 0} ", "limit"),
    ("(n k)", "\\binom{n}{k}", "binomial"),
    ("≤", "\\le ", "less or equal"),
    ("≡", "\\equiv ", "congruent"),
    ("∞", "\\infty", "infinity"),
    ("π", "\\pi", "pi"),
    ("ℝ", "\\mathbb{R}", "real numbers"),
    ("?x", "?x", "wildcard"),
)
# How a formula has the query inside it, in words.
LEVELS = {
    "written": "as written",
    "normalised": "in another spelling",
    "commutative": "in another order",
    "renamed": "with other names",
}
EXAMPLES = (
    "proof that $\\sqrt{2}$ is irrational",
    "$a^2+b^2=c^2$",
    "$\\binom{n}{k}$ identity",
    "$\\sum_{k=1}^n ?x$",
    "Pythagorean theorem",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the visitor asked, with links that keep it."""

    values: dict[str, Any]

    def link(self, **changes: Any) -> str:
        """The address of this search with some of its values changed; defaults are left out, so addresses stay short."""
        plain = {p.name: p.default for p in SEARCH}
        kept = {k: v for k, v in {**self.values, **changes}.items() if v not in (None, "", plain.get(k))}
        return "/search?" + urlencode({k: "true" if v is True else v for k, v in kept.items()}, errors="replace")


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page from its template, with what every page shows."""
    from porism import __version__

    state = request.app.state
    frame = {
        "site_links": state.site_links,
        "here": request.url.path,
        "version": __version__,
        "collection_name": state.engine.name,
    }
    body = state.templates.get_template(template).render(**frame, **values)
    # Half characters, which a collection may hold, become question marks.
    return Response(body.encode("utf-8", "replace"), status_code=status, media_type="text/html; charset=utf-8")


async def home(request: Request) -> Response:
    """The empty page with a box."""
    health = await call(request, views.health, {})
    return render(
        request,
        "home.html",
        asked=Asked({}),
        values={"q": "", "tab": "answers"},
        palette=PALETTE,
        examples=EXAMPLES,
        health=health,
    )


async def search(request: Request) -> Response:
    """Results of one of the tabs."""
    values = read_parameters(SEARCH, request.query_params)
    if not values["q"].strip():
        return RedirectResponse("/", status_code=303)
    found = await TAB_VIEWS[values["tab"]](request, values)
    return render(
        request,
        "search.html",
        asked=Asked(values),
        values=values,
        tabs=TABS,
        palette=PALETTE,
        levels=LEVELS,
        found=found,
        per_page=PER_PAGE,
        most=DEPTH,
    )


async def find_posts(request: Request, values: dict[str, Any]) -> Any:
    """Hits of the tabs of answers and questions."""
    filters = {p.name: values[p.name] for p in FILTERS}
    return await call(
        request,
        views.search,
        {"q": values["q"], "k": PER_PAGE, "offset": values["offset"], "kind": values["tab"], **filters},
    )


async def find_formulas(request: Request, values: dict[str, Any]) -> Any:
    """Hits of the tab of formulas."""
    return await call(
        request, views.formulas, {"q": values["q"], "k": PER_PAGE, "offset": values["offset"], "mode": values["mode"]}
    )


async def find_extract(request: Request, values: dict[str, Any]) -> Any:
    """The extract of the tab that asks."""
    return await call(request, views.ask, {"q": values["q"]})


TAB_VIEWS = {"answers": find_posts, "questions": find_posts, "formulas": find_formulas, "ask": find_extract}


async def why(request: Request) -> Response:
    """The reasons of one hit, as a page of its own or for the page of results to take in."""
    values = read_parameters((views.Q, Parameter("id", "a post", int, required=True, high=2**53)), request.query_params)
    reasons = await call(request, views.explain, values)
    return render(request, "why.html", reasons=reasons, values=values, asked=Asked({"q": values["q"]}))


async def thread(request: Request) -> Response:
    """A question with its answers."""
    seen = await call(request, views.thread, {"id": int(request.path_params["id"])})
    page = await call(request, show.thread_page, {"seen": seen})
    return render(request, "thread.html", page=page)


async def post(request: Request) -> Response:
    """A post lives on its thread's page."""
    seen = await call(request, views.post, {"id": int(request.path_params["id"])})
    return RedirectResponse(f"/threads/{seen.post.thread_id}#post-{seen.post.id}", status_code=303)


async def statistics(request: Request) -> Response:
    """What the collection holds."""
    return render(request, "stats.html", stats=await call(request, show.statistics, {}))


def routes() -> list[Route]:
    """All pages."""
    return [
        Route("/", home),
        Route("/search", search),
        Route("/why", why),
        Route("/threads/{id:int}", thread),
        Route("/posts/{id:int}", post),
        Route("/stats", statistics),
    ]
