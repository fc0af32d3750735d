"""Records as JSON, and their types as JSON Schema. Both come from the dataclasses, so they cannot disagree."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable, Hashable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Union, get_args, get_origin, get_type_hints

from porism.text.segment import Text

# Text with formulas goes out in the official HTML form.
SIMPLE_TYPES = {Text: "string", str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def encode(value: Any) -> bytes:
    """Encode records as JSON; NaN and infinities become null."""
    try:
        return _dumps(value, default=_fields_of)
    except ValueError:  # NaN and infinities are rare: only then walk over every value
        return _dumps(to_json(value))


def _dumps(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    text = json.dumps(value, default=default, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _fields_of(record: Any) -> dict[str, Any] | str:
    if isinstance(record, Text):
        return record.html()
    names, values_of = _reader(type(record))  # type: ignore[arg-type]
    return dict(zip(names, values_of(record), strict=True))


@lru_cache
def _reader(record_type: Hashable) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of the fields of a dataclass, and a function that reads them all at once."""
    names = field_names(record_type)
    if len(names) < 2:  # attrgetter then returns no tuple
        return names, lambda record: tuple(getattr(record, name) for name in names)
    return names, attrgetter(*names)


def to_json(value: Any) -> Any:
    """Convert records to plain JSON values."""
    if dataclasses.is_dataclass(value):
        return to_json(_fields_of(value))
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@lru_cache
def field_names(record_type: Hashable) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass."""
    return tuple(field.name for field in dataclasses.fields(record_type))  # type: ignore[arg-type]


def schema_of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type; the schemas of records go into `definitions` and are referenced by name."""
    if kind in SIMPLE_TYPES:
        return {"type": SIMPLE_TYPES[kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return record_schema(kind, definitions)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(option, definitions) for option in arguments]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], definitions)}
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        return {"type": "array", "items": schema_of(arguments[0], definitions)}
    if origin is tuple:
        return {
            "type": "array",
            "items": {"anyOf": [schema_of(item, definitions) for item in arguments]},
            "minItems": len(arguments),
            "maxItems": len(arguments),
        }
    if kind is Any:
        return {}
    raise TypeError(f"no JSON Schema for {kind!r}")


def record_schema(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a record's schema, which is written to `definitions` once."""
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # a placeholder while the fields are read, since a record may contain itself
        hints = get_type_hints(kind)
        fields = {field.name: schema_of(hints[field.name], definitions) for field in dataclasses.fields(kind)}
        summary = (kind.__doc__ or "").strip().split("\n\n")[0]
        definitions[name] = {
            "type": "object",
            "description": " ".join(summary.split()),
            "properties": fields,
            "required": list(fields),
        }
    return {"$ref": f"#/components/schemas/{name}"}
