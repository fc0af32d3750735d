"""Nodes of OpenSearch on 127.0.0.1, which can be killed and started again one by one.

python -m attack.cluster.nodes [--nodes 3] [--heap 512m] [--port 9300]      runs them until Ctrl-C
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attack.cluster.software import VERSION, Unavailable, java, opensearch

PORT = 9300
START_SECONDS = 600
USER = "nobody"  # OpenSearch refuses to run as root
SETTINGS = """cluster.name: porism-test
node.name: {name}
network.host: 127.0.0.1
http.port: {http}
transport.port: {transport}
discovery.seed_hosts: {seeds}
cluster.initial_cluster_manager_nodes: {managers}
path.data: {data}
path.logs: {logs}
path.repo: {snapshots}
cluster.routing.allocation.disk.threshold_enabled: false
cluster.routing.allocation.node_concurrent_recoveries: 8
"""
OPTIONS = """-Xms{heap}
-Xmx{heap}
-Djava.io.tmpdir=${{OPENSEARCH_TMPDIR}}
-javaagent:agent/opensearch-agent.jar
--add-opens=java.base/java.nio=org.apache.arrow.memory.core,ALL-UNNAMED
-Dorg.apache.lucene.store.MMapDirectory.sharedArenaMaxPermits=1
"""
# Short tests gain from a quick start, measurements from code that is compiled well.
QUICK = "-XX:+UseSerialGC\n-XX:TieredStopAtLevel=1\n"
MEASURED = "-XX:+UseG1GC\n-XX:G1ReservePercent=25\n-XX:InitiatingHeapOccupancyPercent=30\n"


class Node:
    """One node: a process, and a folder that outlives it."""

    def __init__(self, folder: Path, number: int, port: int) -> None:
        self.name = f"n{number + 1}"
        self.folder = folder / self.name
        self.http, self.transport = port + number, port + 50 + number
        self.process: subprocess.Popen[bytes] | None = None

    def write(self, settings: str, options: str, home: Path) -> None:
        """Write the configuration of the node."""
        for part in ("config", "data", "logs", "tmp"):
            (self.folder / part).mkdir(parents=True)
        (self.folder / "config" / "opensearch.yml").write_text(settings)
        (self.folder / "config" / "jvm.options").write_text(options)
        shutil.copy(home / "config" / "log4j2.properties", self.folder / "config")

    def start(self, home: Path, runtime: Path) -> None:
        """Start the process; it ends with this one."""
        account = pwd.getpwnam(USER) if os.geteuid() == 0 else None
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "OPENSEARCH_JAVA_HOME": str(runtime),
            "OPENSEARCH_PATH_CONF": str(self.folder / "config"),
            "OPENSEARCH_TMPDIR": str(self.folder / "tmp"),
        }
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen(
                [home / "bin" / "opensearch"],
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
                preexec_fn=_die_with_parent,
            )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, and wait for its end if that ends it."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            if number in (signal.SIGKILL, signal.SIGTERM):
                self.process.wait(60)

    @property
    def runs(self) -> bool:
        """Return whether the process lives."""
        return self.process is not None and self.process.poll() is None


class Nodes:
    """A cluster of several nodes on this machine."""

    def __init__(
        self,
        count: int = 3,
        heap: str = "512m",
        port: int = PORT,
        measured: bool = False,
        version: str = VERSION,
        folder: Path | None = None,
    ) -> None:
        self.home, self.runtime = opensearch(version), java()
        self.folder = Path(folder or tempfile.mkdtemp(prefix="porism-opensearch-"))
        first = _free_ports(count, port)
        self.nodes = [Node(self.folder, number, first) for number in range(count)]
        options = OPTIONS.format(heap=heap) + (MEASURED if measured else QUICK)
        if (self.runtime / "jmods").is_dir() and measured:
            options += "--add-modules=jdk.incubator.vector\n"
        (self.folder / "snapshots").mkdir(parents=True)
        for node in self.nodes:
            node.write(self._settings(node), options, self.home)
        _give_away(self.folder)

    def _settings(self, node: Node) -> str:
        return SETTINGS.format(
            name=node.name,
            http=node.http,
            transport=node.transport,
            seeds=json.dumps([f"127.0.0.1:{one.transport}" for one in self.nodes]),
            managers=json.dumps([one.name for one in self.nodes]),
            data=node.folder / "data",
            logs=node.folder / "logs",
            snapshots=self.folder / "snapshots",
        )

    @property
    def hosts(self) -> str:
        """The hosts, as in an address."""
        return ",".join(f"127.0.0.1:{node.http}" for node in self.nodes)

    def address(self, name: str) -> str:
        """Return the address of a collection."""
        return f"opensearch://{self.hosts}/{name}"

    def start(self) -> None:
        """Start all nodes and wait until they form a cluster."""
        for node in self.nodes:
            node.start(self.home, self.runtime)
        self.wait(len(self.nodes))

    def restart(self, number: int) -> None:
        """Start a node that was killed."""
        self.nodes[number].start(self.home, self.runtime)

    def kill(self, number: int) -> None:
        """Kill a node with -9."""
        self.nodes[number].signal(signal.SIGKILL)

    def manager(self) -> int:
        """Return the number of the elected manager."""
        found = self.get("/_cat/cluster_manager?format=json")[0]["node"]
        return next(at for at, node in enumerate(self.nodes) if node.name == found)

    def get(self, path: str, seconds: float = 10.0) -> Any:
        """Get something as JSON from the first node that answers."""
        failed: Exception | None = None
        for node in self.nodes:
            if node.runs:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{node.http}{path}", timeout=seconds) as answer:
                        return json.load(answer)
                except (OSError, ValueError) as error:
                    failed = error
        raise failed or ConnectionRefusedError("no node runs")

    def wait(self, count: int | None = None, status: str = "green", seconds: float = START_SECONDS) -> float:
        """Wait until this many nodes are there and all shards are; return the seconds."""
        began = time.monotonic()
        path = f"/_cluster/health?wait_for_status={status}&wait_for_nodes={count or len(self.nodes)}&timeout=5s"
        while True:
            # A node that has not joined yet answers 503, one that waits in vain 408.
            with contextlib.suppress(OSError, ValueError):
                if not self.get(path, 10.0)["timed_out"]:
                    return time.monotonic() - began
            dead = [node for node in self.nodes if node.process is not None and node.process.poll() is not None]
            if dead and count == len(self.nodes):
                raise Unavailable(f"node {dead[0].name} ended: {_tail(dead[0].folder / 'output')}")
            if time.monotonic() - began > seconds:
                raise Unavailable(
                    f"no {status} cluster of {count or len(self.nodes)} nodes within {seconds:.0f} seconds: {self.folder}"
                )
            time.sleep(0.3)

    def stop(self) -> None:
        """Stop all nodes and delete what they wrote."""
        for node in self.nodes:
            node.signal(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Nodes:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, however that ends."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _give_away(folder: Path) -> None:
    """Let the user who runs the nodes write there."""
    if os.geteuid():
        return
    account = pwd.getpwnam(USER)
    for place, _, files in os.walk(folder):
        for path in (place, *(os.path.join(place, file) for file in files)):
            os.chown(path, account.pw_uid, account.pw_gid)


def _free_ports(count: int, port: int) -> int:
    """Return the first port from which on this many nodes find theirs free, from this one on."""
    for first in range(port, port + 50, count):
        if all(_is_free(first + at) and _is_free(first + 50 + at) for at in range(count)):
            return first
    raise Unavailable(f"no free ports for {count} nodes from {port} on")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) != 0


def _tail(path: Path) -> str:
    lines = path.read_text("utf-8", "replace").strip().splitlines()
    return " | ".join(lines[-3:])


@contextlib.contextmanager
def cluster_hosts() -> Iterator[str]:
    """Yield hosts of a cluster: those of PORISM_OPENSEARCH, else of three nodes that run meanwhile."""
    given = os.environ.get("PORISM_OPENSEARCH", "")
    if given:
        yield given.removeprefix("opensearch://").partition("/")[0]
        return
    with Nodes() as nodes:
        yield nodes.hosts


def main() -> int:
    """Run a cluster until it is interrupted."""
    parser = argparse.ArgumentParser(description="Run a cluster of OpenSearch on 127.0.0.1 until Ctrl-C.")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--heap", default="512m")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--measured", action="store_true", help="with the compiler and collector of production")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with Nodes(options.nodes, options.heap, options.port, options.measured) as nodes:
            print(f"PORISM_OPENSEARCH={nodes.address('NAME').removesuffix('/NAME')}", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
    except Unavailable as error:
        print(f"no cluster: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
