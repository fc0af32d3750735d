from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from porism.records import Explanation
from porism.web.schema import schema_of, to_json


@dataclass(frozen=True)
class Pair:
    """Two things."""

    left: int | None
    right: tuple[float, ...]
    kind: Literal["a", "b"] = "a"


def test_record_becomes_json_and_schema() -> None:
    defs: dict[str, object] = {}
    assert schema_of(Pair, defs) == {"$ref": "#/components/schemas/Pair"}
    assert defs["Pair"] == {
        "type": "object",
        "description": "Two things.",
        "properties": {
            "left": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "right": {"type": "array", "items": {"type": "number"}},
            "kind": {"enum": ["a", "b"]},
        },
        "required": ["left", "right", "kind"],
    }
    assert to_json(Pair(None, (1.0, float("nan")))) == {"left": None, "right": [1.0, None], "kind": "a"}


def test_a_record_may_hold_itself() -> None:
    defs: dict[str, dict[str, dict[str, object]]] = {}
    schema_of(Explanation, defs)
    assert defs["Explanation"]["properties"]["parts"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Explanation"},
    }


def test_unknown_types_are_refused() -> None:
    with pytest.raises(TypeError, match="no JSON Schema"):
        schema_of(complex, {})
