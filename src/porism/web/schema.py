"""Records become JSON, and their types become JSON Schema: one source for both, so they cannot disagree."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def to_json(value: Any) -> Any:
    """A record as plain JSON values; a number that JSON does not have becomes null."""
    kind = type(value)
    if kind in PLAIN:
        return None if kind is float and not math.isfinite(value) else value
    names = field_names(kind)  # type: ignore[arg-type]  # a type is hashable
    if names is not None:
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(k): to_json(v) for k, v in value.items()}
    return [to_json(v) for v in value]


@lru_cache
def field_names(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a record (None: it is no record)."""
    return tuple(f.name for f in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def schema_of(kind: Any, defs: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a type; records are put into `defs` and named there."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return record_schema(kind, defs)
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(k, defs) for k in inside]}
    if origin is typing.Literal:
        return {"enum": list(inside)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(inside[1], defs)}
    if origin is list or (origin is tuple and inside[-1] is Ellipsis):
        return {"type": "array", "items": schema_of(inside[0], defs)}
    if origin is tuple:
        return {
            "type": "array",
            "items": {"anyOf": [schema_of(k, defs) for k in inside]},
            "minItems": len(inside),
            "maxItems": len(inside),
        }
    if kind is Any:
        return {}
    raise TypeError(f"no JSON Schema for {kind!r}")


def record_schema(kind: type, defs: dict[str, Any]) -> dict[str, Any]:
    """A reference to a record's schema, written once however often it is used."""
    name = kind.__name__
    if name not in defs:
        defs[name] = {}  # stands here while the record's own fields are read, so that a record may hold itself
        hints = get_type_hints(kind)
        fields = {f.name: schema_of(hints[f.name], defs) for f in dataclasses.fields(kind)}
        words = (kind.__doc__ or "").strip().split("\n\n")[0]
        defs[name] = {
            "type": "object",
            "description": " ".join(words.split()),
            "properties": fields,
            "required": list(fields),
        }
    return {"$ref": f"#/components/schemas/{name}"}
