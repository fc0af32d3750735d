"""Compiled functions: when numba is imported, and how functions find each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from porism.compiled import compiled

HEAVY = ("numba", "scipy", "urllib.request", "multiprocessing", "jinja2", "starlette", "matplotlib")
MODULE = """
import sys
import numpy as np
from porism.compiled import compiled

@compiled
def double(value):
    return 2 * value

@compiled
def total(values):
    found = 0
    for value in values:
        found += double(value)
    return found

print(total(np.arange(4)), "numba.np.arraymath" in sys.modules)
"""


@compiled
def _square(value: int) -> int:
    return value * value


@compiled
def _sum_of_squares(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    found = 0
    for value in values:
        found += _square(value)
    return found


def test_a_compiled_function_calls_another() -> None:
    assert _sum_of_squares(np.arange(4)) == 14
    assert _sum_of_squares.__name__ == "_sum_of_squares"
    assert _square(3) == 9


def test_the_engine_is_imported_without_what_a_search_does_not_need() -> None:
    code = f"import sys, porism.search.engine; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_cached_machine_code_is_loaded_without_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(MODULE, "utf-8")
    runs = [
        subprocess.run([sys.executable, "sums.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs == ["12 True\n", "12 False\n"]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, ending: str) -> None:
    (tmp_path / "sums.py").write_text(MODULE, "utf-8")

    def run() -> str:
        done = subprocess.run([sys.executable, "sums.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    run()
    for path in tmp_path.rglob(f"*.{ending}"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert [run(), run()] == ["12 True\n", "12 False\n"]
