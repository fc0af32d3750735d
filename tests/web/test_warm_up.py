"""What the server prepares before the first request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from porism.errors import PorismError
from porism.search.engine import Engine
from porism.web.server.run import warm_up_rest


class Recorder:
    """An engine that notes the queries it gets; one kind of query fails."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def note(query: str, **_: object) -> None:
            self.queries.append(query)
            if name == "complete":
                raise PorismError("no completion")

        return note


def test_wildcards_are_prepared_and_errors_do_not_matter() -> None:
    recorder = Recorder()
    warm_up_rest(recorder)  # type: ignore[arg-type]
    assert any("?x" in query for query in recorder.queries)


@pytest.mark.parametrize("times", [1, 2])
def test_an_index_is_warmed_up(demo: Path, times: int) -> None:
    engine = Engine.open(demo / "index")
    for _ in range(times):
        warm_up_rest(engine)
    assert engine.formulas("?x^2+?y^2=?z^2", k=1).hits
