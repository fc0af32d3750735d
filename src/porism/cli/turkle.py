"""porism lab turkle: judge on a Turkle server."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import argument, command, options

if TYPE_CHECKING:
    from porism.lab.turkle.client import Server


SERVER_OPTIONS = options(
    argument("--url", required=True, help="the address of the Turkle server"),
    argument("--user", default="", help="a staff user, to download results that the API truncates"),
)
SECRETS = (
    "The API token is read from the environment variable TURKLE_TOKEN, the password of the staff user from "
    "TURKLE_PASSWORD."
)


def _server(args: argparse.Namespace) -> Server:
    from porism.lab.turkle.client import Server

    return Server(args.url, os.environ.get("TURKLE_TOKEN", ""), args.user, os.environ.get("TURKLE_PASSWORD", ""))


@command(
    "porism lab turkle export lab.journal --collection demo/collection -o turkle",
    argument("journal", metavar="JOURNAL", help="a journal made by porism lab assess"),
    argument("--collection", required=True, metavar="DIR", help="the collection with the posts to judge"),
    argument("-o", "--output", required=True, metavar="DIR", help="the folder to create"),
    argument(
        "--threads",
        default="",
        metavar="URL",
        help="link to threads on this server, at URL/thread/ID (default: no links)",
    ),
)
def export(args: argparse.Namespace) -> None:
    """Write the export, and print each batch with its number of tasks."""
    from porism.lab.judging.content import ContentRenderer
    from porism.lab.judging.journal import Journal
    from porism.lab.turkle.files import export
    from porism.search.display.post_formulas import mathml_of
    from porism.store import open_content

    base = args.threads.rstrip("/")
    content = ContentRenderer(
        open_content(args.collection),
        lambda thread, post: f"{base}/thread/{thread}#p{post}" if base else "",
        math=mathml_of,
    )
    for batch in export(Journal.open(args.journal), content, Path(args.output)):
        print(f"{batch.name}\t{batch.tasks}")


@command(
    "porism lab turkle upload turkle --url https://turkle.example.org",
    argument("folder", metavar="FOLDER", help="a folder made by porism lab turkle export"),
    SERVER_OPTIONS,
    description=f"Upload an export to a server; an interrupted upload is continued. {SECRETS}",
    resume="run the same command again to continue the upload",
)
def upload(args: argparse.Namespace) -> None:
    """Upload, and print the number of each batch."""
    from porism.lab.turkle.client import upload

    for name, number in upload(_server(args), Path(args.folder)).items():
        print(f"{number}\t{name}")


@command(
    "porism lab turkle download turkle --url https://turkle.example.org --user organiser",
    argument("folder", metavar="FOLDER", help="the uploaded folder"),
    SERVER_OPTIONS,
    description=f"Download the complete results of every uploaded batch into the folder. {SECRETS}",
)
def download(args: argparse.Namespace) -> None:
    """Download, and print the files."""
    from porism.lab.turkle.client import download_all

    for path in download_all(_server(args), Path(args.folder)):
        print(path)


@command(
    "porism lab turkle import lab.journal turkle/results/*.csv",
    argument("journal", metavar="JOURNAL", help="a journal made by porism lab assess"),
    argument("results", nargs="+", metavar="FILE", help="result files (CSV)"),
)
def take(args: argparse.Namespace) -> None:
    """Import results, and print how many there were of each file."""
    from porism.files import open_text
    from porism.lab.judging.journal import Journal
    from porism.lab.turkle.files import import_results

    journal = Journal.open(args.journal)
    for name in args.results:
        with open_text(name) as stream:
            done = import_results(journal, stream.read(), name)
        print(f"{name}\t{done.results}\t{done.events}")
        if done.replaced:
            print(
                f"{name}: {done.replaced} results were replaced by a later answer of the same person", file=sys.stderr
            )
        done.raise_problems()
