"""Results in other forms: an Atom feed, hits as BibTeX, CSV or JSON, and the site as a search engine of browsers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.evaluate.table import spreadsheet_cell
from porism.formula.characters import xml_text
from porism.search.display.post_formulas import readable_latex
from porism.search.display.results import HighlightedSegment, Results, SearchHit
from porism.search.engine import Engine
from porism.web.api import views
from porism.web.api.results import run_view
from porism.web.http.requests import Parameter, encode, parse_parameters
from porism.web.pages.attribution import Attribution, bibtex_entries
from porism.web.pages.page import FILTERS, SearchState
from porism.web.pages.search import search_values
from porism.web.site.look import public_root

FORMAT = Parameter("format", "the form of the file", default="json", choices=("bibtex", "csv", "json"))
FEED_SIZE, EXPORT_SIZE, SUGGESTIONS = 50, 100, 8
EPOCH = "1970-01-01T00:00:00Z"
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}:[0-9]{2}))?")
COLUMNS = ("rank", "id", "thread_id", "kind", "score", "votes", "accepted", "created", "tags", "title", "address")


def plain_line(segments: Iterable[HighlightedSegment]) -> str:
    """Return segments as one line of text, formulas as LaTeX between dollar signs."""
    pieces = (f"${readable_latex(one.text)}$" if one.kind == "formula" else one.text for one in segments)
    return " ".join("".join(pieces).split())


async def find(request: Request, values: dict[str, Any], k: int, sort: str) -> Results:
    """Search as the page does, but longer and without groups."""
    asked = {name: values[name] for name in ("q", "expand", *(parameter.name for parameter in FILTERS))}
    asked |= {"k": k, "offset": 0, "sort": sort, "group": False}
    asked["kind"] = values["tab"] if values["tab"] in ("answers", "questions") else "answers"
    found: Results = await run_view(request, views.search, asked)
    return found


async def feed(request: Request) -> Response:
    """Return the newest posts that match a query as an Atom feed."""
    values = search_values(request)
    found = await find(request, values, FEED_SIZE, "date")
    root = public_root(request)
    address = root + SearchState(values).link()
    entries = "".join(_entry(hit, root) for hit in found.hits)
    updated = max((_time(hit.created) for hit in found.hits), default=EPOCH)
    body = (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{_text(values['q'][:200])} · {_text(request.app.state.look.title)}</title>\n"
        f"<id>{_text(address)}</id>\n<updated>{updated}</updated>\n"
        f'<link href={_attribute(address)}/>\n<link rel="self" href={_attribute(str(request.url))}/>\n'
        f"<author><name>{_text(request.app.state.engine.name)}</name></author>\n{entries}</feed>\n"
    )
    return Response(body, media_type="application/atom+xml")


def _entry(hit: SearchHit, root: str) -> str:
    address = f"{root}/posts/{hit.id}"
    return (
        f"<entry><title>{_text(plain_line(hit.title))}</title><id>{_text(address)}</id>"
        f"<link href={_attribute(address)}/>"
        f"<updated>{_time(hit.created)}</updated><summary>{_text(plain_line(hit.snippet))}</summary></entry>\n"
    )


def _time(created: str) -> str:
    """Return the date of a post as a time of Atom; a source may give one without a time, or none that can be read."""
    found = _DATE.match(created)
    return f"{found[1]}T{found[2] or '00:00:00'}Z" if found else EPOCH


def _text(text: str) -> str:
    """Return text for XML: escaped, without the characters that XML forbids."""
    return escape(xml_text(text))


def _attribute(text: str) -> str:
    """Return text as an attribute of XML, with its quotes."""
    return quoteattr(xml_text(text))


async def export(request: Request) -> Response:
    """Return the best hits of a query as a file."""
    values = search_values(request, FORMAT)
    found = await find(request, values, EXPORT_SIZE, values["sort"])
    root = public_root(request)
    if values["format"] == "json":
        return _file(encode(found), "json", "application/json")
    if values["format"] == "csv":
        return _file(_csv(found, root).encode("utf-8", "replace"), "csv", "text/csv; charset=utf-8")
    attribution = request.app.state.thread_options.attribution
    text = await run_view(request, hits_bibtex, {"hits": found.hits, "attribution": attribution, "root": root})
    return _file(text.encode("utf-8", "replace"), "bib", "application/x-bibtex; charset=utf-8")


def hits_bibtex(engine: Engine, hits: Iterable[SearchHit], attribution: Attribution, root: str) -> str:
    """Return hits as entries of BibTeX."""
    ids = [hit.id for hit in hits]
    posts = engine.content.posts_by_id(ids)
    return bibtex_entries(engine.content, [posts[id] for id in ids], attribution, root)


def _csv(found: Results, root: str) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for rank, hit in enumerate(found.hits, 1):
        scores = (f"{hit.score:.4f}", "" if hit.votes is None else hit.votes, str(hit.accepted).lower(), hit.created)
        texts = (" ".join(hit.tags), plain_line(hit.title), f"{root}/posts/{hit.id}")
        cells = (rank, hit.id, hit.thread_id, hit.kind, *scores, *texts)
        writer.writerow([spreadsheet_cell(str(cell)) for cell in cells])
    return out.getvalue()


def _file(body: bytes, suffix: str, media_type: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="porism-hits.{suffix}"'}
    return Response(body, media_type=media_type, headers=headers)


async def search_engine(request: Request) -> Response:
    """Return the OpenSearch description, by which browsers offer this site as a search engine."""
    root = public_root(request)
    name = request.app.state.engine.name
    body = f"""<?xml version="1.0" encoding="utf-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{_text(request.app.state.look.title[:16])}</ShortName>
<Description>{_text(f"Search mathematics in {name} by words and formulas")}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Image width="16" height="16" type="image/svg+xml">{_text(root)}/static/icon.svg</Image>
<Url type="text/html" template={_attribute(f"{root}/search?q={{searchTerms}}")}/>
<Url type="application/atom+xml" template={_attribute(f"{root}/search.atom?q={{searchTerms}}")}/>
<Url type="application/x-suggestions+json" template={_attribute(f"{root}/suggest?q={{searchTerms}}")}/>
</OpenSearchDescription>
"""
    return Response(body, media_type="application/opensearchdescription+xml")


async def suggest(request: Request) -> Response:
    """Return what the typed text may become, in the form of OpenSearch suggestions."""
    values = parse_parameters((Parameter("q", "what was typed so far", default="", high=300),), request.query_params)
    titles: list[str] = []
    if values["q"].strip():
        titles = await run_view(request, suggested_titles, {"q": values["q"]})
    body = json.dumps([values["q"], titles], ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, media_type="application/x-suggestions+json")


def suggested_titles(engine: Engine, q: str) -> list[str]:
    """Return completions of what was typed; without any, titles of the questions that match best."""
    completed = [one.text for one in engine.complete(q, SUGGESTIONS).completions]
    if completed:
        return completed
    found = engine.search(q, k=SUGGESTIONS, kind="questions").hits
    return list(dict.fromkeys(plain_line(hit.title) for hit in found))


ROUTES = [
    Route("/search.atom", feed),
    Route("/export", export),
    Route("/opensearch.xml", search_engine),
    Route("/suggest", suggest),
]
