"""The manners that all commands share."""

from __future__ import annotations

import subprocess
import sys

import pytest

from porism.cli import COMMANDS, main, make_parser


def test_no_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_parses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        make_parser().parse_args([name, "--help"])
    assert caught.value.code == 0
    assert f"example:\n  porism {name}" in capsys.readouterr().out


def test_broken_pipe_is_quiet() -> None:
    run = subprocess.run(
        f"{sys.executable} -m porism.cli formula 'x^2' | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in run.stderr
