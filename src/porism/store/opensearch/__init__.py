"""A store in an OpenSearch cluster: candidates come from there, and records are ranked here, as those of the embedded store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.store.protocols import Store


def open_cluster(address: str) -> Store:
    """Open the store at an address such as `opensearch://host1:9200,host2:9200/name`."""
    from porism.store.opensearch.store import ClusterStore

    return ClusterStore.open(address)
