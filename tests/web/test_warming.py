"""The loops that a first change needs are compiled before it comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.store.embedded.segments import formulas, reading
from porism.web.server.write_processes import warm_up_segments


def test_loops_over_segments_are_compiled_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    warm_up_segments()
    for compiled in (reading._copy_entries, formulas._copy_labels, formulas._copy_spans):
        assert compiled.signatures  # type: ignore[attr-defined]
    assert not list(tmp_path.iterdir())
