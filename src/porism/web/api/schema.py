"""Records become JSON, and their types become JSON Schema: one source for both, so they cannot disagree."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def encode(value: Any) -> bytes:
    """Records as JSON; a number that JSON does not have becomes null."""
    try:
        return _dumps(value, default=_fields_of)
    except ValueError:  # such a number is rare: only then every value is looked at
        return _dumps(to_json(value))


def _dumps(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    text = json.dumps(value, default=default, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _fields_of(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in field_names(type(record))}  # type: ignore[arg-type]


def to_json(value: Any) -> Any:
    """A record as plain JSON values."""
    if dataclasses.is_dataclass(value):
        return {name: to_json(one) for name, one in _fields_of(value).items()}
    if isinstance(value, dict):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@lru_cache
def field_names(record: Hashable) -> tuple[str, ...]:
    """The names of the fields of a kind of record."""
    return tuple(field.name for field in dataclasses.fields(record))  # type: ignore[arg-type]


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
