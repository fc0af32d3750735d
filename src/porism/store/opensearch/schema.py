"""The indexes of a collection in a cluster: names, settings, mappings, and the ids of documents.

A build has four indexes behind aliases: threads (terms and records), formulas (the distinct ones), posts (as readers
see them) and rows (tables in blocks, files, manifest and commits). A change adds documents with the generation in their
ids; what is there is never rewritten, so that a snapshot stays as it is: it leaves out documents of later generations
(`from`) and those that were replaced or deleted before it (by id).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from porism.analysis.schema import DOCUMENT, FAMILIES, FORMULA_FAMILIES, THREAD, View
from porism.store.weighting import BM25

FORMAT = 1
Kind = Literal["threads", "formulas", "posts", "rows"]
KINDS: tuple[Kind, ...] = ("threads", "formulas", "posts", "rows")
MANIFEST, TAGS, COMMON = "manifest", "tags", "common"  # keys of single documents
MOST_COMMON = 2000  # formulas that are kept as the most common ones
# What searches push down: BM25 with these parameters. Its frequencies are normalised by the length of the document,
# since Lucene keeps a byte of it.
WEIGHTING = BM25()
LARGEST_SCALE = 1 << 24  # Lucene keeps frequencies as single-precision numbers
LARGEST_SUM = 0.8 * (1 << 31)  # of the frequencies of a document, which Lucene adds as 32-bit integers
WINDOW = 10_000  # hits of a search at most
LONGEST_WORD = 8_000  # characters of a word of a phrase
DELIMITER = "|"


def index_name(name: str, kind: Kind, build: int) -> str:
    """Return the name of an index of a build."""
    return f"{name}-{kind}-{build:06d}"


def alias_name(name: str, kind: Kind) -> str:
    """Return the alias of an index of the newest build."""
    return f"{name}-{kind}"


def document_id(key: object, generation: int) -> str:
    """Return the id of the document of a key that was written by a generation; 0: by the build."""
    return f"{key}.{generation}" if generation else str(key)


def group_key(thread: object) -> str:
    """Return the key of the formulas of a thread, given its key or the id of its document."""
    return f"formulas/{thread}"


def image_key(name: str) -> str:
    """Return the key of a picture."""
    return f"image/{hashlib.sha256(name.encode()).hexdigest()}"


def file_key(name: str, block: int) -> str:
    """Return the key of a block of a file."""
    return f"file/{name}/{block}"


def commit_key(generation: int) -> str:
    """Return the key of what a commit changed."""
    return f"commit/{generation}"


def year_field(kind: str, accepted: bool) -> str:
    """Return the field with the years of the posts of a kind, all of them or the accepted ones."""
    return f"{kind}_years_accepted" if accepted else f"{kind}_years"


YEAR_FIELDS = tuple(year_field(kind, accepted) for kind in ("question", "answer") for accepted in (False, True))


def main_view(threads: int, answers: int) -> View:
    """Return the view that is searched most, by which frequencies are normalised: that of a forum, or that of
    documents."""
    return THREAD if answers * USUAL > threads else DOCUMENT


FEW_THREADS = 100  # a formula that more of them have is not stored with each
USUAL = 5  # questions with one answer in all, from which on answers are usual


def scale_of(mean_length: float) -> int:
    """Return the frequency that means 1 in a family with this mean length: a power of two, of which a cluster compiles
    few scripts."""
    most = LARGEST_SUM * WEIGHTING.k1 * WEIGHTING.b / max(mean_length, 1.0)
    scale = LARGEST_SCALE
    while scale > most:
        scale //= 2
    return scale


def settings(shards: int, scales: Mapping[str, int]) -> dict[str, Any]:
    """Return the settings of an index while it is loaded, with a similarity for each family of terms."""
    return {
        "index": {
            "number_of_shards": shards,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "max_result_window": WINDOW,
            # Stored fields are mapped, too: a record is read in two thirds of the time.
            "store": {"type": "mmapfs"},
        },
        "analysis": {
            "filter": {"frequency": {"type": "delimited_term_freq", "delimiter": DELIMITER}},
            "tokenizer": {"words": {"type": "whitespace", "max_token_length": LONGEST_WORD}},
            "analyzer": {
                "counted": {"type": "custom", "tokenizer": "whitespace", "filter": ["frequency"]},
                "spaced": {"type": "custom", "tokenizer": "words"},
            },
        },
        "similarity": {
            family: {
                "type": "scripted",
                "script": {"source": f"return query.boost * doc.freq / (doc.freq + {float(scale)});"},
            }
            for family, scale in scales.items()
        },
    }


def replicated() -> dict[str, Any]:
    """Return the settings of an index that is loaded: a copy on a second node, where there is one."""
    return {"index": {"auto_expand_replicas": "0-1"}}


def mapping(kind: Kind, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping of an index."""
    return {
        "dynamic": "strict",
        "_meta": dict(meta),
        # A copy on a node that comes back gets what was written meanwhile as source. `ClusterPlace.finish` removes that
        # of a build.
        "_source": {"enabled": False},
        "properties": {"from": {"type": "long", "doc_values": False}, **_FIELDS[kind]},
    }


def _counted(families: Sequence[str]) -> dict[str, Any]:
    """Return the fields of families of terms, with frequencies and without lengths."""
    field = {
        "type": "text",
        "analyzer": "counted",
        "search_analyzer": "spaced",
        "index_options": "freqs",
        "norms": False,
    }
    return {family: {**field, "similarity": family} for family in families}


_STORED = {"type": "binary", "store": True}
_SEARCHED = {"type": "long", "doc_values": False}
_SPACED = {"type": "text", "analyzer": "spaced", "norms": False}
_FIELDS: Mapping[Kind, dict[str, Any]] = {
    "threads": {
        "id": {"type": "long"},
        **_counted(FAMILIES),
        **{field: {"type": "short"} for field in YEAR_FIELDS},
        "record": _STORED,
        "formulas": _STORED,  # in a document of its own: records of the formulas of a thread that few threads have
    },
    "formulas": {"id": {"type": "long"}, **_counted(FORMULA_FAMILIES), "record": _STORED},
    "posts": {
        "id": {"type": "long"},
        "thread": {"type": "long", "store": True},
        "position": {"type": "integer", "store": True, "index": False, "doc_values": False},
        "kind": {"type": "keyword", "doc_values": False},
        "phrase": {**_SPACED, "index_options": "positions"},
        "stems": {**_SPACED, "index_options": "docs"},
        "owner": _SEARCHED,
        "visual": _SEARCHED,
        "first": {"type": "long", "index": False},  # the lowest id of its formulas
        "comment": _SEARCHED,
        "other": _SEARCHED,  # the questions that it links to
        "title": {"type": "keyword", "index": False, "doc_values": False, "store": True},  # of the thread
        "data": _STORED,
        "formulas": _STORED,
        "parts": _STORED,
    },
    "rows": {
        "table": {"type": "keyword", "doc_values": False},
        "block": {"type": "long"},
        "key": _SEARCHED,
        "name": {"type": "keyword", "doc_values": False},
        "data": _STORED,
    },
}
