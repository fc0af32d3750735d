"""The loops that a first change needs are compiled before it comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.store.embedded.segments import reading
from porism.web.server.write_processes import warm_up_segments


def test_loops_over_segments_are_compiled_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    warm_up_segments()
    assert reading._copy_entries.signatures  # type: ignore[attr-defined]
    assert not list(tmp_path.iterdir())
