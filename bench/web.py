"""The server under load on the index of the slice: 8 connections for 30 seconds by wrk (a package of Debian), and its
memory before and after.

Each kind of request is measured twice: `new` sends no query twice, so that no cache helps; `again` repeats the same
hundred queries. PORISM_BENCH_INDEX names an index; without it the slice is built and indexed first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

from bench._data import SHARED
from bench._resources import ALL, memory, processes

CONNECTIONS, SECONDS = 8, int(os.environ.get("PORISM_BENCH_SECONDS", "30"))
SETTLE = 10  # seconds that the other processes need to start after the first one answers
# Each connection sends all requests in turn; at the end wrk prints the latencies in microseconds.
SCRIPT = """
local paths, at = {}, 0
for line in io.lines("%s") do paths[#paths + 1] = line end
request = function() at = at %% #paths + 1; return wrk.format("GET", paths[at]) end
done = function(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format("RESULT %%d %%d %%d %%f %%f %%f %%f\\n", summary.requests, summary.duration, bad,
    latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max))
end
"""
KINDS = {
    "formula search": "/v1/formulas?q={}&k=10",
    "answer search (titles)": "/v1/search?q={}&k=10",
    "search page": "/search?q={}",
}


def queries() -> dict[str, list[str]]:
    """Return the queries: formulas of Task 2 topics, titles of Task 1 topics."""
    from porism.corpus.topics.files import read_topics
    from porism.text.read import read_official

    folder = SHARED / "data/slice/topics"
    titles = [read_official(topic.title).plain() for topic in read_topics(folder / "task1-2021.xml")]
    return {
        "formula search": [f"${topic.latex}$" for topic in read_topics(folder / "task2-2021.xml")],
        "answer search (titles)": titles,
        "search page": titles,
    }


def processor_time(pid: int) -> float:
    """Return the processor milliseconds of the server's processes, on which other programs have little influence."""
    stats = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in processes(pid)]
    return sum(int(row[11]) + int(row[12]) for row in stats) * 1000 / os.sysconf("SC_CLK_TCK")


def build(folder: Path) -> Path:
    """Build and index the slice; return the index."""
    for command in (
        ["build", SHARED / "data/slice", "-o", folder / "slice"],
        ["index", folder / "slice", "-o", folder / "index"],
    ):
        subprocess.run(
            [sys.executable, "-m", "porism.cli", *map(str, command)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return folder / "index"


def load(url: str, folder: Path, template: str, texts: list[str], seconds: int = SECONDS) -> list[float]:
    """Run wrk; return requests, seconds, errors, p50, p95, p99 and max (milliseconds)."""
    paths, script = folder / "paths.txt", folder / "load.lua"
    paths.write_text("\n".join(template.format(quote(text[:1520])) for text in texts))
    script.write_text(SCRIPT % paths)
    command = [
        "wrk",
        "-t",
        "1",
        "-c",
        str(CONNECTIONS),
        "-d",
        f"{seconds}s",
        "--timeout",
        "20s",
        "-s",
        str(script),
        url,
    ]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    numbers = [float(word) for word in printed.split("RESULT ")[1].split()]
    return [numbers[0], numbers[1] / 1e6, numbers[2], *(number / 1000 for number in numbers[3:])]


HEAD = f"{'request':24s} {'queries':8s} {'per s':>7s} {'p50 ms':>8s} {'p95 ms':>8s} {'p99 ms':>8s} {'max ms':>8s} {'errors':>6s} {'work ms':>7s}"
ROUNDS = 60  # times that every query is sent as a new one, with another number appended


def measure(url: str, folder: Path, pid: int) -> None:
    """Load the server with each kind of request and print a row for each."""
    print(f"{HEAD} {'MB before':>9s} {'after':>6s}")
    for kind, template in KINDS.items():
        repeated = queries()[kind]
        different = [f"{text[:1500]} {number}" for number in range(ROUNDS) for text in repeated]
        load(
            url, folder, template, repeated[:5], 5
        )  # so that the first measurement starts after the first pages are loaded
        for name, texts in (("new", different), ("again", repeated)):
            before, done = memory(pid, ALL), processor_time(pid)
            requests, seconds, errors, *latencies = load(url, folder, template, texts)
            figures = " ".join(f"{value:8.1f}" for value in latencies)
            cost = (processor_time(pid) - done) / requests
            print(
                f"{kind:24s} {name:8s} {requests / seconds:7.1f} {figures} {errors:6.0f} {cost:7.1f} {before:9.0f} {memory(pid, ALL):6.0f}",
                flush=True,
            )


def main() -> None:
    """Start the server, put load on it, and print a table and the load of the machine."""
    if shutil.which("wrk") is None:
        print("wrk is not installed (Debian's package wrk); no load was measured")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = Path(os.environ["PORISM_BENCH_INDEX"]) if "PORISM_BENCH_INDEX" in os.environ else build(folder)
        port = 8199
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "porism.cli", "serve", str(index), "--port", str(port)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
            wait(url)
            time.sleep(SETTLE)
            print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
            measure(url, folder, server.pid)
            server.terminate()


def wait(url: str) -> None:
    """Wait until the server answers."""
    for _ in range(600):
        try:
            urllib.request.urlopen(url + "/v1/health", timeout=5).read()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")
