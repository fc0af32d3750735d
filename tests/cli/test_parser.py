"""What the command line says when something is typed wrong."""

from __future__ import annotations

import pytest

from porism.cli import main


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["serch", "demo/index", "x"], "porism: there is no command 'serch'\n  fix: did you mean porism search?"),
        (["formulas", "i", "a", "--mode", "simmilar"], "--mode cannot be 'simmilar'\n  fix: did you mean similar?"),
        (["search", "i", "x", "-k", "-3"], "porism search: -k: -3 is too small; give 1 or more, for example 10\n"),
        (["search", "i", "x", "-k", "many"], "many is not a whole number; give one, for example 10\n"),
        (["serve", "i", "--port", "99999"], "99999 is not a port; give a number from 1 to 65535"),
        (["pool", "build"], "porism: there is no command 'pool'\n  fix: porism pool is now porism lab pool (porism"),
        (["models", "prove", "x"], "porism models is now porism model "),
        (["verfy"], "porism: there is no command 'verfy'\n  fix: did you mean porism store verify? "),
        (
            ["lab", "pol"],
            "porism lab: there is no command 'pol'\n  fix: did you mean porism lab pool? (porism lab --help explains)",
        ),
        (["store", "9"], "porism store: there is no command '9'\n  fix: choose from verify, merge, copy"),
        (["published", "--kind", "x"], "porism published is now porism lab published"),
        (["ask", "i"], "porism ask: QUERY is missing\n  fix: usage: porism ask"),
    ],
)
def test_a_wrong_command_line_is_answered_with_what_to_type(
    typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(typed)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
