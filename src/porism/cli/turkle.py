"""porism lab turkle: judge on a Turkle server."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.lab.turkle.client import Server

HELP = "judge on a Turkle server: export assignments, upload them, download and import the results"
EXAMPLE = "porism lab turkle export lab.journal --collection demo/collection -o turkle"
EXAMPLES = {
    "export": EXAMPLE,
    "upload": "porism lab turkle upload turkle --url https://turkle.example.org",
    "download": "porism lab turkle download turkle --url https://turkle.example.org --user organiser",
    "import": "porism lab turkle import lab.journal turkle/results/*.csv",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions, in the order of use."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser("export", help="write templates and batches for Turkle")
    export.add_argument("journal", metavar="JOURNAL", help="a journal made by porism lab assess")
    export.add_argument("--collection", required=True, metavar="DIR", help="the collection with the posts to judge")
    export.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder to create")
    export.add_argument(
        "--threads",
        default="",
        metavar="URL",
        help="link to threads on this server, at URL/thread/ID (default: no links)",
    )
    upload = actions.add_parser("upload", help="upload an export to a server; an interrupted upload is continued")
    upload.add_argument("folder", metavar="FOLDER", help="a folder made by porism lab turkle export")
    upload.set_defaults(resume="run the same command again to continue the upload")
    download = actions.add_parser(
        "download", help="download the complete results of every uploaded batch into the folder"
    )
    download.add_argument("folder", metavar="FOLDER", help="the uploaded folder")
    for one in (upload, download):
        one.add_argument("--url", required=True, help="the address of the Turkle server")
        one.add_argument("--user", default="", help="a staff user, to download results that the API truncates")
    take = actions.add_parser("import", help="import results of Turkle, or of our own server, into a journal")
    take.add_argument("journal", metavar="JOURNAL", help="a journal made by porism lab assess")
    take.add_argument("results", nargs="+", metavar="FILE", help="result files (CSV)")
    parser.description = (
        f"{parser.description} The API token is read from the environment variable TURKLE_TOKEN, the password of the staff "
        "user from TURKLE_PASSWORD."
    )


def run(args: argparse.Namespace) -> int:
    """Do the action."""
    return {"export": _export, "upload": _upload, "download": _download, "import": _import}[args.action](args)


def _server(args: argparse.Namespace) -> Server:
    from porism.lab.turkle.client import Server

    return Server(args.url, os.environ.get("TURKLE_TOKEN", ""), args.user, os.environ.get("TURKLE_PASSWORD", ""))


def _export(args: argparse.Namespace) -> int:
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
    return 0


def _upload(args: argparse.Namespace) -> int:
    from porism.lab.turkle.client import upload

    for name, number in upload(_server(args), Path(args.folder)).items():
        print(f"{number}\t{name}")
    return 0


def _download(args: argparse.Namespace) -> int:
    from porism.lab.turkle.client import download_all

    for path in download_all(_server(args), Path(args.folder)):
        print(path)
    return 0


def _import(args: argparse.Namespace) -> int:
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
    return 0
