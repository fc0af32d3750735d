"""Run the assessment server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from porism.corpus.store.collection import Collection
from porism.evaluate.runs.id_lookup import CollectionLookup
from porism.lab.judging.content import Content
from porism.lab.judging.journal import Journal
from porism.lab.judging.verify import check_journal
from porism.lab.submissions import Submissions, topic_ids
from porism.web.assess.app import create_app
from porism.web.assess.context import thread_address
from porism.web.server.hosts import LOOPBACK


def run_server(app: Starlette, host: str, port: int, *, https: bool) -> None:
    """Serve until interrupted. With `https`, trust the client address that a proxy on this machine reports."""
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
        proxy_headers=https,
        forwarded_allow_ips="127.0.0.1",
        timeout_keep_alive=30,
    )


def open_app(
    journal: str,
    collection: str,
    submissions: str | None = None,
    topics: list[str] | None = None,
    *,
    topic_threads: str | None = None,
    https: bool = False,
    in_order: bool = False,
    hosts: Sequence[str] = (),
) -> Starlette:
    """Open a journal and a collection as an application; with a folder for submissions, teams can submit runs.

    `hosts` are names under which it answers, besides those of this machine. A damaged journal is refused.
    """
    check_journal(Path(journal))
    content = Content(Collection.open(collection), thread_address)
    submitted = (
        Submissions(Path(submissions), topic_ids(topics or []), CollectionLookup(collection)) if submissions else None
    )
    later = Collection.open(topic_threads) if topic_threads else None
    return create_app(
        Journal.open(journal),
        content,
        submitted,
        topic_threads=later,
        secure=https,
        in_order=in_order,
        hosts=[*LOOPBACK, *hosts],
    )
