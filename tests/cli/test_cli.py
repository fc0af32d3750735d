"""What all commands have in common: help, exit codes, Ctrl-C, broken pipes."""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from porism.cli import main, make_parser
from porism.cli.parser import QUICK, SECTIONS, WORDS, words_below


def test_no_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize("group", [path for path in WORDS if words_below(path) and not WORDS[path].where])
def test_a_group_alone_explains_itself(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(group.split()) == 2
    text = capsys.readouterr().err
    assert re.findall(r"^  ([\w-]+) ", text.partition("options:")[0], flags=re.M) == list(words_below(group))
    assert f"example:\n  porism {group} " in text


def test_help_lists_every_first_word_once_in_a_section() -> None:
    text = make_parser().format_help()
    listed = re.findall(r"^  (\w+) ", text.partition("options:")[0], flags=re.M)
    assert listed == [word for words in SECTIONS.values() for word in words]
    assert sorted(listed) == sorted(words_below(""))


@pytest.mark.parametrize("path", [path for path in WORDS if WORDS[path].where])
def test_help_has_an_example(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        make_parser().parse_args([*path.split(), "--help"])
    assert caught.value.code == 0
    assert f"example:\n  porism {path}" in capsys.readouterr().out


def test_a_typed_command_is_parsed_as_by_the_whole_parser() -> None:
    whole = {parser.prog: parser.format_help() for parser in parsers(make_parser())}
    for path in WORDS:
        (typed,) = (one for one in parsers(make_parser(path.split())) if one.prog == f"porism {path}")
        assert typed.format_help() == whole[typed.prog], path


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from parsers(sub)


def test_every_argument_of_every_command_has_help() -> None:
    for parser in parsers(make_parser()):
        arguments = [one for one in parser._actions if not isinstance(one, argparse._SubParsersAction)]
        missing = [one.dest for one in arguments if not one.help]
        assert not missing, f"{parser.prog}: {missing}"


def test_choices_that_are_repeated_for_a_fast_start_are_those_of_the_library() -> None:
    from porism.cli import command
    from porism.cli import run as run_command
    from porism.evaluate.fusion import FUSIONS
    from porism.evaluate.table import FORMATS

    assert tuple(FUSIONS) == run_command.METHODS
    assert tuple(FORMATS) == command.TABLE_FORMATS


@pytest.mark.parametrize(
    ("arguments", "function", "message"),
    [
        (
            "build dump -o out",
            "porism.cli.build.build",
            "interrupted; run the same command again to continue the build",
        ),
        (
            "lab turkle upload out --url http://localhost",
            "porism.cli.judgments.upload",
            "interrupted; run the same command again to continue the upload",
        ),
        ("index collection -o out", "porism.cli.build.index", "interrupted"),
    ],
)
def test_ctrl_c_says_how_to_continue_where_that_is_possible(
    arguments: str,
    function: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    module, name = function.rsplit(".", 1)
    command = getattr(importlib.import_module(module), name)
    monkeypatch.setattr(function, replace(command, run=interrupted))
    assert main(arguments.split()) == 130
    assert capsys.readouterr().err == f"porism: {message}\n"


def test_broken_pipe_is_quiet() -> None:
    run = subprocess.run(
        f"{sys.executable} -m porism.cli formula 'x^2' | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in run.stderr


def test_a_quick_command_reads_only_itself_and_looks_for_no_garbage() -> None:
    code = """if True:
        import gc, sys
        looked = []
        gc.callbacks.append(lambda phase, info: looked.append(info["generation"]))
        sys.argv = ["porism", "formula", "x^2"]
        from porism.cli import main
        del looked[:]
        assert main() == 0 and not looked and gc.get_freeze_count() > 10_000
        assert "porism.cli.search" in sys.modules and "porism.cli.serve" not in sys.modules
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_quick_commands_exist() -> None:
    assert set(WORDS) >= QUICK


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_the_words_of_groups(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--completion", shell])
    assert ended.value.code == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("formulas", "judge-model", "cross-encoder", "depth-primary"))
