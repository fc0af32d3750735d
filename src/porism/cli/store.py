"""porism store, collection: look after the files of an index and copy it into an OpenSearch cluster; look into a
collection, and write it in other formats."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import (
    COLLECTION,
    JSON,
    QUIET,
    argument,
    chosen_progress,
    command,
    flag,
    positive,
    section,
    with_default,
)

if TYPE_CHECKING:
    from porism.integrity import Verification
    from porism.progress import Progress


@command(
    "porism store verify demo/index",
    argument(
        "paths", nargs="+", metavar="PATH", help="an index (its collection is read, too), a collection or a journal"
    ),
    argument(
        "--against",
        metavar="INDEX",
        help="the folder that PATH, a collection in a cluster, was copied from: compare counts and the digests of "
        "all records and posts",
    ),
    JSON,
    QUIET,
)
def verify(args: argparse.Namespace) -> int:
    """Compare each path with its checksums. Return 1 if anything is damaged."""
    from porism.lab.judging.verify import verify_journal
    from porism.store import open_store

    progress = chosen_progress(args)
    if args.against:
        return _compare(args.paths, args.against, progress)
    found: list[Verification] = []
    began = time.perf_counter()
    for path in args.paths:
        if Path(path).is_file():
            found.append(verify_journal(Path(path), progress))
        else:
            found += open_store(path).verify(progress)
    seconds = time.perf_counter() - began
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        _print(found, seconds)
    return 1 if any(one.damages for one in found) else 0


def _compare(paths: list[str], source: str, progress: Progress) -> int:
    """Print how copies differ from their source. Return 1 if any does."""
    from porism.store.maintenance import verify_copy

    differences = [(path, verify_copy(path, source, progress)) for path in paths]
    for path, found in differences:
        for one in found:
            print(f"{path}: {one}")
        print(f"{path}: {'differs from' if found else 'equal to'} {source}", file=sys.stderr)
    return 1 if any(found for _, found in differences) else 0


def _print(found: list[Verification], seconds: float) -> None:
    for one in found:
        state = "damaged" if one.damages else "intact"
        parts = f"{one.files:,} {one.unit if one.files != 1 else one.unit[:-1]}"
        print(f"{one.path}: {one.kind}, {parts}, {one.bytes / 1e6:,.1f} MB: {state}")
        for damage in one.damages:
            print(f"  {damage.part} {damage.fact}\n    fix: {damage.fix}")
        for remark in one.remarks:
            print(f"  note: {remark}")
    size = sum(one.bytes for one in found)
    print(f"read {size / 1e6:,.1f} MB in {seconds:.2f} s", file=sys.stderr)


@command("porism store merge demo/index", argument("index", metavar="INDEX", help="an index"), QUIET)
def merge(args: argparse.Namespace) -> None:
    """Merge, and report the number of segments before and after."""
    from porism.store import open_store

    index, store = args.index, open_store(args.index)
    before = store.status().parts
    if not store.maintain(everything=True, progress=chosen_progress(args)):
        print(f"{index}: has one segment already", file=sys.stderr)
        return
    after = store.status()
    print(f"{index}: {before} segments are now {after.parts}, {after.bytes / 1e6:,.1f} MB", file=sys.stderr)


ADDRESS = argument(
    "address", metavar="ADDRESS", help="opensearch://host1:9200,host2:9200/name (opensearchs:// with TLS)"
)
REPOSITORY = argument("repository", metavar="REPOSITORY", help="a snapshot repository that the cluster knows")


@command(
    "porism store copy demo/index opensearch://localhost:9200/demo",
    argument("source", metavar="SOURCE", help="the folder of an index, or the address of a collection in a cluster"),
    argument("target", metavar="TARGET", help="the address in the cluster, or a new folder"),
    with_default(
        "--shards",
        1,
        "into how many parts the cluster divides the collection; one is fastest up to about a million posts",
        type=positive,
        metavar="N",
    ),
    QUIET,
    resume="the same command goes on where it was",
)
def copy(args: argparse.Namespace) -> None:
    """Copy, and say what was copied."""

    from porism.store import open_store
    from porism.store.maintenance import copy_store

    began = time.perf_counter()
    copy_store(args.source, args.target, chosen_progress(args), args.shards)
    status = open_store(args.target).status()
    counts = ", ".join(f"{count:,} {name}" for name, count in status.counts.items())
    seconds = time.perf_counter() - began
    print(f"{args.target}: {counts}, {status.bytes / 1e6:,.1f} MB, in {seconds:,.0f} s", file=sys.stderr)


@command("porism store rollback opensearch://localhost:9200/demo", ADDRESS)
def rollback(args: argparse.Namespace) -> None:
    """Go back to the build before, which servers follow at once."""
    from porism.store.maintenance import rollback

    print(f"{args.address}: is build {rollback(args.address)} again", file=sys.stderr)


@command(
    "porism store snapshot opensearch://localhost:9200/demo backups",
    ADDRESS,
    REPOSITORY,
    flag("--list", "take none, but list those of all collections"),
    JSON,
)
def snapshot(args: argparse.Namespace) -> None:
    """Take a snapshot and print its name; or print the names of all."""

    from porism.store.maintenance import snapshot_repository

    repository = snapshot_repository(args.address, args.repository)
    found = repository.all() if args.list else [repository.take()]
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
        return
    for one in found:
        print(f"{one.name}\t{one.collection}\t{one.build}\t{one.begun}\t{one.state}" if args.list else one.name)


@command(
    "porism store restore opensearch://localhost:9200/restored backups porism-demo-20261118-200000",
    ADDRESS,
    REPOSITORY,
    argument("snapshot", metavar="SNAPSHOT", help="its name, as porism store snapshot --list prints it"),
    flag("--replace", "first remove the same build from the cluster, if it is there"),
)
def restore(args: argparse.Namespace) -> None:
    """Restore a snapshot, under the name in the address."""
    from porism.store.maintenance import snapshot_repository

    build = snapshot_repository(args.address, args.repository).restore(args.snapshot, args.replace)
    print(f"{args.address}: is build {build} of {args.snapshot}", file=sys.stderr)


KINDS = ("post", "thread", "formula")


@command(
    "porism collection show demo/collection thread 45",
    COLLECTION,
    argument("kind", choices=KINDS, help="what to show"),
    argument("number", type=int, metavar="ID", help="the id of the post, question or formula"),
)
def show(args: argparse.Namespace) -> None:
    """Print it."""
    from porism.corpus import show
    from porism.store import open_content

    views = {"post": show.show_post, "thread": show.show_thread, "formula": show.show_formula}
    for line in views[args.kind](open_content(args.collection), args.number):
        print(line)


@command(
    "porism collection stats demo/collection",
    COLLECTION,
    JSON,
    argument("--plots", metavar="FOLDER", help="also draw each distribution as an SVG file in this folder"),
)
def stats(args: argparse.Namespace) -> None:
    """Print a table with the columns distribution, value and number, or JSON."""
    from porism.corpus.stats import distributions, plot
    from porism.store import open_content

    content = open_content(args.collection)
    found = list(distributions(content))
    counts = content.facts["counts"]
    if args.json:
        head = {"digest": content.digest, "sources": content.facts["sources"], "counts": counts}
        body = {distribution.name: distribution.as_json() for distribution in found}
        print(json.dumps(head | body, ensure_ascii=False, indent=1))
    else:
        rows = [("counts", name, number) for name, number in counts.items()]
        rows += [(one.title, label, number) for one in found for label, number in one.rows]
        for row in rows:
            print(*row, sep="\t")
    if args.plots:
        for path in plot(found, Path(args.plots)):
            print(f"wrote {path}", file=sys.stderr)


FORMATS = ("lab", "annotations", "jsonl", "parquet", "trec", "pages", "beir", "hf")


@command(
    "porism collection export demo/collection -o lab-files --format lab",
    COLLECTION,
    argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to create"),
    with_default("--format", "lab", "the format to write", choices=FORMATS),
    section(
        "beir and hf",
        argument("--task", type=int, choices=(1, 2), help="1: answers, 2: formulas by visual id (default: 1)"),
        argument("--topics", metavar="FILE", help="the queries: the lab's XML, or a table"),
        argument("--qrels", metavar="FILE", help="the judgments"),
    ),
)
def export(args: argparse.Namespace) -> None:
    """Export the collection."""
    from porism.corpus.export import export
    from porism.corpus.export.records import Benchmark
    from porism.corpus.topics.files import read_topics
    from porism.evaluate.qrels import read_qrels
    from porism.records import Judgment
    from porism.store import open_content

    benchmark = None
    if args.task or args.topics or args.qrels:
        topics = tuple(read_topics(args.topics)) if args.topics else ()
        qrels = read_qrels(args.qrels) if args.qrels else {}
        judgments = [Judgment(topic, item, grade) for topic, items in qrels.items() for item, grade in items.items()]
        benchmark = Benchmark(args.task or 1, topics, tuple(judgments))
    export(open_content(args.collection), args.output, args.format, benchmark)
    print(f"wrote {args.output}", file=sys.stderr)
