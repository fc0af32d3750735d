"""Running the assessment server."""

from __future__ import annotations

from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from porism.corpus.store.collection import Collection
from porism.evaluate.runs.id_lookup import CollectionLookup
from porism.lab.judging.content import Content
from porism.lab.judging.journal import Journal
from porism.lab.submissions import Desk, topic_ids
from porism.web.assess.app import create_app
from porism.web.assess.room import thread_address


def run_server(app: Starlette, host: str, port: int, *, https: bool) -> None:
    """Serve until interrupted. Behind an HTTPS proxy on this machine, the proxy's word on the client's address is taken."""
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
) -> Starlette:
    """The application on a journal and a collection; with a folder for submissions, teams may hand in runs."""
    store = Collection.open(collection)
    desk = Desk(Path(submissions), topic_ids(topics or []), CollectionLookup(collection)) if submissions else None
    later = Collection.open(topic_threads) if topic_threads else None
    return create_app(Journal.open(journal), Content(store, thread_address), desk, topic_threads=later, secure=https)
