"""The pages of threads and posts: a thread with a search box and the way back to the results, similar questions, citations."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from porism.web.api import views
from porism.web.api.parameters import parse_parameters
from porism.web.api.run_view import run_view
from porism.web.pages.citation import bibtex_entries
from porism.web.pages.images import image
from porism.web.pages.routes import TAB, TEXT, SearchState, render
from porism.web.pages.thread_page import similar_questions, thread_page
from porism.web.server import numbers
from porism.web.site.look import public_root


async def thread(request: Request) -> Response:
    """Show a question with its answers; matches of a query are highlighted."""
    values = parse_parameters((TEXT, TAB), request.query_params)
    id = int(request.path_params["id"])
    view = await run_view(request, views.thread, {"id": id})
    options = request.app.state.thread_options
    page = await run_view(request, thread_page, {"thread": view, "options": options, "q": values["q"]})
    return render(request, "thread.html", page=page, values=values, state=SearchState(values))


async def related(request: Request) -> Response:
    """Show the questions similar to one, as a page of its own; the page of the thread inserts its list."""
    id = int(request.path_params["id"])
    view = await run_view(request, views.thread, {"id": id})
    similar = await run_view(request, similar_questions, {"id": id})
    linked = {link.other_id for link in view.links}
    return render(
        request, "related.html", thread_id=id, similar=[one for one in similar if one.thread_id not in linked]
    )


async def post(request: Request) -> Response:
    """Redirect to the post on the page of its thread."""
    view = await run_view(request, views.post, {"id": int(request.path_params["id"])})
    return RedirectResponse(f"/threads/{view.post.thread_id}#post-{view.post.id}", status_code=303)


async def cite(request: Request) -> Response:
    """Return the BibTeX entry of a post."""
    view = await run_view(request, views.post, {"id": int(request.path_params["id"])})
    state = request.app.state
    attribution = state.thread_options.attribution
    return PlainTextResponse(bibtex_entries(state.engine.content, [view.post], attribution, public_root(request)))


def routes() -> list[Route]:
    """Return the routes of threads, posts and their pictures."""
    numbers.register()
    return [
        Route("/threads/{id:number}", thread),
        Route("/threads/{id:number}/related", related),
        Route("/posts/{id:number}", post),
        Route("/posts/{id:number}/cite", cite),
        Route("/images/{name}", image),
    ]
