"""porism store copy, rollback, snapshot, restore: collections in an OpenSearch cluster."""

from __future__ import annotations

import argparse
import sys

from porism.cli.command import argument, command
from porism.cli.values import JSON, QUIET, positive

ADDRESS = argument(
    "address", metavar="ADDRESS", help="opensearch://host1:9200,host2:9200/name (opensearchs:// with TLS)"
)
REPOSITORY = argument("repository", metavar="REPOSITORY", help="a snapshot repository that the cluster knows")


@command(
    "porism store copy demo/index opensearch://localhost:9200/demo",
    argument("source", metavar="SOURCE", help="the folder of an index, or the address of a collection in a cluster"),
    argument("target", metavar="TARGET", help="the address in the cluster, or a new folder"),
    argument(
        "--shards",
        type=positive,
        default=1,
        metavar="N",
        help="into how many parts the cluster divides the collection; one is fastest up to about a million posts (default: %(default)s)",
    ),
    QUIET,
    resume="the same command goes on where it was",
)
def copy(args: argparse.Namespace) -> int:
    """Copy, and say what was copied."""
    import time

    from porism.progress import Silent, for_terminal
    from porism.store import open_store
    from porism.store.maintenance import copy_store

    began = time.perf_counter()
    copy_store(args.source, args.target, Silent() if args.quiet else for_terminal(), args.shards)
    status = open_store(args.target).status()
    counts = ", ".join(f"{count:,} {name}" for name, count in status.counts.items())
    seconds = time.perf_counter() - began
    print(f"{args.target}: {counts}, {status.bytes / 1e6:,.1f} MB, in {seconds:,.0f} s", file=sys.stderr)
    return 0


@command("porism store rollback opensearch://localhost:9200/demo", ADDRESS)
def rollback(args: argparse.Namespace) -> int:
    """Go back to the build before, which servers follow at once."""
    from porism.store.maintenance import rollback

    print(f"{args.address}: is build {rollback(args.address)} again", file=sys.stderr)
    return 0


@command(
    "porism store snapshot opensearch://localhost:9200/demo backups",
    ADDRESS,
    REPOSITORY,
    argument("--list", action="store_true", help="take none, but list those of all collections"),
    JSON,
)
def snapshot(args: argparse.Namespace) -> int:
    """Take a snapshot and print its name; or print the names of all."""
    from dataclasses import asdict

    from porism.store.maintenance import snapshot_repository

    repository = snapshot_repository(args.address, args.repository)
    found = repository.all() if args.list else [repository.take()]
    if args.json:
        import json

        print(json.dumps([asdict(one) for one in found], indent=1))
        return 0
    for one in found:
        print(f"{one.name}\t{one.collection}\t{one.build}\t{one.begun}\t{one.state}" if args.list else one.name)
    return 0


@command(
    "porism store restore opensearch://localhost:9200/restored backups porism-demo-20261118-200000",
    ADDRESS,
    REPOSITORY,
    argument("snapshot", metavar="SNAPSHOT", help="its name, as porism store snapshot --list prints it"),
    argument("--replace", action="store_true", help="first remove the same build from the cluster, if it is there"),
)
def restore(args: argparse.Namespace) -> int:
    """Restore a snapshot, under the name in the address."""
    from porism.store.maintenance import snapshot_repository

    build = snapshot_repository(args.address, args.repository).restore(args.snapshot, args.replace)
    print(f"{args.address}: is build {build} of {args.snapshot}", file=sys.stderr)
    return 0
