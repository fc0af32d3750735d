"""Plain queries with and without hostile ones beside them, on a real server: latency, errors and memory.

Segments without and with hostile queries alternate, so that other work of the machine disturbs both. No query is sent
twice, so that no cache helps. Before, the same queries without pauses fill the caches for 150 seconds, so that memory
can be expected to be flat. PORISM_BENCH_INDEX names an index (without it: the sample, built first);
PORISM_BENCH_SECONDS is the time of all segments together (default 120; 600 for the record). Exit code 1 if plain
queries fail, take more than twice as long (p99), or memory grows.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bench._resources import memory

ROOT = Path(__file__).resolve().parents[1]
SECONDS = float(os.environ.get("PORISM_BENCH_SECONDS", "120"))
SEGMENT_SECONDS = 10.0
CALLERS = 4  # people who search at the same time
PAUSE_SECONDS = 0.2  # between an answer and a person's next query
HOSTILE_SHARE = 0.05
MOST_GROWTH = 1.1  # of memory, from the first quarter to the last one, when all caches are full
FILLING_SECONDS = 150.0  # before the first segment; less in a run of less than two minutes
WORDS = [
    "prove",
    "limit",
    "sequence",
    "integral",
    "matrix",
    "group",
    "ring",
    "field",
    "prime",
    "number",
    "sum",
    "series",
    "convergence",
    "continuous",
    "function",
    "derivative",
    "polynomial",
    "root",
    "equation",
    "theorem",
    "inequality",
    "probability",
    "random",
    "graph",
    "tree",
    "set",
    "bijection",
    "topology",
]
FORMULAS = ("x^{0}+y^2=z", r"\sqrt{{{0}}}", r"\frac{{1}}{{n^{0}}}", r"\sum_{{k=1}}^n k^{0}", r"e^{{{0}x}}", "a_{0}b=c")


def plain_query(rng: random.Random) -> str:
    """Return a query as people type it."""
    words = " ".join(rng.sample(WORDS, rng.randint(1, 4)))
    return f"{words} ${rng.choice(FORMULAS).format(rng.randint(2, 999))}$" if rng.random() < 0.6 else words


# Queries that cost as much as possible; each gets a number of its own.
HOSTILE: tuple[Callable[[int], str], ...] = (
    lambda n: f"{n} " + "⟪" * 40,
    lambda n: " ".join("$" + r"\pmod{" * 40 + rf"\displaystyle x_{{{n}{k}}}$" for k in range(40)),
    lambda n: f"$M_{{{n}}} ?x ?x ?x ?x ?x ?y ?y$",
    lambda n: f"${n}+" + "+".join(f"?{c}" for c in "abcdefghijkl") + "$",
    lambda n: f"${n}+" + "+".join(f"x_{{{k}}}^{{{k + 1}}}" for k in range(1200))[:19000] + "$",
    lambda n: f"{n} " + " ".join(f"$x_{{{k}}}+y^{{{k}}}=z$" for k in range(1200))[:19000],
    lambda n: f"{n} " + "sum of 1/n^2 + " * 250,
    lambda n: f"{n} " + "?x^?y + " * 200,
    lambda n: f"{n} " + " ".join(WORDS * 90)[:19000],
    lambda n: f"{n}" + "|" * 3990,
    lambda n: f'"{n} the a of" ' + "-x " * 800,
    lambda n: f"{n}<math>" + "<mrow>" * 2500 + "<mi>x</mi>" + "</mrow>" * 2500 + "</math>",
)
HOSTILE_PATHS = ("/v1/search?group=true&q=", "/v1/formulas?q=", "/v1/formulas?mode=subformula&q=", "/v1/ask?q=")


class Address(NamedTuple):
    """Where the server is."""

    host: str
    port: int


@dataclass
class Segment:
    """What happened in some segments of one kind."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    hostile: Counter[int] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Return the milliseconds below which this share of the plain queries is."""
        return 1000 * statistics.quantiles(self.seconds, n=1000)[round(share * 1000) - 1]


def status_of(connection: http.client.HTTPConnection, path: str) -> int:
    """Return the status of a response; 0 without one."""
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0


def call(address: Address, segment: Segment, end: float, share: float, seed: str, pause: float) -> None:
    """Send plain queries until the end, with pauses of this mean; start a hostile one beside them now and then."""
    rng, others = random.Random(seed), []
    connection = http.client.HTTPConnection(*address, timeout=60)
    while time.monotonic() < end:
        if rng.random() < share:
            text = rng.choice(HOSTILE)(rng.randrange(10**6))
            other = threading.Thread(target=attack, args=(address, segment, rng.choice(HOSTILE_PATHS) + quote(text)))
            other.start()
            others.append(other)
        path = rng.choice(("/v1/search?q=", "/search?q=", "/v1/formulas?q=")) + quote(plain_query(rng))
        began = time.monotonic()
        segment.statuses[status_of(connection, path)] += 1
        segment.seconds.append(time.monotonic() - began)
        time.sleep(pause * rng.random() * 2)
    for other in others:
        other.join()


def attack(address: Address, segment: Segment, path: str) -> None:
    """Send a hostile query."""
    segment.hostile[status_of(http.client.HTTPConnection(*address, timeout=60), path)] += 1


def press(
    address: Address,
    segment: Segment,
    share: float,
    seed: str,
    seconds: float = SEGMENT_SECONDS,
    pause: float = PAUSE_SECONDS,
) -> None:
    """Let all callers search for a while."""
    end = time.monotonic() + seconds
    callers = [
        threading.Thread(target=call, args=(address, segment, end, share, f"{seed}/{number}", pause))
        for number in range(CALLERS)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


@contextmanager
def server(index: Path, folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], Address]]:
    """Serve an index."""
    log = folder / "server.log"
    command = [sys.executable, "-m", "porism.cli", "serve", str(index), "--port", "0", *options]
    with log.open("wb") as out, subprocess.Popen(command, stderr=out) as process:
        try:
            while not (found := re.search(r"http://([^:]+):(\d+)/", log.read_text())):
                if process.poll() is not None:
                    raise SystemExit(log.read_text())
                time.sleep(0.1)
            yield process, Address(found[1], int(found[2]))
        finally:
            process.terminate()


def sample_index(folder: Path) -> Path:
    """Build the sample and its index."""
    command = ["demo", "--build-only", "--directory", str(folder / "demo"), "--sample", str(ROOT / "sample")]
    subprocess.run([sys.executable, "-m", "porism.cli", *command], check=True, capture_output=True)
    return folder / "demo" / "index"


def measure(index: Path, folder: Path, seconds: float = SECONDS) -> tuple[Segment, Segment]:
    """Alternate segments without and with hostile queries; return both kinds."""
    alone, beside = Segment(), Segment()
    with server(index, folder, "--workers", "2") as (process, address):
        press(address, Segment(), HOSTILE_SHARE, "filling", FILLING_SECONDS * min(1.0, seconds / 120), pause=0.0)
        for number in range(max(2, round(seconds / SEGMENT_SECONDS / 2))):
            for segment, share in ((alone, 0.0), (beside, HOSTILE_SHARE)):
                press(address, segment, share, f"{number}/{share}", min(SEGMENT_SECONDS, seconds / 4))
                segment.memory.append(memory(process.pid))
    return alone, beside


def problems(alone: Segment, beside: Segment) -> list[str]:
    """Return what should not be."""
    found = []
    plain = alone.statuses + beside.statuses
    if set(plain) != {200}:
        found.append(f"plain queries got {dict(plain)}")
    if beside.percentile(0.99) > 2 * alone.percentile(0.99):
        found.append("plain queries take more than twice as long beside hostile ones (p99)")
    if beside.hostile[0] or beside.hostile[500]:
        found.append(f"hostile queries got {dict(beside.hostile)}")
    quarter = max(1, len(beside.memory) // 4)
    first, last = max(beside.memory[:quarter]), min(beside.memory[-quarter:])
    if last > MOST_GROWTH * first:
        found.append(f"memory grew from {first:.0f} to {last:.0f} MB")
    return found


def main() -> None:
    """Print a table, and end with exit code 1 if something is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = os.environ.get("PORISM_BENCH_INDEX")
        alone, beside = measure(Path(given) if given else sample_index(folder), folder)
    print("| plain queries | sent | not answered | p50 | p95 | p99 | slowest | memory, first and last |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for title, one in (("alone", alone), (f"beside {HOSTILE_SHARE:.0%} hostile ones", beside)):
        wrong = one.statuses.total() - one.statuses[200]
        times = " | ".join(
            f"{value:.0f} ms" for value in [*map(one.percentile, (0.5, 0.95, 0.99)), 1000 * max(one.seconds)]
        )
        print(f"| {title} | {len(one.seconds)} | {wrong} | {times} | {one.memory[0]:.0f} and {one.memory[-1]:.0f} MB |")
    print(f"hostile queries by status: {dict(sorted(beside.hostile.items()))}")
    found = problems(alone, beside)
    for problem in found:
        print(f"problem: {problem}")
    if found:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
