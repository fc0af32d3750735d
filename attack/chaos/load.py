"""A mixed load: plain searches must be answered, right and soon, while others send expensive ones."""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path
from random import Random
from urllib.parse import quote

from attack.chaos.processes import get, hits, serving
from attack.chaos.servers import QUERIES
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import small_index

EXPENSIVE = (
    "⟪" * 40,
    r"\pmod{" * 40 + r"\displaystyle x",
    "$" + "M ?x ?x ?x ?x ?x ?y ?y" + "$",
    "$" + r"\frac{" * 90 + "$",
    "$" + "?x+" * 60 + "?y$",
    " ".join(f"x^{n}+y_{n}" for n in range(300)),
    '"' + "the a of " * 300 + '"',
    "$" + r"\left(" * 300 + "x$",
    "sum " * 1500,
    "<math>" * 2000,
)
SHARE = 0.05


class Caller(threading.Thread):
    """Sends searches, a share of them expensive, until a deadline."""

    def __init__(self, address: str, deadline: float, share: float, seed: str) -> None:
        super().__init__(daemon=True)
        self.address, self.deadline, self.share, self.rng = address, deadline, share, Random(seed)
        self.seconds: list[float] = []
        self.failed: list[str] = []
        self.expected = {query: hits(address, query) for query in QUERIES}

    def run(self) -> None:
        """Send one after another."""
        while time.monotonic() < self.deadline:
            if self.rng.random() < self.share:
                address = self.rng.choice(("/v1/search", "/v1/formulas", "/v1/formula"))
                status, _ = get(f"{self.address}{address}?q={quote(self.rng.choice(EXPENSIVE))}", 30)
                if status in (0, 500):
                    self.failed.append(f"an expensive query got {status or 'no answer'}")
                continue
            query = self.rng.choice(QUERIES)
            began = time.monotonic()
            found = hits(self.address, query, 30)
            self.seconds.append(time.monotonic() - began)
            if found != self.expected[query]:
                self.failed.append(f"{'no' if found is None else 'a wrong'} answer to {query}")


def percentile(seconds: list[float], share: float) -> float:
    """Return the time below which this share of the times is."""
    return statistics.quantiles(seconds, n=1000)[round(share * 1000) - 1]


def memory(pids: list[int]) -> int:
    """Return the bytes that processes hold themselves."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon"))
    return total


def press(address: str, seconds: float, share: float, seed: str) -> tuple[list[float], list[str]]:
    """Run four callers for some time; return the seconds of plain searches and what failed."""
    callers = [Caller(address, time.monotonic() + seconds, share, f"{seed}/{number}") for number in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return [one for caller in callers for one in caller.seconds], [one for caller in callers for one in caller.failed]


def mixed_load(stage: Stage, record: Record) -> None:
    """Compare plain searches alone with the same beside expensive ones."""
    seconds = 600.0 if stage.long else min(30.0, max(3.0, stage.tries * 0.6))
    with serving("serve", str(small_index(stage.folder)), "--port", "0", "--workers", "2") as server:
        press(server.address, 2.0, SHARE, "warm")
        plain, failed = press(server.address, seconds / 3, 0.0, "plain")
        before = memory(server.workers)
        mixed, more = press(server.address, seconds, SHARE, "mixed")
        after = memory(server.workers)
        alone, beside = percentile(plain, 0.99), percentile(mixed, 0.99)
        record.measure(max(mixed))
        record.notes.append(
            f"p99 of plain searches {1000 * alone:.0f} ms alone, {1000 * beside:.0f} ms beside {SHARE:.0%} expensive ones"
        )
        record.notes.append(f"memory {before / 2**20:.0f} MB before, {after / 2**20:.0f} MB after")
        with record.attempt("answers"):
            if failed or more:
                raise Lost((failed + more)[0])
        with record.attempt("latency"):
            if beside > max(2 * alone, 0.25):
                raise Lost(f"p99 {1000 * beside:.0f} ms, {1000 * alone:.0f} ms without expensive queries")
        with record.attempt("memory"):
            if after > before * 1.3 + 64 * 2**20:
                raise Lost(f"{before / 2**20:.0f} MB became {after / 2**20:.0f} MB")


KINDS = (Kind("mixed load", "plain searches are answered right, p99 at most twice as long, memory flat", mixed_load),)
