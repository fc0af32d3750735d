"""Requests to real nodes: complete answers, errors that say what to do, certificates and passwords."""

from __future__ import annotations

import base64
import json
import logging
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.cluster.nodes import Nodes
from attack.cluster.tls_proxy import TlsProxy, make_certificate

from porism.deadline import TimeLimitExceeded, time_limit
from porism.errors import PorismError, StoreUnavailable
from porism.store.opensearch import connection
from porism.store.opensearch.address import ClusterAddress
from porism.store.opensearch.connection import Cluster
from porism.store.opensearch.problems import Conflict, Missing, NoAnswer

INDEX = "trial-connection"
MAPPING = {
    "settings": {"number_of_shards": 2, "number_of_replicas": 1},
    "mappings": {"properties": {"n": {"type": "long"}, "data": {"type": "binary", "store": True}}},
}
PASSWORD = "correct horse 7%:/"


def open_cluster(hosts: str, scheme: str = "opensearch") -> Cluster:
    return Cluster(ClusterAddress.parse(f"{scheme}://{hosts}/trial"))


@pytest.fixture
def cluster(hosts: str) -> Iterator[Cluster]:
    """A cluster with an empty index."""
    found = open_cluster(hosts)
    found.request("DELETE", f"/{INDEX}", params={"ignore_unavailable": "true"})
    found.request("PUT", f"/{INDEX}", MAPPING, {"wait_for_active_shards": "all"})
    yield found
    found.request("DELETE", f"/{INDEX}")


def operation(number: int, data: bytes = b"\xff\x00", action: str = "index") -> bytes:
    document = {"n": number, "data": base64.b64encode(data).decode()}
    return json.dumps({action: {"_id": str(number)}}).encode() + b"\n" + json.dumps(document).encode() + b"\n"


def load(cluster: Cluster, count: int) -> None:
    cluster.bulk(INDEX, (operation(number) for number in range(count)))
    cluster.request("POST", f"/{INDEX}/_refresh")


def test_bulk_sends_blocks_and_says_how_far_it_is(cluster: Cluster) -> None:
    done: list[int] = []
    large = bytes(200_000)
    cluster.bulk(INDEX, (operation(number, large) for number in range(60)), done.append)
    cluster.request("POST", f"/{INDEX}/_refresh")
    assert len(done) > 2
    assert sum(done) == 60
    assert cluster.search(INDEX, {"size": 0})["hits"]["total"]["value"] == 60


def test_bulk_may_be_repeated(cluster: Cluster) -> None:
    load(cluster, 5)
    load(cluster, 5)
    deletion = b'{"delete": {"_id": "3"}}\n'
    cluster.bulk(INDEX, [deletion])
    cluster.bulk(INDEX, [deletion])
    cluster.request("POST", f"/{INDEX}/_refresh")
    assert cluster.search(INDEX, {"size": 0})["hits"]["total"]["value"] == 4


def test_bulk_names_the_operation_that_is_refused(cluster: Cluster) -> None:
    wrong = b'{"index": {"_id": "8"}}\n{"n": "many"}\n'
    with pytest.raises(PorismError, match=r"failed to parse field \[n\] of type \[long\] in document with id '8'"):
        cluster.bulk(INDEX, [operation(1), wrong])


def test_stored_fields_are_bytes(cluster: Cluster) -> None:
    load(cluster, 3)
    found = cluster.mget(INDEX, ["2", "none"], ["data"])
    assert found[0]["fields"]["data"] == [b"\xff\x00"]
    assert [one["found"] for one in found] == [True, False]
    body = {"query": {"terms": {"n": [0, 2]}}, "stored_fields": ["data"], "_source": False, "sort": ["n"]}
    hits = cluster.search(INDEX, body, only="hits.hits._id,hits.hits.fields")["hits"]["hits"]
    assert [(hit["_id"], hit["fields"]["data"]) for hit in hits] == [("0", [b"\xff\x00"]), ("2", [b"\xff\x00"])]


def test_several_searches_are_answered_in_order(cluster: Cluster) -> None:
    load(cluster, 4)
    answers = cluster.msearch([(INDEX, {"size": 9, "query": {"term": {"n": n}}}) for n in (3, 1, 7)])
    assert [[hit["_id"] for hit in answer["hits"]["hits"]] for answer in answers] == [["3"], ["1"], []]


def test_an_error_inside_a_good_answer_is_an_error(cluster: Cluster) -> None:
    good, wrong = {"size": 1}, {"query": {"nonsense": {}}}
    with pytest.raises(
        PorismError, match=r"refused a request to /_msearch with status 400: unknown query \[nonsense\]"
    ):
        cluster.msearch([(INDEX, good), (INDEX, wrong)])
    missing = r"the cluster has no collection trial: nosuch is missing"
    for call in (
        lambda: cluster.msearch([("nosuch", good)]),
        lambda: cluster.mget("nosuch", ["1"]),
        lambda: cluster.search("nosuch", good),
    ):
        with pytest.raises(Missing, match=missing) as error:
            call()
        assert error.value.fix.startswith("copy one there: porism store copy FOLDER opensearch://127.0.0.1:")


def test_somebody_was_first(cluster: Cluster) -> None:
    cluster.request("PUT", f"/{INDEX}/_create/1", {"n": 1})
    with pytest.raises(Conflict, match="somebody else has changed the collection"):
        cluster.request("PUT", f"/{INDEX}/_create/1", {"n": 1})


def test_a_full_disk_is_explained(cluster: Cluster) -> None:
    cluster.request("PUT", f"/{INDEX}/_settings", {"index.blocks.read_only_allow_delete": True})
    with pytest.raises(PorismError, match="the cluster allows no changes") as error:
        cluster.bulk(INDEX, [operation(1)])
    assert "free disk space" in error.value.fix


def test_snapshot_repositories_are_explained(cluster: Cluster) -> None:
    with pytest.raises(Missing, match="there is no snapshot repository"):
        cluster.request("GET", "/_snapshot/nosuch/_all")
    body = {"type": "fs", "settings": {"location": "/etc/porism"}}
    with pytest.raises(PorismError, match="the snapshot repository cannot be used") as error:
        cluster.request("PUT", "/_snapshot/nosuch", body)
    assert "path.repo of opensearch.yml" in error.value.fix


def test_a_red_index_is_explained_and_recovers(cluster: Cluster) -> None:
    name = "trial-red"
    settings = {"number_of_replicas": 0, "routing.allocation.include._name": "nobody"}
    cluster.request("PUT", f"/{name}", {"settings": settings}, {"wait_for_active_shards": "0"})
    try:
        for call in (
            lambda: cluster.search(name, {"size": 1}, 0.5),
            lambda: cluster.msearch([(name, {"size": 1})], 0.5),
        ):
            with pytest.raises(StoreUnavailable, match="parts of the collection are missing") as error:
                call()
            assert "start the nodes that are down" in error.value.fix
        change = {"index.routing.allocation.include._name": None}
        timer = threading.Timer(0.5, lambda: cluster.request("PUT", f"/{name}/_settings", change))
        timer.start()
        assert cluster.search(name, {"size": 1}, 30)["hits"]["hits"] == []
        timer.join()
    finally:
        cluster.request("DELETE", f"/{name}")


def test_the_time_limit_of_the_query_holds(cluster: Cluster) -> None:
    load(cluster, 1)
    with pytest.raises(TimeLimitExceeded), time_limit(0.0):
        cluster.search(INDEX, {"size": 1})
    for call in (
        lambda: cluster.search(INDEX, {"size": 1}, 1e-9),
        lambda: cluster.msearch([(INDEX, {"size": 1})], 1e-9),
        lambda: cluster.mget(INDEX, ["1"], seconds=1e-9),
    ):
        with pytest.raises(TimeLimitExceeded):
            call()


def test_an_old_version_is_refused(hosts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OLDEST", (99, 1))
    with pytest.raises(PorismError, match=r"runs OpenSearch \d+\.\d+\.\d+, which is too old") as error:
        open_cluster(hosts).request("GET", "/_cluster/health")
    assert error.value.fix == "use OpenSearch 99.1 or newer, or correct the address"


def test_a_node_without_tls_is_recognised(hosts: str) -> None:
    with pytest.raises(PorismError, match="do not speak TLS") as error:
        open_cluster(hosts, "opensearchs").request("GET", "/")
    assert error.value.fix.startswith("write opensearch:// if")


class TestPassword:
    @pytest.fixture(autouse=True)
    def proxy(self, hosts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsProxy]:
        if shutil.which("openssl") is None:
            pytest.skip("openssl, which makes the certificate, is not installed")
        self.certificate, key = make_certificate(tmp_path)
        monkeypatch.setenv("PORISM_OPENSEARCH_CA", str(self.certificate))
        monkeypatch.setenv("PORISM_OPENSEARCH_USER", "porism")
        monkeypatch.setenv("PORISM_OPENSEARCH_PASSWORD", PASSWORD)
        with TlsProxy(hosts.split(",")[0], "porism", PASSWORD, (self.certificate, key)) as proxy:
            self.hosts = f"127.0.0.1:{proxy.port}"
            yield proxy

    def test_the_right_one_opens(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        cluster = open_cluster(self.hosts, "opensearchs")
        assert cluster.request("GET", "/_cluster/health")["number_of_nodes"] >= 1
        shown = f"{cluster!r} {vars(cluster)} {caplog.text}"
        assert PASSWORD not in shown
        assert base64.b64encode(f"porism:{PASSWORD}".encode()).decode() not in shown

    def test_a_file_has_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "password"
        file.write_text(f"{PASSWORD}\n")
        file.chmod(0o600)
        monkeypatch.delenv("PORISM_OPENSEARCH_PASSWORD")
        monkeypatch.setenv("PORISM_OPENSEARCH_PASSWORD_FILE", str(file))
        assert open_cluster(self.hosts, "opensearchs").request("GET", "/")["tagline"]

    def test_a_wrong_one_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PORISM_OPENSEARCH_PASSWORD", "wrong-word")
        with pytest.raises(PorismError, match="the cluster refuses the user porism") as error:
            open_cluster(self.hosts, "opensearchs").request("GET", "/")
        assert "PORISM_OPENSEARCH_USER" in error.value.fix
        assert "wrong-word" not in str(error.value)

    def test_no_user_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PORISM_OPENSEARCH_USER")
        monkeypatch.delenv("PORISM_OPENSEARCH_PASSWORD")
        with pytest.raises(PorismError, match="the cluster refuses a client without a user"):
            open_cluster(self.hosts, "opensearchs").request("GET", "/")

    def test_a_certificate_of_nobody_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PORISM_OPENSEARCH_CA")
        with pytest.raises(PorismError, match="the certificate is not trusted: self-signed certificate") as error:
            open_cluster(self.hosts, "opensearchs").request("GET", "/")
        assert error.value.fix.startswith("set PORISM_OPENSEARCH_CA to the PEM file")

    def test_a_certificate_of_another_host_is_refused(self) -> None:
        hosts = self.hosts.replace("127.0.0.1", "localhost")
        with pytest.raises(PorismError, match="the certificate is for another host") as error:
            open_cluster(hosts, "opensearchs").request("GET", "/")
        assert error.value.fix == "write the host in the address as the certificate names it"

    def test_tls_is_asked_for(self) -> None:
        with pytest.raises(StoreUnavailable) as error:
            open_cluster(self.hosts).request("GET", "/")
        assert "write opensearchs:// if they have TLS" in error.value.fix


def test_nobody_answers() -> None:
    with pytest.raises(StoreUnavailable, match="no node of the cluster accepts connections") as error:
        open_cluster("127.0.0.1:1,127.0.0.1:2").request("GET", "/")
    assert error.value.fix.startswith("start its nodes, or correct hosts and ports")


def test_a_host_without_a_name_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreUnavailable, match="the name of a host is unknown"):
        open_cluster("nosuch.invalid", "opensearchs").request("GET", "/")


def test_a_killed_node_is_not_noticed(nodes: Nodes) -> None:
    """All requests before, during and after the kill of the manager are answered, and changes that were acknowledged
    are there."""
    cluster = open_cluster(nodes.hosts)
    cluster.request("PUT", "/trial-kill", MAPPING, {"wait_for_active_shards": "all"})
    written: list[int] = []
    errors: list[Exception] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            try:
                cluster.bulk("trial-kill", [operation(number)])
                written.append(number)
                found = cluster.msearch([("trial-kill", {"size": 0, "track_total_hits": True})] * 2, 30)
                assert len(found) == 2
            except Exception as error:
                errors.append(error)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    victim = nodes.manager()
    wait_for(lambda: len(written) > 3)
    nodes.kill(victim)
    after = len(written)
    wait_for(lambda: len(written) > after + 5)
    nodes.restart(victim)
    nodes.wait()
    stop.set()
    writer.join()
    cluster.request("POST", "/trial-kill/_refresh")
    try:
        assert errors == []
        found = cluster.mget("trial-kill", [str(number) for number in written], ["data"])
        assert all(one["found"] for one in found)
    finally:
        cluster.request("DELETE", "/trial-kill")


def test_nodes_that_hang_are_reported(nodes: Nodes) -> None:
    """One hanging node is passed over; if all hang, the error says so within the limit, and the next request after it
    is answered."""
    import signal

    cluster = open_cluster(nodes.hosts)
    cluster.request("GET", "/")
    for node in nodes.nodes:
        node.signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(NoAnswer, match=r"no node of the cluster answered within 2\.0 seconds"):
            cluster.search("_all", {"size": 0}, 2.0)
        assert time.monotonic() - began < 30
    finally:
        for node in nodes.nodes:
            node.signal(signal.SIGCONT)
    nodes.wait()
    assert cluster.search("_all", {"size": 0}, 60)["_shards"]["failed"] == 0


def wait_for(condition: object, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)
