"""The tools for assistants, called by a real client over standard input and output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

QUERY = "proof that $\\sqrt{2}$ is irrational"


def test_a_client_calls_every_tool(demo: Path) -> None:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    found: dict[str, Any] = {}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "porism.cli", "site", "mcp", str(demo / "index")], env=dict(os.environ)
    )

    async def talk() -> None:
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            found["tools"] = {tool.name for tool in (await session.list_tools()).tools}

            async def call(name: str, **arguments: Any) -> Any:
                result = await session.call_tool(name, arguments)
                return result

            found["search"] = (await call("search", query=QUERY, k=3)).structured_content
            hit = found["search"]["hits"][0]
            found["formulas"] = (await call("formulas", latex="a^2+b^2=c^2", k=3)).structured_content
            found["thread"] = (await call("thread", id=hit["thread_id"])).structured_content
            found["explain"] = (await call("explain", query=QUERY, id=hit["id"])).structured_content
            found["wrong"] = await call("thread", id=999_999_999)

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(talk)
    assert found["tools"] == {"search", "formulas", "thread", "explain"}
    assert "irrational" in found["search"]["hits"][0]["title"]
    assert found["formulas"]["hits"][0]["posts"]
    assert found["thread"]["answers"]
    assert sum(part["value"] for part in found["explain"]["parts"]) == pytest.approx(
        found["explain"]["value"], abs=0.01
    )
    assert found["wrong"].is_error
    assert "no post 999999999" in found["wrong"].content[0].text or "no thread" in found["wrong"].content[0].text
