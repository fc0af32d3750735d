"""What can be wrong with a cluster, as errors that say what to do. One table for what nodes answer, one for connections
that fail."""

from __future__ import annotations

import re
import ssl
from typing import Any, NamedTuple

from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, TransportError
from urllib3.exceptions import NameResolutionError

from porism.deadline import TimeLimitExceeded
from porism.errors import PorismError, StoreUnavailable
from porism.store.opensearch.address import AUTHORITY, USER, ClusterAddress

# Answers that mean "not now". The request is repeated while there is time.
PASSING = frozenset({429, 502, 503, 504})
# Other answers that mean it, by their types: a node has ended while it worked for a request.
PASSING_KINDS = re.compile(
    "node_(?:dis|not_)connected|node_closed|transport_exception|(?:search|reader)_context_missing|"
    "shard_closed|shard_not_found|shard_not_in_primary_mode|already_closed"
)
LONGEST_REASON = 300


class NoAnswer(StoreUnavailable, TimeLimitExceeded):
    """No node of the cluster answered in time."""

    def __init__(self, address: ClusterAddress, seconds: float) -> None:
        PorismError.__init__(
            self,
            f"no node of the cluster answered within {seconds:.1f} seconds",
            where=str(address),
            fix="look whether its nodes run and have memory left, then try again",
        )


class Missing(PorismError):
    """The cluster has no such index, document, repository or snapshot."""


class Conflict(PorismError):
    """A document is no longer the version that a request replaces."""


class NodeAnswer(NamedTuple):
    """How an answer of a node is explained: by its status, and a pattern of its type ("" is any)."""

    status: int
    kind: str
    fact: str
    fix: str
    error: type[PorismError] = PorismError


# The first line that fits counts. {name} is the collection, {address} its address, {user} who asked, {index} the
# missing index, {reason} the node's own words.
ANSWERS = (
    NodeAnswer(
        401, "", "the cluster refuses {user}", "set " + USER + " and the password to those of a user of the cluster"
    ),
    *(
        NodeAnswer(
            status,
            "cluster_block",
            "the cluster allows no changes: {reason}",
            "free disk space of its nodes, then remove the write block of the index",
        )
        for status in (403, 429)
    ),
    NodeAnswer(
        403,
        "",
        "{user} may not do this: {reason}",
        "give the user the role of deploy/cluster/role.json for the indexes {name}-*",
    ),
    NodeAnswer(
        404,
        "index_not_found",
        "the cluster has no collection {name}: {index} is missing",
        "copy one there: porism store copy FOLDER {address}; or correct the name",
        Missing,
    ),
    NodeAnswer(409, "", "somebody else has changed the collection: {reason}", "try again", Conflict),
    NodeAnswer(
        404, "repository_missing", "there is no snapshot repository: {reason}", "register the repository first", Missing
    ),
    NodeAnswer(
        404,
        "snapshot_missing",
        "there is no such snapshot: {reason}",
        "list them: porism store snapshot {address}",
        Missing,
    ),
    NodeAnswer(
        404, "", "the cluster has no such thing: {reason}", "look whether somebody removed it, then try again", Missing
    ),
    NodeAnswer(
        500,
        "repository",
        "the snapshot repository cannot be used: {reason}",
        "allow its folder in path.repo of opensearch.yml on every node",
    ),
    NodeAnswer(
        429,
        "",
        "the cluster has more work than it takes: {reason}",
        "try again later, or add nodes",
        StoreUnavailable,
    ),
    NodeAnswer(
        503,
        "search_phase_execution|no_shard_available|unavailable_shards",
        "parts of the collection are missing (the cluster is red)",
        "start the nodes that are down; if they are lost, restore a snapshot or copy the collection again",
        StoreUnavailable,
    ),
    NodeAnswer(
        503,
        "cluster_manager_not_discovered",
        "the nodes of the cluster have not elected a manager",
        "start the other nodes: more than half of those that can be manager must run",
        StoreUnavailable,
    ),
    NodeAnswer(
        502,
        "",
        "the proxy before the cluster reaches no node",
        "start the nodes, or correct the proxy",
        StoreUnavailable,
    ),
    NodeAnswer(
        504,
        "",
        "the proxy before the cluster got no answer in time",
        "look at the nodes, then try again",
        StoreUnavailable,
    ),
    NodeAnswer(
        503,
        "",
        "the cluster cannot answer now: {reason}",
        "look at the health of the cluster, then try again",
        StoreUnavailable,
    ),
)


def explain(error: TransportError, address: ClusterAddress, user: object, path: str = "") -> PorismError:
    """Return an error of a request as one that says what to do."""
    if isinstance(error, NoConnection):
        return _explain_connection(error, address)
    return explain_answer(int(error.status_code), error.info, address, user, path)


def explain_answer(status: int, body: Any, address: ClusterAddress, user: object, path: str = "") -> PorismError:
    """Return what a node answered as an error. `body` is the whole answer, or one member of a batch."""
    kind, reason, index = cause(body)
    words = {
        "name": address.name,
        "address": address,
        "user": f"the user {user}" if user else "a client without a user",
        "index": index or address.name,
        "reason": reason or kind or f"status {status}",
    }
    for answer in ANSWERS:
        if status == answer.status and re.search(answer.kind, kind):
            return answer.error(answer.fact.format(**words), where=str(address), fix=answer.fix.format(**words))
    request = f" to {path}" if path else ""
    fact = f"the cluster refused a request{request} with status {status}: {words['reason']}"
    return PorismError(fact, where=str(address), fix="report it if the cluster is as docs/how-to/cluster.md describes")


def cause(body: Any) -> tuple[str, str, str]:
    """Return type, reason and index of an error of OpenSearch; empty where the answer is none of its own."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        text = error.decode("utf-8", "replace") if isinstance(error, bytes) else str(error or "")
        return "", " ".join(text.split())[:LONGEST_REASON], ""
    root = next(iter(error.get("root_cause") or ()), error)
    reason = str(root.get("reason") or error.get("reason") or "")
    kinds = " ".join(str(one) for one in (error.get("type"), root.get("type")) if one)
    return kinds, " ".join(reason.split())[:LONGEST_REASON], str(root.get("index") or error.get("index") or "")


def _explain_connection(error: NoConnection, address: ClusterAddress) -> PorismError:
    """Return an error for a connection that could not be made or broke off."""
    reason = error.info
    where = str(address)
    for one in _chain(reason):
        if isinstance(one, ssl.SSLCertVerificationError):
            if "ostname" in one.verify_message or "IP address" in one.verify_message:
                fix = "write the host in the address as the certificate names it"
                return PorismError(f"the certificate is for another host: {one.verify_message}", where=where, fix=fix)
            fix = f"set {AUTHORITY} to the PEM file of the authority that signed it"
            return PorismError(f"the certificate is not trusted: {one.verify_message}", where=where, fix=fix)
        if isinstance(one, ssl.SSLError):
            fix = "write opensearch:// if the nodes have no TLS, else correct their TLS settings"
            return PorismError(f"the nodes do not speak TLS as expected: {one.reason or one}", where=where, fix=fix)
        if isinstance(one, NameResolutionError):
            fact = "the name of a host is unknown"
            return StoreUnavailable(fact, where=where, fix="correct the address, or look at the name service")
    fact = (
        "the connection broke off" if "abort" in str(reason).lower() else "no node of the cluster accepts connections"
    )
    tls = "" if address.tls else "; write opensearchs:// if they have TLS"
    if isinstance(error, ConnectionTimeout):
        fact = "no node of the cluster answered in time"
    return StoreUnavailable(fact, where=where, fix=f"start its nodes, or correct hosts and ports of the address{tls}")


def _chain(error: object) -> list[BaseException]:
    """Return an error and what caused it."""
    found: list[BaseException] = []
    one = error
    while isinstance(one, BaseException) and one not in found:
        found.append(one)
        inner = next((arg for arg in one.args if isinstance(arg, BaseException)), None)
        one = inner or one.__cause__ or one.__context__
    return found
