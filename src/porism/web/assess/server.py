"""Run the assessment server: one worker process under a supervisor that replaces it when it dies."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette

from porism.evaluate.runs.id_lookup import CollectionLookup
from porism.lab.judging.content import Content
from porism.lab.judging.storage.journal import Journal
from porism.lab.judging.storage.verify import check_journal
from porism.lab.submissions import Submissions, topic_ids
from porism.store import open_content
from porism.web.assess.app import create_app
from porism.web.assess.context import thread_address
from porism.web.operations.logs import log_address
from porism.web.server.hosts import LOOPBACK
from porism.web.server.serving import DEFAULTS, ServerSettings, Service, address_of, bind, supervise


class AssessmentSettings(NamedTuple):
    """What the server needs to know. With a folder for submissions, teams can submit runs; `topics` are files to check them.

    `topic_threads` is a collection with the threads of the topics. `https`: a proxy on this machine serves HTTPS. `hosts` are names under
    which the server answers, besides those of this machine.
    """

    journal: str
    collection: str
    submissions: str | None = None
    topics: tuple[str, ...] = ()
    topic_threads: str | None = None
    https: bool = False
    hosts: tuple[str, ...] = ()
    in_order: bool = False


def open_app(settings: AssessmentSettings) -> Starlette:
    """Open a journal and a collection as an application. A damaged journal is refused."""
    check_journal(Path(settings.journal))
    content = Content(open_content(settings.collection), thread_address)
    submitted = None
    if settings.submissions:
        ids = CollectionLookup(settings.collection)
        submitted = Submissions(Path(settings.submissions), topic_ids(settings.topics), ids)
    later = open_content(settings.topic_threads) if settings.topic_threads else None
    return create_app(
        Journal.open(settings.journal),
        content,
        submitted,
        topic_threads=later,
        secure=settings.https,
        in_order=settings.in_order,
        hosts=[*LOOPBACK, *settings.hosts],
    )


def open_service(settings: AssessmentSettings) -> Service:
    """Open the application in a worker process."""
    return Service(open_app(settings))


def serve(settings: AssessmentSettings, host: str, port: int, server: ServerSettings = DEFAULTS) -> None:
    """Serve until SIGTERM or Ctrl-C; print the address to stderr."""
    with bind(host, port) as listener:
        address = address_of(listener, host)

        def announce(title: str) -> None:
            log_address(f"assessment at {address}", address, server.log_format)

        supervise(open_service, (settings,), (listener,), announce, server)
