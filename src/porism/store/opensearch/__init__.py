"""A store in an OpenSearch cluster: candidates come from there, and records are ranked here, as those of the embedded
store."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from porism.errors import PorismError

if TYPE_CHECKING:
    from porism.store.opensearch.store import ClusterStore

PACKAGES = ("opensearchpy", "cbor2")  # of the extra


def open_cluster(address: str) -> ClusterStore:
    """Open the store at an address such as `opensearch://host1:9200,host2:9200/name`."""
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        fix = "install the extra: pip install 'porism[cluster]'"
        raise PorismError(f"the Python package {missing[0]} is not installed", where=address, fix=fix)
    from porism.store.opensearch.store import ClusterStore

    return ClusterStore.open(address)
