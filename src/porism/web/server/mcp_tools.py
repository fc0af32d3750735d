"""The engine for assistants: a Model Context Protocol server with the tools search, formulas, thread and explain."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from porism.errors import PorismError
from porism.records import Explanation
from porism.search.display.results import DistinctFormula, SearchHit
from porism.search.engine import Engine
from porism.search.formulas.searcher import Mode
from porism.search.query import Kind
from porism.web.pages.exports import plain_line

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = (
    "Search mathematical questions and answers by words and formulas. Write formulas in LaTeX between dollar signs; "
    "?x is a wildcard for any sub-expression. Ids of hits work with the tools thread and explain."
)
MOST_HITS = 20
MISSING = PorismError("the Python package mcp is not installed", fix="install the extra: pip install 'porism[mcp]'")


def make_server(engine: Engine) -> MCPServer[Any]:
    """Return a server with the tools of an engine."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise MISSING from None
    server: MCPServer[Any] = MCPServer("porism", instructions=INSTRUCTIONS)

    def search(query: str, k: int = 5, kind: Kind = "answers") -> dict[str, Any]:
        """Find answers or questions. `query` is text with LaTeX between dollar signs; `kind` is "answers" or
        "questions"."""
        found = engine.search(query, k=_most(k), kind=kind, group=kind == "answers")
        return {"total": found.total, "hits": [hit_record(hit) for hit in found.hits], "notes": list(found.notes)}

    def formulas(latex: str, k: int = 5, mode: Mode = "similar") -> dict[str, Any]:
        """Find formulas like one in LaTeX. `mode`: "similar", "exact", "subformula" (formulas that contain it) or
        "diverse"."""
        found = engine.formulas(latex, k=_most(k), mode=mode)
        return {"total": found.total, "hits": [formula_record(hit) for hit in found.hits], "notes": list(found.notes)}

    def thread(id: int) -> dict[str, Any]:
        """Return a question with all its answers as text. `id` is the thread_id of a hit."""
        found = engine.content.threads_by_id([id])[id]
        question, has_votes = found.question, engine.content.has_votes
        answers = [
            {
                "id": one.id,
                "votes": one.score if has_votes else None,
                "accepted": one.id == question.accepted_id,
                "text": one.body.plain(),
            }
            for one in found.answers
        ]
        title, tags = " ".join(question.title.plain().split()), list(question.tags)
        return {"title": title, "text": question.body.plain(), "tags": tags, "answers": answers}

    def explain(query: str, id: int) -> dict[str, Any]:
        """Explain why the post with this id is a hit of a query; the values of the parts sum to the score."""
        return explanation_record(engine.explain(query, id))

    for tool in (search, formulas, thread, explain):
        server.tool()(reporting(tool, ToolError))
    return server


def reporting(tool: Callable[..., dict[str, Any]], error_type: type[Exception]) -> Callable[..., dict[str, Any]]:
    """Return a tool that reports what is wrong with a call to the client, instead of only that it failed."""

    @functools.wraps(tool)
    def checked(*values: Any, **named: Any) -> dict[str, Any]:
        try:
            return tool(*values, **named)
        except PorismError as error:
            raise error_type(str(error)) from None

    return checked


def hit_record(hit: SearchHit) -> dict[str, Any]:
    """Return a hit as plain values."""
    return {
        "id": hit.id,
        "thread_id": hit.thread_id,
        "title": plain_line(hit.title),
        "snippet": plain_line(hit.snippet),
        "tags": list(hit.tags),
        "votes": hit.votes,
        "accepted": hit.accepted,
        "score": round(hit.score, 4),
    }


def formula_record(hit: DistinctFormula) -> dict[str, Any]:
    """Return a found formula as plain values."""
    uses = [{"id": use.post_id, "thread_id": use.thread_id, "title": plain_line(use.title)} for use in hit.uses]
    bindings, match = {one.name: one.value for one in hit.bindings}, hit.level or "similar"
    return {"latex": hit.latex, "score": round(hit.score, 4), "match": match, "bindings": bindings, "posts": uses}


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain values."""
    parts = [explanation_record(part) for part in explanation.parts]
    return {"value": round(explanation.value, 4), "reason": explanation.reason, "parts": parts}


def _most(k: int) -> int:
    return max(1, min(k, MOST_HITS))


def serve_tools(index: str) -> None:
    """Serve an index over standard input and output until the client ends it."""
    server = make_server(Engine.open(index))
    print(f"Porism answers an assistant about {index} over standard input and output", file=sys.stderr, flush=True)
    server.run("stdio")
