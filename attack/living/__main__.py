"""Let a site live: random changes by the API under a search load, with kills; then compare it with an index built from
scratch.

Exit code 1 if a change was lost, an answer differs, or a request failed that no kill explains.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from attack.living.compare import Difference, answer_differences, build_fresh, stored_differences
from attack.living.kills import KINDS, LivingServer
from attack.living.load import Changer, Failure, Prober, Searcher
from attack.living.site import LivingSite

MERGE_SECONDS = 3600.0
APPLY_SECONDS = 900.0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m attack.living", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--posts", type=int, default=100_000, help="posts of the site at first (default %(default)s)")
    parser.add_argument("--changes", type=int, default=10_000, help="changes of posts (default %(default)s)")
    parser.add_argument("--kills", type=int, default=10, help="kills of processes (default %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="queries that are compared (default %(default)s)")
    parser.add_argument("--searchers", type=int, default=2, help="people who search at the same time")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two changes (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other changes and moments")
    parser.add_argument("--no-compare", action="store_true", help="measure only: no merge, no index from scratch")
    parser.add_argument("--folder", help="keep the files in this folder; posts that are there are not built again")
    return parser.parse_args()


@dataclass
class Lived:
    """What happened while the site lived."""

    changer: Changer
    prober: Prober
    searchers: list[Searcher]
    server: LivingServer
    seconds: float

    def unexplained(self) -> list[Failure]:
        """Return the failures of requests that were not under way while a process was killed."""
        every = [*self.changer.failures, *(one for searcher in self.searchers for one in searcher.failures)]
        return [
            one for one in every if not any(w.start <= one.ended and one.began <= w.end for w in self.server.windows)
        ]

    def failed(self) -> int:
        """Return the number of all requests that failed."""
        return len(self.changer.failures) + sum(len(searcher.failures) for searcher in self.searchers)


def live(server: LivingServer, site: LivingSite, options: argparse.Namespace) -> Lived:
    """Send all changes and searches, and kill processes in between."""
    began, stopped, chance = time.monotonic(), threading.Event(), random.Random(options.seed)
    prober = Prober(server.client, stopped)
    changer = Changer(server.client, site, options.changes, prober, options.pause)
    queries = site.queries(options.queries)
    searchers = [Searcher(server.client, queries, number, stopped) for number in range(options.searchers)]
    threads = [threading.Thread(target=one.run, daemon=True) for one in (changer, prober, *searchers)]
    for thread in threads:
        thread.start()
    moments = sorted(chance.uniform(0.02, 0.98) * options.changes for _ in range(options.kills))
    for number, moment in enumerate(moments):
        while changer.sent < moment and threads[0].is_alive():
            server.measure()
            time.sleep(0.05)
        kind = KINDS[number % len(KINDS)]
        print(f"kill {number + 1}: {kind}, after {changer.sent} changes", file=sys.stderr, flush=True)
        server.kill(kind, chance)
    while threads[0].is_alive():
        server.measure()
        time.sleep(0.05)
    wait_for_log(server)
    stopped.set()
    for thread in threads:
        thread.join()
    return Lived(changer, prober, searchers, server, time.monotonic() - began)


def wait_for_log(server: LivingServer) -> None:
    """Wait until every accepted change is searchable."""
    end = time.monotonic() + APPLY_SECONDS
    while time.monotonic() < end:
        state = server.client.call("GET", "/v1/log")
        if state.status == 200 and state.data["searchable"] >= state.data["accepted"]:
            return
        time.sleep(0.2)
    raise SystemExit(f"changes are not searchable after {APPLY_SECONDS:.0f} s: {state}")


def merge_all(server: LivingServer) -> float:
    """Request a merge of all segments, and wait for it."""
    began = time.monotonic()
    server.client.call("POST", "/v1/merge")
    while time.monotonic() - began < MERGE_SECONDS:
        server.measure()
        state = server.client.call("GET", "/v1/log")
        if state.status == 200 and not state.data["merge_requested"] and state.data["segments"] == 1:
            return time.monotonic() - began
        time.sleep(0.5)
    raise SystemExit("the segments are not merged")


def prepare(folder: Path, options: argparse.Namespace) -> LivingSite:
    """Generate the posts and build their index, unless they are there."""
    site = LivingSite(folder / "dump", options.posts, options.seed)
    if not (folder / "base" / "index" / "manifest.json").exists():
        shutil.rmtree(folder / "base", ignore_errors=True)
        (folder / "base").mkdir(parents=True)
        build_fresh(folder / "dump", folder / "base")
    for name in ("live", "fresh", "last-dump"):
        shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(folder / "base", folder / "live")
    return site


@dataclass
class Compared:
    """How the index that lived differs from one that is built from scratch, and how long the merge before took."""

    merging: float
    stored: list[str]
    different: list[Difference]

    def problems(self) -> list[str]:
        """Return all differences."""
        return [*(f"stored: {one}" for one in self.stored), *(f"another answer: {one}" for one in self.different)]


def compare(folder: Path, site: LivingSite, index: Path, merging: float, queries: int) -> Compared:
    """Build an index of the last state from scratch, and compare it with the one that lived."""
    from porism.search.engine import Engine

    site.write_dump(folder / "last-dump")
    (folder / "fresh").mkdir()
    fresh, lived = Engine.open(build_fresh(folder / "last-dump", folder / "fresh")), Engine.open(index)
    return Compared(merging, stored_differences(lived, fresh), answer_differences(lived, fresh, site.queries(queries)))


def run(folder: Path, options: argparse.Namespace) -> int:
    """Do all of it in a folder; print a table."""
    site = prepare(folder, options)
    index = folder / "live" / "index"
    command = ["site", "tokens", "create", str(index), "--name", "living"]
    scopes = ["--scope", "write", "--scope", "delete", "--scope", "merge"]
    made = subprocess.run(
        [sys.executable, "-m", "porism.cli", *command, *scopes], check=True, capture_output=True, text=True
    )
    server = LivingServer(index, made.stdout.strip())
    server.start()
    try:
        lived = live(server, site, options)
        rejected = server.client.call("GET", "/v1/log").data["rejected"]
        merging = 0.0 if options.no_compare else merge_all(server)
    finally:
        server.stop()
    compared = None if options.no_compare else compare(folder, site, index, merging, options.queries)
    print("\n".join(table(lived, options, compared)))
    problems = [
        *(f"change refused: {one}" for one in lived.changer.refused),
        *(f"change rejected: {one}" for one in rejected),
        *lived.prober.lost,
        *(f"failed without a kill: {one}" for one in lived.unexplained()),
        *(compared.problems() if compared else ()),
    ]
    for problem in problems[:20]:
        print(f"PROBLEM: {problem}")
    return 1 if problems else 0


def table(lived: Lived, options: argparse.Namespace, compared: Compared | None) -> list[str]:
    """Return what was measured as lines of a Markdown table."""
    visible = sorted(lived.prober.seconds) or [0.0]
    searches = [one for searcher in lived.searchers for one in searcher.seconds] or [0.0]
    kills = ", ".join(f"{kind} {sum(w.kind == kind for w in lived.server.windows)}" for kind in KINDS)
    down = [w.end - w.start for w in lived.server.windows if w.kind == "server"] or [0.0]
    memory = ", ".join(f"{kind} {size / 2**20:.0f} MB" for kind, size in sorted(lived.server.memory.items()))
    rows = [
        ("posts at first; changes; kills", f"{options.posts:,}; {lived.changer.sent:,}; {len(lived.server.windows)} ({kills})"),
        ("time of all changes", f"{lived.seconds:.0f} s"),
        ("from acknowledgement until a search finds it", f"median {statistics.median(visible):.1f} s, 95 % {visible[int(0.95 * (len(visible) - 1))]:.1f} s, worst {visible[-1]:.1f} s ({len(lived.prober.seconds)} posts)"),
        ("acknowledgement of a change", f"median {1000 * statistics.median(lived.changer.seconds):.0f} ms, worst {max(lived.changer.seconds):.2f} s"),
        ("searches meanwhile", f"{len(searches):,}, median {1000 * statistics.median(searches):.0f} ms, worst {max(searches):.1f} s"),
        ("requests that failed", f"{lived.failed()}, of them without a kill {len(lived.unexplained())}"),
        ("longest restart of the whole server", f"{max(down):.1f} s"),
        ("memory of one process, largest", memory),
    ]  # fmt: skip
    if compared:
        rows += [
            ("merge of all segments", f"{compared.merging:.0f} s"),
            ("posts and comments that differ from an index built from scratch", str(len(compared.stored))),
            (f"answers of {options.queries} queries that differ", str(len(compared.different))),
        ]
    return ["| what | result |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]


def main() -> int:
    """Run in a folder that is kept, or in one that is not."""
    options = arguments()
    if options.folder:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
        return run(Path(options.folder), options)
    with tempfile.TemporaryDirectory(prefix="porism-living-") as folder:
        return run(Path(folder), options)


if __name__ == "__main__":
    sys.exit(main())
