"""Long trials of a collection in a cluster: killed and stopped nodes under load, killed loads, alias swaps, rollback,
snapshots.

    python -m attack.cluster.trials INDEX [--kills 10] [--managers 5] [--stops 5] [--swaps 20]

It prints a table; its exit code is 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import http.client
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from attack.cluster.load import Readers, Writer, answer, percentile
from attack.cluster.nodes import Nodes
from porism.corpus.update.changes import Changes
from porism.search.engine import Engine
from porism.store.embedded.manifest import SEARCH, read_manifest
from porism.store.embedded.store import EmbeddedStore
from porism.store.maintenance import copy_store, rollback, snapshot_repository, verify_copy
from porism.store.opensearch import open_cluster
from porism.store.opensearch.store import ClusterStore

QUERIES = (
    "proof that $\\sqrt{2}$ is irrational",
    "sum of the first $n$ squares",
    "why does the quadratic formula work $ax^2+bx+c=0$",
    "derivative of a product $(fg)'$",
    "geometric series $\\sum_{k=0}^n q^k$",
    "what is a prime number",
    "$a^2+b^2=c^2$",
    "binomial coefficient identity",
    "limit of $(1+1/n)^n$",
    "modular inverse",
)
NAME = "trial"
TITLES = 50  # of questions of the index, which are queries, too
REPLACED = 200  # questions of the collection that the writer replaces in turn
OUTAGE = 60.0


class Trials:
    """The trials on one cluster, with an index and the answers of the embedded store as what is expected."""

    def __init__(self, nodes: Nodes, index: Path, expected: dict[str, list[int]]) -> None:
        self.nodes, self.index, self.expected = nodes, index, expected
        self.address = nodes.address(NAME)
        self.lost = False

    def row(self, what: str, result: str, failed: bool = False) -> None:
        """Record a result, and print it as a row."""
        self.lost |= failed
        print(f"| {what} | {result} |", flush=True)

    def copy(self, times: int) -> None:
        """Copy the index and compare everything."""
        began = time.monotonic()
        copy_store(self.index, self.address, shards=len(self.nodes.nodes))
        seconds = time.monotonic() - began
        found = verify_copy(self.address, self.index)
        wrong = self._wrong(self.address)
        self.nodes.wait()
        result = f"{seconds:.0f} s, differences: {len(found)}, answers that differ: {wrong} of {len(self.expected)}"
        self.row("copy, then compared with its source", result, bool(found) or wrong > 0)

    def _under_load(self, what: str, times: int, harm: Callable[[], float]) -> None:
        """Let eight readers search a generation that does not change, half of them without a cache, while a writer
        commits changes of the same collection; then compare the newest generation with an embedded index that has the
        same changes."""
        address = self.nodes.address(f"{NAME}-{what.split()[0]}")
        copy_store(self.index, address, shards=len(self.nodes.nodes))
        self.nodes.wait()
        warm, cold = ClusterStore.open(address), ClusterStore.open(address)
        engines = [Engine(store.snapshot(), store=store) for store in (warm, cold)]

        def engine(reader: int) -> Engine:
            if reader % 2:
                cold.forget()
            return engines[reader % 2]

        own = list(engines[0].content.question_ids())[:: max(1, engines[0].snapshot.info.counts["thread"] // REPLACED)]
        green: list[float] = []
        with Readers(engine, self.expected) as readers, Writer(ClusterStore.open(address), own) as writer:
            time.sleep(3)
            for _ in range(times):
                green.append(harm())
            time.sleep(3)
        lost, wrong = writer.lost(), self._wrong_after(writer.changes, address)
        for line in [*readers.failures[:3], *readers.wrong[:3], *writer.failures[:3], *lost[:3]]:
            print(line, file=sys.stderr)
        result = (
            f"{times} times: {len(readers.seconds):,} searches, {len(readers.failures)} failed, "
            f"{len(readers.wrong)} differed, "
            f"median {percentile(readers.seconds, 0.5):.2f} s, worst {max(readers.seconds, default=0):.1f} s; "
            f"{len(writer.seconds):,} commits acknowledged (median {percentile(writer.seconds, 0.5):.1f} s, worst "
            f"{max(writer.seconds, default=0):.1f} s), {len(writer.failures)} refused, {len(lost)} changes lost, "
            f"{wrong} of {len(self.expected)} answers differ afterwards from those of an embedded index with the same "
            "changes; "
            f"green again after {percentile(green, 0.5):.0f} s (median)"
        )
        self.row(what, result, bool(readers.failures or readers.wrong or writer.failures or lost or wrong))
        warm.place.remove(warm.place.current() or 0)

    def _wrong_after(self, changes: Changes, address: str) -> int:
        """Return how many answers are not those of an embedded index with the same changes."""
        with TemporaryDirectory(prefix="porism-trials-") as work:
            collection = self.index / str(read_manifest(self.index, SEARCH).options["collection"])
            shutil.copytree(collection.resolve(), Path(work) / collection.name)
            shutil.copytree(self.index, Path(work) / "index")
            store = EmbeddedStore(Path(work) / "index")
            with store.writer() as writer:
                writer.put(changes.posts.values())
                writer.delete(changes.deleted_posts)
                writer.commit()
            one, other = Engine(store.snapshot(), store=store), Engine.open(address)
            wrong = 0
            for query in self.expected:
                pages = [[(hit.id, hit.score) for hit in engine.search(query).hits] for engine in (one, other)]
                if [hit[0] for hit in pages[0]] != [hit[0] for hit in pages[1]]:
                    wrong += 1
                    print(f"{query}: {pages[0]}, in the cluster {pages[1]}", file=sys.stderr)
            return wrong

    def kills(self, times: int) -> None:
        """Kill a node that is not the manager, each time as soon as the cluster is green."""
        turn = iter(range(times * 3))

        def harm() -> float:
            manager = self.nodes.manager()
            others = [number for number in range(len(self.nodes.nodes)) if number != manager]
            return self._kill(others[next(turn) % len(others)])

        self._under_load("data node killed with -9", times, harm)

    def managers(self, times: int) -> None:
        """Kill the elected manager."""
        self._under_load("manager (elected) killed with -9", times, lambda: self._kill(self.nodes.manager()))

    def _kill(self, number: int) -> float:
        self.nodes.kill(number)
        time.sleep(3)
        self.nodes.restart(number)
        return self.nodes.wait()

    def stops(self, times: int) -> None:
        """Kill all nodes for a minute under a server and a writer: pages are clean 503, both recover by themselves, and
        what was acknowledged is there."""
        port = 9390
        command = [sys.executable, "-m", "porism.cli", "serve", self.address, "--port", str(port), "--workers", "1"]
        server = subprocess.Popen([*command, "--operator-port", "0"], stderr=subprocess.DEVNULL)
        store = open_cluster(self.address)
        own = list(store.snapshot().content.question_ids())[:REPLACED]
        recovered, wrong = [], []
        try:
            wait_for(lambda: status(port, "/ready")[0] == 200, 300)
            with Writer(store, own) as writer:
                for _ in range(times):
                    wrong += self._outage(port)
                    began = time.monotonic()
                    wait_for(lambda: status(port, "/ready")[0] == 200, 120)
                    wait_for(lambda: status(port, f"/search?q=recovered+{time.monotonic_ns()}")[0] == 200, 120)
                    recovered.append(time.monotonic() - began)
        finally:
            server.terminate()
            server.wait(60)
        lost = writer.lost()
        print(*wrong[:3], *lost[:3], sep="\n", file=sys.stderr)
        result = (
            f"{times} times: other answers than 503 with Retry-After: {len(wrong)}; after green the server answers "
            f"within {max(recovered, default=0):.1f} s; {len(writer.seconds):,} commits acknowledged, "
            f"{len(writer.failures)} refused, {len(lost)} changes lost"
        )
        self.row("all nodes killed for a minute, seen from the page", result, bool(wrong or lost))

    def _outage(self, port: int) -> list[tuple[int, str]]:
        """Kill all nodes for a minute; return the answers of pages that are not those of an outage."""
        for number in range(len(self.nodes.nodes)):
            self.nodes.kill(number)
        end = time.monotonic() + OUTAGE
        wait_for(lambda: status(port, "/ready")[0] == 503, 60)
        seen = set()
        while time.monotonic() < end:
            seen.add(status(port, f"/search?q=outage+{time.monotonic_ns()}"))
            time.sleep(1)
        for number in range(len(self.nodes.nodes)):
            self.nodes.restart(number)
        self.nodes.wait()
        return [one for one in seen if one != (503, "5")]

    def loads(self, times: int) -> None:
        """Kill a load twice, begin it again, and compare the result."""
        address = self.nodes.address(f"{NAME}2")
        command = [sys.executable, "-m", "porism.cli", "store", "copy", str(self.index), address, "--quiet"]
        place = open_cluster(address).place
        killed = []
        for stage in ("threads", "formulas")[:times]:
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            while process.poll() is None and stage not in marks(place):
                time.sleep(0.2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed.append(sorted(marks(place)))
            time.sleep(31)  # the lease of the killed process ends
        subprocess.run(command, check=True)
        found = verify_copy(address, self.index)
        self.row(
            f"a load killed {len(killed)} times and begun again",
            f"finished before the kills: {killed}; differences at the end: {len(found)}",
            bool(found),
        )
        place.remove(place.current() or 0)

    def swaps(self, times: int) -> None:
        """Let the aliases name another build again and again, while readers follow."""
        copy_store(self.index, self.address)
        place = open_cluster(self.address).place
        builds = place.builds()[-2:]
        current = [Engine.open(self.address)]
        seconds = []
        with Readers(lambda reader: current[0], self.expected) as readers:
            for number in range(times):
                began = time.monotonic()
                place.show(builds[number % 2])
                seconds.append(time.monotonic() - began)
                current[0] = Engine.open(self.address)
                time.sleep(1)
        for line in [*readers.failures[:3], *readers.wrong[:3]]:
            print(line, file=sys.stderr)
        self.row(
            f"{times} alias swaps under eight readers",
            f"{len(readers.seconds):,} searches, {len(readers.failures)} failed, {len(readers.wrong)} differed; "
            f"worst swap {max(seconds):.1f} s",
            bool(readers.failures or readers.wrong),
        )
        place.show(builds[1])
        back = rollback(self.address)
        wrong = self._wrong(self.address)
        self.row(
            "rollback", f"build {builds[1]} to {back}, answers that differ: {wrong}", back != builds[0] or wrong > 0
        )

    def snapshots(self, times: int) -> None:
        """Take snapshots, and restore one under another name."""
        cluster = open_cluster(self.address).place.cluster
        body = {"type": "fs", "settings": {"location": str(self.nodes.folder / "snapshots" / "trials")}}
        cluster.request("PUT", "/_snapshot/trials", body)
        repository = snapshot_repository(self.address, "trials")
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            taken = repository.take()
            seconds.append(time.monotonic() - began)
            time.sleep(1)
        began = time.monotonic()
        other = self.nodes.address(f"{NAME}3")
        snapshot_repository(other, "trials").restore(taken.name)
        restored = time.monotonic() - began
        found = verify_copy(other, self.index)
        result = (
            f"{seconds[0]:.1f} s, again without changes {seconds[1]:.1f} s, restored under another name {restored:.1f} s; "
            f"differences: {len(found)}"
        )
        self.row("snapshot and restore", result, bool(found))

    def _wrong(self, address: str) -> int:
        engine = Engine.open(address)
        return sum(answer(engine, query) != ids for query, ids in self.expected.items())


def marks(place: object) -> set[str]:
    """Return the stages of a load that has begun."""
    try:
        stored = place.get_state("load")  # type: ignore[attr-defined]
    except Exception:
        return set()
    return set(stored.value.get("marks", {})) if stored else set()


def status(port: int, path: str) -> tuple[int, str]:
    """Return status and Retry-After of a page; 0 without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=40)
    try:
        connection.request("GET", path)
        found = connection.getresponse()
        found.read()
        return found.status, found.headers.get("retry-after", "")
    except OSError:
        return 0, ""
    finally:
        connection.close()


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it takes too long")
        time.sleep(0.2)


def main() -> int:
    """Run the trials."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("index", type=Path, metavar="INDEX", help="an index in a folder")
    counts = {"copy": 1, "kills": 10, "managers": 5, "stops": 5, "loads": 2, "swaps": 20, "snapshots": 1}
    for name, count in counts.items():
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N", help="how often (default: %(default)s)")
    parser.add_argument("--heap", default="1g", help="of each node (default: %(default)s)")
    parser.add_argument("--port", type=int, default=9320, help="the first port (default: %(default)s)")
    options = parser.parse_args()
    embedded = Engine.open(options.index)
    posts = list(embedded.content.posts("question"))
    titles = [post.title.plain() for post in posts[:: max(1, len(posts) // TITLES)]]
    expected = {query: answer(embedded, query) for query in (*QUERIES, *titles)}
    with Nodes(heap=options.heap, port=options.port) as nodes:
        trials = Trials(nodes, options.index, expected)
        print("| trial | result |\n|---|---|")
        for name in ("kills", "managers", "copy", "snapshots", "swaps", "loads", "stops"):
            times = getattr(options, name)
            if times:
                try:
                    getattr(trials, name)(times)
                except Exception as error:
                    trials.row(name, f"ended early: {type(error).__name__}: {error}".replace("\n", " "), True)
    return 1 if trials.lost else 0


if __name__ == "__main__":
    sys.exit(main())
