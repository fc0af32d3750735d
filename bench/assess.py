"""Assessment under load: 20 assessors save 50 judgments each at the same time. Measures how long a save and the next
item take.

`python -m bench assess` builds the sample collection, starts the real server and drives it over HTTP.
"""

from __future__ import annotations

import html
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import httpx

from porism.parallel import cores

ASSESSORS, JUDGMENTS = 20, 50
PASSWORD = "a long bench password"
TOPIC = "A.1"
SAMPLE = Path(__file__).resolve().parents[1] / "sample"


@dataclass
class Load:
    """A journal with items for every assessor, and the address of its server."""

    journal: Path
    collection: Path
    port: int
    assessors: int = ASSESSORS
    judgments: int = JUDGMENTS

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server as a user would, and wait until it answers."""
        command = [
            sys.executable,
            "-m",
            "porism.cli",
            "lab",
            "assess",
            "serve",
            str(self.journal),
            "--collection",
            str(self.collection),
            "--port",
            str(self.port),
        ]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                httpx.get(self.url + "/login")
                return server
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError("the server did not start")


@dataclass
class Times:
    """Seconds of every save and of every next item, and the number of retries."""

    saves: list[float] = field(default_factory=list)
    items: list[float] = field(default_factory=list)
    retries: int = 0


def prepare(folder: Path, collection: Path, assessors: int = ASSESSORS, judgments: int = JUDGMENTS) -> Load:
    """Make a journal in which every assessor has the same answers of the collection to judge."""
    from porism.corpus.topics.files import read_topics
    from porism.lab.judging.assignments import Duty, assign_items
    from porism.lab.judging.items import load_pool, load_topics, opaque_key
    from porism.lab.judging.journal import Journal
    from porism.lab.judging.people import add_account
    from porism.lab.pooling.pool import PoolItem
    from porism.store import open_content

    journal = Journal.create(folder / "load.journal")
    load_topics(journal, 1, read_topics(SAMPLE / "topics" / "task1.xml"))
    posts = [str(post.id) for post in islice(open_content(collection).posts("answer"), judgments)]
    load_pool(journal, 1, [PoolItem(TOPIC, post) for post in posts])
    keys = [opaque_key(1, TOPIC, post) for post in posts]
    for number in range(assessors):
        add_account(journal, f"a{number}", "assessor", PASSWORD)
        assign_items(journal, Duty(f"a{number}", 1, TOPIC, "dual"), keys)
    journal.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    return Load(folder / "load.journal", collection, port, assessors, judgments)


def retry(times: Times, call: Callable[[], httpx.Response]) -> httpx.Response:
    """Repeat a request until it is answered, as a person would: the server may be down for a while."""
    while True:
        try:
            answer = call()
            if answer.status_code < 500:
                return answer
        except httpx.TransportError:
            pass
        times.retries += 1
        time.sleep(0.1)


def hidden_fields(page: str) -> dict[str, str]:
    """Return the hidden fields of the judging form, or of the only form."""
    form = page[page.index('id="judging"') :] if 'id="judging"' in page else page
    return {
        name: html.unescape(value)
        for name, value in re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
    }


def grade_of(assessor: int, place: int) -> int:
    """Return the grade that this assessor gives to this item. It is fixed, so that a lost or mixed-up judgment is
    noticed."""
    return (assessor * 7 + place * 3) % 4


def log_in(http: httpx.Client, name: str, times: Times) -> None:
    """Send the form of the login page, again while too many others log in."""
    page = retry(times, partial(http.get, "/login"))
    while page.status_code in (200, 429):
        data = {**hidden_fields(page.text), "name": name, "password": PASSWORD}
        page = retry(times, partial(http.post, "/login", data=data))
    assert page.status_code == 303, page.text


def judge_all(load: Load, assessor: int, times: Times, ready: threading.Barrier) -> None:
    """Log in, then judge every item: load it, save it, follow to the next one."""
    with httpx.Client(base_url=load.url, timeout=60) as http:
        log_in(http, f"a{assessor}", times)
        job = assessor + 1
        ready.wait()
        for place in range(1, load.judgments + 1):
            start = time.perf_counter()
            page = retry(times, partial(http.get, f"/judge/{job}/{place}"))
            times.items.append(time.perf_counter() - start)
            form = {
                **hidden_fields(page.text),
                "grade_1": str(grade_of(assessor, place)),
                "comment_1": f"comment of {assessor}",
                "go": "next",
            }
            start = time.perf_counter()
            answer = retry(times, partial(http.post, f"/judge/{job}/{place}", data=form))
            times.saves.append(time.perf_counter() - start)
            assert answer.status_code == 303, answer.text


def drive(load: Load, during: Callable[[Times], None] = lambda times: None) -> tuple[Times, float]:
    """Run all assessors at the same time, and `during` beside them; return the times and the seconds of the whole."""
    times = Times()
    ready = threading.Barrier(load.assessors + 1)
    threads = [threading.Thread(target=judge_all, args=(load, n, times, ready)) for n in range(load.assessors)]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    during(times)
    for thread in threads:
        thread.join()
    return times, time.perf_counter() - start


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values is."""
    return statistics.quantiles(values, n=100)[round(share * 100) - 1]


def main() -> None:
    """Print a table."""
    from porism.corpus.build.pipeline import build
    from porism.corpus.sources.detect import open_source

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load = prepare(folder, build([open_source(SAMPLE / "dump")], folder / "collection", jobs=1))
        server = load.start()
        try:
            times, seconds = drive(load)
        finally:
            server.terminate()
            server.wait()
    print(
        f"{load.assessors} assessors x {load.judgments} judgments at once, {cores()} cores, every save on the disk before it is confirmed"
    )
    print("what\tcount\tmean ms\tmedian ms\tp95 ms\tmax ms")
    for what, values in (("save", times.saves), ("next item", times.items)):
        row = [statistics.fmean(values), statistics.median(values), percentile(values, 0.95), max(values)]
        print(f"{what}\t{len(values)}\t" + "\t".join(f"{value * 1000:.1f}" for value in row))
    print(
        f"{(len(times.saves) + len(times.items)) / seconds:.0f} requests/s, {len(times.saves) / seconds:.0f} judgments/s"
    )


if __name__ == "__main__":
    main()
