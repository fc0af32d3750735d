"""Logs that cannot be forged, metrics of all processes, slow queries, pages for the operator."""

from __future__ import annotations

import io
import json
import logging
import multiprocessing
import os
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from server_processes import Server, running, until
from starlette.testclient import TestClient

import porism
from porism.cli import main
from porism.web.http.middleware import FORMATTERS, LogFormat, log_request
from porism.web.http.workers import bind
from porism.web.server.app import create_app
from porism.web.server.metrics import BUCKETS, MOST_ROUTES, OTHER, Counters, SharedCounters, exposition
from porism.web.server.observer import Observer, Operations, observe
from porism.web.site.settings import RequestLimits, SiteSettings


def samples(text: str) -> dict[tuple[str, str], float]:
    """Read metrics with Prometheus' own parser: values by name and by the labels but `le`."""
    return {
        (sample.name, " ".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@contextmanager
def logged(log_format: LogFormat) -> Iterator[io.StringIO]:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(FORMATTERS[log_format]())
    logger = logging.getLogger("porism.web")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield out
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize(
    "text", ["a\n2026-01-01 forged", "a\r\nb", "a\u2028b\x85c\x0bd", '","level":"error', "\x1b[2J"]
)
def test_no_path_forges_a_line(log_format: LogFormat, text: str) -> None:
    with logged(log_format) as out:
        log_request("abc", "GET", f"/{text}", 200, 0.0123)
    (line,) = out.getvalue().splitlines()
    assert "\x1b" not in line
    if log_format == "json":
        record = json.loads(line)
        assert (record["level"], record["status"], record["milliseconds"]) == ("info", 200, 12.3)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_traceback_cannot_be_taken_for_a_line(log_format: LogFormat) -> None:
    with logged(log_format) as out:
        try:
            raise ValueError("x\n2026-01-01 forged")
        except ValueError:
            logging.getLogger("porism.web").exception("failed")
    first, *others = out.getvalue().splitlines()
    assert "failed" in first
    assert all(line.startswith("    ") for line in others)
    assert bool(others) == (log_format == "text")
    if log_format == "json":
        assert "ValueError" in json.loads(first)["traceback"]


def count_in_another_process(counters: Counters, worker: int) -> None:
    counters.claim(worker)
    for _ in range(1000):
        counters.observe("/search", 200, 0.03)
        counters.add("response_cache_hits")


def test_sums_over_processes_are_right_and_survive_their_end() -> None:
    counters = Counters(SharedCounters(3), ["/search", "/"])
    fork = multiprocessing.get_context("fork")
    for workers in ((0, 1, 2), (1, 2)):
        processes = [fork.Process(target=count_in_another_process, args=(counters, worker)) for worker in workers]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    times = counters.times("/search")
    assert times.requests == counters.total("response_cache_hits") == 5000
    assert times.seconds == pytest.approx(150)
    assert times.buckets == tuple(5000 if end >= 0.05 else 0 for end in BUCKETS)
    assert times.statuses == {"200": 5000}


def test_routes_are_a_closed_set() -> None:
    counters = Counters(SharedCounters(1), [f"/{number}" for number in range(1000)])
    assert len(counters.routes) == MOST_ROUTES
    counters.observe("/a path that a user typed", 777, 99.0)
    assert counters.times(OTHER).requests == 1
    assert counters.times(OTHER).statuses == {OTHER: 1}
    assert "typed" not in exposition(counters, "1")


class Observed:
    """A client of an observed application, on this machine and elsewhere."""

    def __init__(self, index: Path, settings: Operations) -> None:
        app = create_app(
            porism.open(index), SiteSettings(limits=RequestLimits(seconds=60)), hosts=["localhost", "example.org"]
        )
        self.observer: Observer = observe(app, replace(settings, port=8101), SharedCounters(1))
        self.observer.counters.claim(0)
        self.local = TestClient(app, "http://localhost:8101", client=("127.0.0.1", 5000))
        self.proxied = TestClient(app, "http://localhost:8100", client=("127.0.0.1", 5000))
        self.remote = TestClient(app, "http://localhost:8101", client=("192.0.2.7", 5000))

    def metrics(self) -> dict[tuple[str, str], float]:
        answer = self.local.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return samples(answer.text)


def test_metrics_count_requests_caches_and_the_index(demo: Path) -> None:
    observed = Observed(demo / "index", Operations(metrics=True))
    for query in ("pythagoras", "pythagoras", "secret'\"\\ query"):
        assert observed.local.get("/v1/search", params={"q": query}).status_code == 200
    assert observed.local.get("/secret-path").status_code == 404
    assert observed.local.get("/v1/posts/999999999").status_code == 404
    found = observed.metrics()
    assert found["porism_requests_total", "route=/v1/search status=200"] == 3
    assert found["porism_requests_total", "route=other status=404"] == 1
    assert found["porism_requests_total", "route=/v1/posts/{id} status=404"] == 1
    assert found["porism_request_duration_seconds_count", "route=/v1/search"] == 3
    assert found["porism_request_duration_seconds_bucket", "le=+Inf route=/v1/search"] == 3
    assert found["porism_response_cache_hits_total", ""] == 1
    assert found["porism_response_cache_misses_total", ""] == 2
    assert found["porism_query_cache_misses_total", ""] >= 2
    assert found["porism_index_segments", ""] == 1
    assert found["porism_index_posts", ""] == 604
    assert found["porism_index_age_seconds", ""] > 0
    assert found["porism_worker_resident_memory_bytes", "worker=0"] > 10**7
    assert found["porism_requests_in_progress", ""] == 1  # this one
    assert not any("secret" in labels for _, labels in found)


def test_health_and_readiness(demo: Path) -> None:
    observed = Observed(demo / "index", Operations())
    assert observed.remote.get("/health").json() == {"status": "ok"}
    assert observed.remote.get("/ready").json()["ready"]


def test_only_this_machine_gets_metrics(demo: Path) -> None:
    observed = Observed(demo / "index", Operations(metrics=True))
    assert observed.local.get("/metrics").status_code == 200
    assert observed.remote.get("/metrics").status_code == 404
    assert observed.local.get("/metrics", headers={"host": "example.org"}).status_code == 404
    # A proxy on this machine looks like this machine, whatever headers it adds or leaves out. It reaches the port of
    # the site only.
    for header in ({}, {"x-client-ip": "192.0.2.7"}, {"true-client-ip": "192.0.2.7"}, {"forwarded": "for=192.0.2.7"}):
        assert observed.proxied.get("/metrics", headers=header).status_code == 404
    opened = Observed(demo / "index", Operations(metrics=True, open_pages=True))
    assert opened.remote.get("/metrics").status_code == 200
    assert opened.proxied.get("/metrics").status_code == 200
    assert Observed(demo / "index", Operations()).local.get("/metrics").status_code == 404


@pytest.mark.parametrize("with_text", [False, True])
def test_a_slow_query_is_logged_without_its_text(demo: Path, with_text: bool) -> None:
    observed = Observed(demo / "index", Operations(metrics=True, slow_ms=1e-6, slow_text=with_text))
    with logged("json") as out:
        answer = observed.local.get("/v1/search", params={"q": "private\nwords"}, headers={"x-request-id": "mine-1"})
        observed.local.get("/v1/health")
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    (slow,) = [record for record in records if record.get("event") == "slow_query"]
    assert answer.headers["x-request-id"] == slow["request_id"] == "mine-1"
    assert (slow["route"], slow["status"], slow["query_characters"]) == ("/v1/search", 200, 13)
    assert ("private" in out.getvalue()) == with_text
    assert slow.get("query", "") == ("private\\nwords" if with_text else "")
    assert observed.metrics()["porism_slow_queries_total", ""] == 1


def test_fast_queries_are_not_slow(demo: Path) -> None:
    observed = Observed(demo / "index", Operations(slow_ms=1e9))
    with logged("json") as out:
        observed.local.get("/v1/search", params={"q": "words"})
    assert "slow" not in out.getvalue()


def test_metrics_of_several_workers_and_their_restarts(demo: Path, tmp_path: Path) -> None:
    options = ("--workers", "2", "--metrics", "--log-format", "json")
    with running(tmp_path / "log", "serve", str(demo / "index"), *options) as server:
        until(lambda: len(server.workers()) == 2)
        for _ in range(20):
            assert server.answers()
        # A response is counted a moment after it was sent.
        until(lambda: metric(server, "porism_requests_total", "route=/v1/health status=200") == 20)
        os.kill(min(server.workers()), signal.SIGKILL)
        until(lambda: metric(server, "porism_workers") == 2 and metric(server, "porism_worker_restarts_total") == 1)
        assert metric(server, "porism_requests_total", "route=/v1/health status=200") == 20
        with pytest.raises(urllib.error.HTTPError, match="404"):  # on the port of the site, which a proxy reaches
            server.get("metrics")
        records = [json.loads(line) for line in server.log.read_text().splitlines()]
        assert [record["address"] for record in records if record.get("event") == "serving"] == [server.address]
        assert sum(record.get("path") == "/v1/health" for record in records) == 20
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0


def operator_address(server: Server) -> str:
    found = re.search(r'"event": "operator", "address": "([^"]+)"', server.log.read_text())
    assert found
    return found[1]


def metric(server: Server, name: str, labels: str = "") -> float:
    own = server._replace(address=operator_address(server))
    return samples(own.get("metrics").decode()).get((name, labels), -1)


def test_a_port_of_the_operator_that_is_taken_is_reported(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bind("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(demo / "index"), "--port", "0", "--metrics", "--operator-port", port]) == 1
    told = capsys.readouterr().err
    assert f"127.0.0.1:{port}: cannot listen" in told
    assert "fix: choose another port for the pages of the operator with --operator-port" in told
