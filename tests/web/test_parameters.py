from __future__ import annotations

import pytest

from porism.web.http.requests import BadRequest, Parameter, parse_parameters

TABLE = (
    Parameter("q", "a query", required=True, high=10),
    Parameter("k", "how many", int, 10, low=1, high=100),
    Parameter("kind", "what", default="answers", choices=("answers", "questions")),
    Parameter("accepted", "only accepted", bool, False),
)


def test_values_and_defaults() -> None:
    assert parse_parameters(TABLE, {"q": "x", "accepted": "true"}) == {
        "q": "x",
        "k": 10,
        "kind": "answers",
        "accepted": True,
    }


@pytest.mark.parametrize(
    ("given", "status", "message", "fix"),
    [
        ({}, 422, "the parameter q is missing", "give q: a query"),
        ({"q": "x" * 11}, 413, "q has 11 characters", "send at most 10 characters"),
        ({"q": "x", "k": "zehn"}, 422, "k is not a whole number", "give a whole number from 1 to 100"),
        *(
            ({"q": "x", "k": k}, 422, "k is not a whole number", "give a whole number from 1 to 100")
            for k in ("5_0", "+5", "\u0665", " 5", "5.0", "NaN", "1" * 5000)
        ),
        ({"q": "x", "k": "0"}, 422, "k is out of range", "give a whole number from 1 to 100"),
        ({"q": "x", "kind": "posts"}, 422, "kind cannot be 'posts'", "give one of answers, questions"),
        ({"q": "x", "tgas": "a"}, 422, "there is no parameter 'tgas'", "use q, k, kind, accepted"),
    ],
)
def test_invalid_parameters_are_reported(given: dict[str, str], status: int, message: str, fix: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_parameters(TABLE, given)
    assert (caught.value.status, caught.value.message, caught.value.fix) == (status, message, fix)
