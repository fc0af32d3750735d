from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

import pytest

from porism.records import Explanation
from porism.web.http.requests import encode, to_json
from porism.web.pages.api_page import schema_of


@dataclass(frozen=True)
class Pair:
    """Two things."""

    left: int | None
    right: tuple[float, ...]
    kind: Literal["a", "b"] = "a"


def test_a_record_has_json_and_a_schema() -> None:
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


def test_a_record_may_contain_itself() -> None:
    defs: dict[str, dict[str, dict[str, object]]] = {}
    schema_of(Explanation, defs)
    assert defs["Explanation"]["properties"]["parts"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Explanation"},
    }


def test_unsupported_types_are_refused() -> None:
    with pytest.raises(TypeError, match="no JSON Schema"):
        schema_of(complex, {})


def test_nan_and_infinity_become_null() -> None:
    nested = {"data": (Pair(1, (0.5,)), Pair(None, ())), "ok": True, "word": "é\ud800"}
    assert json.loads(encode(nested)) == {**to_json(nested), "word": "é?"}
    assert json.loads(encode(Pair(1, (float("nan"), float("inf"), 2.0))))["right"] == [None, None, 2.0]


def test_a_record_with_one_field_is_an_object() -> None:
    @dataclass(frozen=True, slots=True)
    class Single:
        values: tuple[int, ...]

    assert encode(Single((1, 2))) == b'{"values":[1,2]}'
    assert encode([Single(())]) == b'[{"values":[]}]'
