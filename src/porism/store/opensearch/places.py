"""Where a collection is in a cluster: the indexes of its builds, their aliases, and documents that are replaced only if
nobody else did."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from porism.errors import PorismError
from porism.store.opensearch.connection import Cluster
from porism.store.opensearch.manifest import StoreManifest, read_manifest
from porism.store.opensearch.problems import Conflict, Missing
from porism.store.opensearch.schema import KINDS, MANIFEST, Kind, alias_name, index_name, mapping, replicated, settings

AGAIN = "copy one there: porism store copy FOLDER ADDRESS"
PRUNING_SECONDS = 90.0
STATE_MAPPING = {"dynamic": False, "properties": {}}


class Version(NamedTuple):
    """A version of a document, by which it is replaced; None for one that is not there."""

    sequence: int
    term: int


class StoredManifest(NamedTuple):
    """A manifest and its version."""

    manifest: StoreManifest
    version: Version


class Stored(NamedTuple):
    """A stored document: its fields or its source, and its version."""

    value: Any
    version: Version


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """A collection in a cluster."""

    cluster: Cluster
    name: str

    def index(self, kind: Kind, build: int) -> str:
        """Return the name of an index of a build."""
        return index_name(self.name, kind, build)

    @property
    def state(self) -> str:
        """The index of what concerns all builds: the lease of the writer, and how far a load is."""
        return f"{self.name}-state"

    def builds(self) -> list[int]:
        """Return the numbers of all builds, finished or not."""
        rows = self.cluster.request("GET", f"/_cat/indices/{self.name}-rows-*", params={"format": "json", "h": "index"})
        numbers = (str(one["index"]).rpartition("-")[2] for one in rows)
        return sorted(int(number) for number in numbers if number.isdigit())

    def current(self) -> int | None:
        """Return the build that the aliases name."""
        alias = alias_name(self.name, "rows")
        rows = self.cluster.request("GET", f"/_cat/aliases/{alias}", params={"format": "json", "h": "index"})
        return int(str(rows[0]["index"]).rpartition("-")[2]) if rows else None

    def create(self, build: int, shards: Mapping[Kind, int], scales: Mapping[Kind, Mapping[str, int]]) -> None:
        """Make the indexes of a build, all at once."""

        def make(kind: Kind) -> None:
            body = {
                "settings": settings(shards.get(kind, 1), scales.get(kind, {})),
                "mappings": mapping(kind, {"porism": self.name, "build": build}),
            }
            self._make_index(self.index(kind, build), body)

        with ThreadPoolExecutor(len(KINDS)) as executor:
            list(executor.map(make, KINDS))

    def finish(self, build: int, slim: bool) -> None:
        """Make what was loaded visible to searches, in one segment, with a copy on another node where there is one."""
        names = ",".join(self.index(kind, build) for kind in KINDS)
        if slim:
            self._wait_for_pruning(names)
        self.cluster.request("POST", f"/{names}/_forcemerge", params={"max_num_segments": "1"}, seconds=3600)
        self.refresh(build)  # searches use the merged segment from now on
        self.cluster.request("PUT", f"/{names}/_settings", replicated())

    def _wait_for_pruning(self, names: str) -> None:
        """Wait until no node could need the source of what was loaded. Merging then removes it, which halves the index;
        nodes agree on it every 30 seconds."""
        self.cluster.request("POST", f"/{names}/_flush")
        end = time.monotonic() + PRUNING_SECONDS
        params = {"level": "shards", "filter_path": "**.retention_leases.leases.retaining_seq_no,**.seq_no.max_seq_no"}
        while time.monotonic() < end:
            indexes = self.cluster.request("GET", f"/{names}/_stats", params=params)["indices"].values()
            copies = [copy for index in indexes for shard in index["shards"].values() for copy in shard]
            if all(_is_prunable(copy) for copy in copies):
                return
            time.sleep(1)

    def refresh(self, build: int) -> None:
        """Make what was written visible to searches."""
        self.cluster.refresh([self.index(kind, build) for kind in KINDS])

    def show(self, build: int) -> None:
        """Let all aliases name the indexes of a build, at once."""
        before = self.current()
        actions: list[dict[str, Any]] = []
        for kind in KINDS:
            alias = alias_name(self.name, kind)
            if before is not None:
                actions.append({"remove": {"index": self.index(kind, before), "alias": alias}})
            actions.append({"add": {"index": self.index(kind, build), "alias": alias}})
        self.cluster.request("POST", "/_aliases", {"actions": actions})

    def remove(self, build: int) -> None:
        """Remove the indexes of a build."""
        names = ",".join(self.index(kind, build) for kind in KINDS)
        self.cluster.request("DELETE", f"/{names}", params={"ignore_unavailable": "true"})

    def ensure_state(self) -> None:
        """Make the index of the state, if there is none."""
        body = {"settings": {"auto_expand_replicas": "0-1"}, "mappings": STATE_MAPPING}
        rows = self.cluster.request("GET", f"/_cat/indices/{self.state}*", params={"format": "json", "h": "index"})
        if not any(one["index"] == self.state for one in rows):
            self._make_index(self.state, body)

    def _make_index(self, name: str, body: Mapping[str, Any]) -> None:
        """Make an index, unless it is there: a request is repeated if its answer was lost, and two processes may send
        one."""
        try:
            self.cluster.request("PUT", f"/{name}", body)
        except PorismError as error:
            if "already" not in str(error):
                raise

    def get_state(self, key: str) -> Stored | None:
        """Return a document of the state."""
        found = self._get(self.state, key)
        if not found.get("found"):
            return None
        return Stored(found["_source"], Version(found["_seq_no"], found["_primary_term"]))

    def put_state(self, key: str, value: Mapping[str, Any], version: Version | None = None) -> bool:
        """Write a document of the state if it has still a version, or if there is none; return whether it was."""
        return self.replace(self.state, key, value, version)

    def replace(self, index: str, key: str, value: Mapping[str, Any], version: Version | None) -> bool:
        """Write a document if it has still a version, or if there is none; return whether it was written."""
        params = {"op_type": "create"}
        if version is not None:
            params = {"if_seq_no": str(version.sequence), "if_primary_term": str(version.term)}
        try:
            self.cluster.request("PUT", f"/{index}/_doc/{key}", value, params)
        except Conflict:
            return False
        return True

    def put_state_value(self, key: str, value: Mapping[str, Any]) -> None:
        """Write a document of the state, whatever is there."""
        self.cluster.request("PUT", f"/{self.state}/_doc/{key}", value)

    def stored_manifest(self) -> StoredManifest:
        """Return the manifest of the newest build with its version; it says in one sentence what is missing."""
        found = self.cluster.mget(alias_name(self.name, "rows"), [MANIFEST], ("data",))[0]
        if not found.get("found"):
            fact = "is not a finished collection: it has no manifest"
            raise PorismError(fact, where=str(self.cluster.address), fix=AGAIN)
        manifest = read_manifest(found["fields"]["data"][0], str(self.cluster.address))
        return StoredManifest(manifest, Version(found["_seq_no"], found["_primary_term"]))

    def _get(self, index: str, key: str, stored: Sequence[str] = ()) -> Any:
        """Return a document with its version, or `found` as false. A shard that is missing for a moment is waited
        for."""
        try:
            return self.cluster.mget(index, [key], stored)[0]
        except Missing:
            return {"found": False, "_index": index}

    def put_manifest(self, manifest: StoreManifest, before: StoredManifest) -> bool:
        """Replace the manifest if it is still the one that was read; return whether it was. A request that was repeated
        has succeeded before."""
        value = {"table": MANIFEST, "data": b64encode(manifest.to_bytes()).decode("ascii")}
        index = self.index("rows", manifest.build)
        return self.replace(index, MANIFEST, value, before.version) or self.manifest() == manifest

    def manifest(self) -> StoreManifest:
        """Return the manifest of the newest build."""
        return self.stored_manifest().manifest

    def bytes(self, build: int) -> int:
        """Return how many bytes the indexes of a build take, without copies."""
        names = ",".join(self.index(kind, build) for kind in KINDS)
        params = {"format": "json", "h": "pri.store.size", "bytes": "b"}
        rows = self.cluster.request("GET", f"/_cat/indices/{names}", params=params)
        return sum(int(one["pri.store.size"] or 0) for one in rows)

    def __str__(self) -> str:
        return str(self.cluster.address)

    def version(self) -> object:
        """Return what differs after every commit: the newest build and the version of its manifest."""
        found = self._get(alias_name(self.name, "rows"), MANIFEST, ("_none_",))
        return found["_index"], found.get("_seq_no")


def _is_prunable(copy: Mapping[str, Any]) -> bool:
    """Return whether a copy of a shard keeps nothing for nodes that may come back."""
    leases = copy.get("retention_leases", {}).get("leases", ())
    return all(lease["retaining_seq_no"] > copy["seq_no"]["max_seq_no"] for lease in leases)
