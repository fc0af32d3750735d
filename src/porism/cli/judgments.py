"""porism lab agreement, stability, qrels, turkle: what judgments say, and judging on a Turkle server."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import JSON, argument, command, flag, options, with_default
from porism.errors import PorismError

if TYPE_CHECKING:
    from porism.lab.turkle.client import Server


@command(
    "porism lab agreement lab.journal",
    argument("journal", metavar="JOURNAL", help="a journal of judgments, made by porism lab assess"),
    argument("--task", type=int, choices=(1, 2), help="only this task"),
    flag("--training", "compare training rounds instead: with the known grades, and among assessors"),
    flag(
        "--models",
        "compare models with people instead, grade by grade: rows are the grades of people, columns those of the model",
    ),
    JSON,
)
def agreement(args: argparse.Namespace) -> None:
    """Print a table."""
    from porism.evaluate.table import tsv
    from porism.lab.judging.exports import agreement_table, model_table, training_table
    from porism.lab.judging.journal import Journal

    journal = Journal.open(args.journal)
    make = training_table if args.training else model_table if args.models else agreement_table
    table = make(journal, args.task)
    if args.json:
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        found: dict[str, object] = {table.name: rows}
        if make is agreement_table:  # the last row is the mean over all pairs, and alpha over all assessors
            pairs = [{name: value for name, value in row.items() if name != "alpha"} for row in rows[:-1]]
            mean = {name: value for name, value in rows[-1].items() if name not in ("first", "second", "alpha")}
            found = {"pairs": pairs, "mean": mean, "alpha": rows[-1]["alpha"]}
        print(json.dumps(found))
    else:
        print(tsv(table), end="")


@command(
    "porism lab stability sample/qrels/task1.txt sample/runs/*task1*.tsv",
    argument("judgments", metavar="JOURNAL|QRELS", help="a journal of judgments, or a qrels file"),
    argument("runs", nargs="+", metavar="RUN", help="two or more runs of Task 1 or 2"),
    argument("--task", type=int, choices=(1, 2), default=1, help="the task of a journal (default: 1)"),
    with_default("--measure", "nDCG'", "the measure that orders the systems", metavar="M"),
    with_default("--points", 20, "points of the curve"),
    with_default("--draws", 500, "draws of topics at each point"),
    with_default("--seed", 2022, "seed of the draws and of the order of a qrels file"),
    argument("--collection", metavar="DIR", help="Task 2: look up the visual ids of formulas in this collection"),
    argument("--visual-map", metavar="FILE", help="Task 2: look up visual ids in this table"),
    JSON,
)
def stability(args: argparse.Namespace) -> None:
    """Print a table and the hint."""
    from porism.evaluate.measures.measure import parse
    from porism.evaluate.reliability import stability
    from porism.evaluate.runs.lookup import find_visual_ids, read_runs
    from porism.lab.judging.assessments import judgments_in_order

    judgments = judgments_in_order(args.judgments, args.task, args.seed)
    found = stability(
        judgments,
        read_runs(args.runs, find_visual_ids(args.runs, args.collection, args.visual_map, {})),
        parse(args.measure),
        points=args.points,
        draws=args.draws,
        seed=args.seed,
    )
    if args.json:
        points = [asdict(point) for point in found.points]
        print(json.dumps({"points": points, "stable_from": found.stable_from, "hint": found.hint}))
        return
    print("judgments\ttopics\ttau\ttau_5%\ttau_to_all")
    for point in found.points:
        taus = ("" if value is None else f"{value:.3f}" for value in (point.tau, point.low, point.final))
        print(point.judgments, point.topics, *taus, sep="\t")
    print(found.hint)


@command(
    "porism lab qrels lab.journal --task 1 -o qrels",
    argument(
        "journal",
        metavar="JOURNAL",
        help="a journal made by porism lab assess, or (Task 2) a table with the columns topic, post_id, latex, grade",
    ),
    argument("--task", type=int, choices=(1, 2, 3), required=True, help="the task"),
    argument("-o", "--output", required=True, metavar="DIR", help="the folder for the files"),
    argument("--name", default="", help="a part of the file names, such as the year"),
    with_default("--minimum", 2, "leave topics with fewer High or Medium items out of the official file", metavar="N"),
    flag("--sampled", "also write a file with pooled but unjudged items as -1, for infAP"),
    argument("--collection", metavar="DIR", help="for a table: look up the visual ids of formulas in this collection"),
)
def qrels(args: argparse.Namespace) -> None:
    """Write the variants and say which topics were left out."""
    from porism.lab.judging.assessments import assessments
    from porism.lab.judging.items import pooled_items
    from porism.lab.judging.journal import Journal
    from porism.lab.judging.qrels import variants, variants_by_visual_id, write_variants
    from porism.store import open_content

    if args.collection:
        if args.task != 2:
            raise PorismError("a table of judged formulas is of Task 2", where=args.journal, fix="write --task 2")
        found = variants_by_visual_id(Path(args.journal), open_content(args.collection), args.minimum)
    else:
        journal = Journal.open(args.journal)
        pooled = pooled_items(journal, 2 if args.task == 2 else 1) if args.sampled else None
        found = variants(assessments(journal, "main"), args.task, minimum=args.minimum, pooled=pooled)
    for path in write_variants(found, args.task, Path(args.output), args.name):
        print(path)
    if found.removed:
        few = f"fewer than {args.minimum} High or Medium"
        print(f"left out of the official file ({few}): {' '.join(found.removed)}", file=sys.stderr)


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
            fact = f"{done.replaced} results were replaced by a later answer of the same person"
            print(f"{name}: {fact}", file=sys.stderr)
        done.raise_problems()
