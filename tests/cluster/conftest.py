"""A cluster for all tests of a run: that of PORISM_OPENSEARCH, else three nodes that are started for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.cluster.nodes import Nodes
from attack.cluster.software import Unavailable

PLACE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder need the cluster."""
    for item in items:
        if PLACE in item.path.parents:
            item.add_marker("cluster")


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    """Three nodes of our own, which a test may kill if it starts them again."""
    if os.environ.get("PORISM_OPENSEARCH"):
        pytest.skip("the cluster of PORISM_OPENSEARCH is not ours to kill")
    try:
        with Nodes() as found:
            yield found
    except Unavailable as error:
        pytest.skip(f"no cluster: {error}")


@pytest.fixture(scope="session")
def hosts(request: pytest.FixtureRequest) -> str:
    """The hosts of a cluster, as in an address."""
    if given := os.environ.get("PORISM_OPENSEARCH", ""):
        return given.removeprefix("opensearch://").partition("/")[0]
    found: Nodes = request.getfixturevalue("nodes")
    return found.hosts
