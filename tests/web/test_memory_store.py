"""What is above a store runs on one in memory: the web application, a named system, and the tools for assistants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

import porism
from porism.corpus.topics.files import read_topics
from porism.search.conformance import check_retriever
from porism.search.engine import Engine
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import shipped
from porism.systems.declared.pipeline import build_declared
from porism.systems.topic_queries import topic_query
from porism.web.server.app import create_app
from porism.web.site.settings import RequestLimits, SiteSettings
from store.stores import SAMPLE, sample_in_memory

QUERY = "proof that $\\sqrt{2}$ is irrational"
PATIENT = SiteSettings(limits=RequestLimits(seconds=600))


@pytest.fixture(scope="module")
def memory() -> Engine:
    store = sample_in_memory()
    return Engine(store.snapshot(), store=store)


def test_the_web_application_serves_a_store_in_memory(memory: Engine) -> None:
    with TestClient(create_app(memory, PATIENT, hosts=["*"]), base_url="http://127.0.0.1") as client:
        found = client.get("/v1/search", params={"q": QUERY, "k": 3}).json()["data"]["hits"]
        assert len(found) == 3
        thread = found[0]["thread_id"]
        assert client.get(f"/v1/threads/{thread}").json()["data"]["question"]["post"]["id"] == thread
        for path in ("/", "/search", "/stats", f"/threads/{thread}", f"/threads/{thread}/related"):
            answer = client.get(path, params={"q": "a^2+b^2=c^2"})
            assert answer.status_code == 200, path


def test_a_named_system_runs_on_a_store_in_memory(memory: Engine, demo: Path, tmp_path: Path) -> None:
    declaration = next(one for one in shipped() if one.name.startswith("baselines/") and one.task == 1 and one.parts)
    query = topic_query(read_topics(SAMPLE / "topics" / "task1.xml")[0], 1)
    found = []
    for number, one in enumerate((memory, porism.open(demo / "index"))):
        system = build_declared(declaration, SystemContext(one.index, 1, tmp_path / str(number)))
        check_retriever(system)
        found.append([hit.id for hit in system.search(query, 20)])
    assert found[0] == found[1]
    assert found[0]


def test_assistants_use_a_store_in_memory(memory: Engine) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from porism.web.server.mcp_tools import make_server

    server = make_server(memory)

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return await server.call_tool(name, arguments)

    hit = memory.search(QUERY, 1).hits[0]
    with anyio.from_thread.start_blocking_portal() as portal:
        for name, arguments in (
            ("search", {"query": QUERY, "k": 3}),
            ("formulas", {"latex": "a^2+b^2=c^2", "k": 3}),
            ("thread", {"id": hit.thread_id}),
            ("explain", {"query": QUERY, "id": hit.id}),
        ):
            assert portal.call(call, name, arguments), name
