"""What the server prepares before the first request."""

from __future__ import annotations

import subprocess
import sys
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


def test_highlights_are_compiled_before_the_first_request(demo: Path) -> None:
    code = (
        "from porism.search.engine import Engine\n"
        "from porism.search.formulas import alignment\n"
        "from porism.web.server.run import open_files\n"
        f"open_files(Engine.open({str(demo / 'index')!r}))\n"
        "print(type(alignment.trace_back).__module__)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("numba"), "the first reader with a formula would wait for the compiler"
