"""Progress: bars on standard error, or nothing."""

from __future__ import annotations

import pytest

from porism.progress import Bars, Silent


def test_bars_show_name_and_number_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars().stage("threads", 3) as advance:
        advance(1)
        advance(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "threads" in captured.err
    assert " 3 " in captured.err


def test_silent_progress_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Silent().stage("threads") as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")
