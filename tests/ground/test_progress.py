"""Progress: bars or lines on standard error, or nothing."""

from __future__ import annotations

import pytest

from porism.progress import Bars, Lines, Silent, for_terminal, remaining


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


def test_lines_say_how_many_are_done_and_short_work_writes_none(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(seconds=0).stage("topics", 1200) as advance:
        advance(1000)
        advance(200)
    assert capsys.readouterr().err == (
        "topics: 1,000 of 1,200, about 0 seconds remain\ntopics: 1,200 of 1,200, about 0 seconds remain\n"
    )
    assert remaining(60, 100, 300) == "about 2 minutes remain"
    assert remaining(60, 100, 125) == "about 15 seconds remain"
    with for_terminal().stage("topics", 2) as advance:  # captured output is no terminal
        advance(2)
    assert capsys.readouterr() == ("", "")
