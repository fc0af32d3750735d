"""No file of the current folder runs as code, unless it is the user's own program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attack.chaos.folders import (  # noqa: E402
    HostileFolder,
    loaded_by_python,
    run,
    use_all,
    write_hostile_folder,
)

from porism.parallel import workers  # noqa: E402
from porism.safe_path import program, safe_environment, safe_path  # noqa: E402

BUILD = ["build", ".", "-o", "../collection", "--jobs", "2", "--quiet"]
USES_WORKERS = """
import sys
from helper import double
from porism.parallel import ordered, workers

def triple(number):
    return 3 * number

if __name__ == "__main__":
    with workers(2) as pool:
        for function in (double, triple):
            print([result for _, result in ordered(pool, function, ((None, at) for at in range(3)))])
"""


def python(*arguments: str, folder: Path, code: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        input=code,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    return write_hostile_folder(tmp_path)


@pytest.mark.parametrize("way", ["command", "script", "session"])
def test_nothing_runs_in_a_folder_full_of_hostile_names(hostile: HostileFolder, way: str) -> None:
    use_all(way, hostile.place)
    assert hostile.ran() == []


@pytest.mark.parametrize("path", [":", ".", "./:"], ids=["empty", "point", "relative"])
def test_nothing_runs_where_the_environment_names_the_current_folder(tmp_path: Path, path: str) -> None:
    source = str(ROOT / "src")
    hostile = write_hostile_folder(tmp_path, loaded_by_python())
    run("command", [BUILD], hostile.place, PYTHONPATH=f"{path}:{source}", PATH=f".::{os.environ['PATH']}")
    assert hostile.ran() == []


def test_nothing_more_runs_where_python_puts_the_current_folder_first(tmp_path: Path) -> None:
    """`python -m` loads a few modules before Porism can act; `python -P -m` does not look into the current folder."""
    hostile = write_hostile_folder(tmp_path, loaded_by_python())
    done = python("-m", "porism.cli", *BUILD, folder=hostile.place)
    assert (done.returncode, hostile.ran()) == (0, []), done.stderr
    hostile = write_hostile_folder(tmp_path / "all")
    done = python("-P", "-m", "porism.cli", *BUILD, folder=hostile.place)
    assert (done.returncode, hostile.ran()) == (0, []), done.stderr


def test_no_file_is_taken_for_the_program_of_standard_input(hostile: HostileFolder) -> None:
    (hostile.place / "<stdin>").write_text((hostile.place / "json.py").read_text())
    run("session", [BUILD], hostile.place)
    assert hostile.ran() == []


def test_workers_find_the_functions_of_a_script_and_of_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(USES_WORKERS)
    (tmp_path / "helper.py").write_text("def double(number):\n    return 2 * number\n")
    for arguments in (["script.py"], ["-m", "script"], [str(tmp_path / "script.py")]):
        done = python(*arguments, folder=tmp_path)
        assert done.stdout.splitlines() == ["[0, 2, 4]", "[0, 3, 6]"], done.stderr
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "linked.py").symlink_to(tmp_path / "script.py")
    done = python("elsewhere/linked.py", folder=tmp_path)
    assert done.stdout.splitlines() == ["[0, 2, 4]", "[0, 3, 6]"], done.stderr


def test_a_session_imports_its_own_modules_as_before(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import deeper\nfrom json.decoder import JSONDecoder\n")
    (tmp_path / "deeper.py").write_text(
        "from porism.formula import parse\nprint('deeper')\ndef later():\n    import last\n"
    )
    (tmp_path / "last.py").write_text("print('last')\n")
    (tmp_path / "own.py").write_text("print('a plug-in')\ndef made(index): return index\n")
    code = "\n".join(
        [
            "import porism, mine",
            "mine.deeper.later()",
            "from porism.systems.loading import own_object",
            "print(own_object('own:made', 7))",
        ]
    )
    done = python("-c", code, folder=tmp_path)
    assert done.stdout.splitlines() == ["deeper", "last", "a plug-in", "7"], done.stderr


def test_a_folder_that_the_user_names_in_full_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    assert str(tmp_path) not in safe_path()
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.::lib")
    assert safe_path()[0] == str(tmp_path)
    assert safe_environment()["PYTHONPATH"] == f"{tmp_path}:{tmp_path / 'lib'}"


def test_installed_packages_stay_also_in_their_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (Path(pytest.__file__).parents[1], Path(os.__file__).parent):
        monkeypatch.chdir(folder)
        assert str(folder) in safe_path()


def test_programs_are_not_looked_for_in_relative_folders(
    hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.place)
    monkeypatch.setenv("PATH", ".::documents")
    assert program("node") is None
    monkeypatch.setenv("PATH", f".:{hostile.place}")
    assert program("node") == str(hostile.place / "node")


def test_python_that_ignores_its_environment_works_alone(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); from porism.parallel import workers\nwith workers(2) as pool: print(pool)"
    assert python("-E", "-c", code, folder=tmp_path).stdout == "None\n"
    assert "Processes" in python("-E", "-P", "-c", code, folder=tmp_path).stdout


def test_the_environment_is_the_same_after_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ".")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    before = dict(os.environ)
    with workers(2):
        assert (os.environ["PYTHONSAFEPATH"], os.environ["PYTHONPATH"]) == ("1", "")
    assert dict(os.environ) == before


def test_settings_of_libraries_are_not_read_from_the_current_folder(hostile: HostileFolder) -> None:
    code = "\n".join(
        [
            "from porism.compiled import load_numba",
            "from porism.evaluate.reports.figures import _pyplot",
            "print(repr(load_numba().config.CACHE_DIR), load_numba().config.DISABLE_JIT)",
            "print(_pyplot().get_backend())",
        ]
    )
    for before in ("", "import numba\n"):
        if before:
            (hostile.place / ".numba_config.yaml").write_text("cache_dir: cache\ndisable_jit: 1\n")
        done = python("-P", "-c", before + code, folder=hostile.place)
        assert done.stdout.lower().splitlines() == ["'' 0", "agg"], done.stderr
