"""The wheels: each is built, installed in a fresh environment, and searches the sample that it holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import porism

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "sample", "setup.py", "pyproject.toml", "README.md", "constraints.txt")


def build_wheel(folder: Path, *, pure: bool) -> Path:
    """Build a wheel from a copy of the sources, without what was compiled in place."""
    tree = folder / "tree"
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info", "editor")
            )
        else:
            tree.mkdir(exist_ok=True)
            shutil.copy(source, tree / name)
    environment = (
        {**os.environ, "PORISM_PURE": "1"} if pure else {k: v for k, v in os.environ.items() if k != "PORISM_PURE"}
    )
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "-w",
        folder,
        tree,
        env=environment,
    )
    return next(folder.glob("porism-*.whl"))


def run(*command: object, **options: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return str(done.stdout)


def without_compiler() -> dict[str, str]:
    """An environment in which no C compiler is found and nothing of this project is importable."""
    return {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, "CC": "/bin/false", "CXX": "/bin/false"}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("pure", [True, False], ids=["pure", "compiled"])
def test_a_wheel_installs_and_searches_its_sample(pure: bool, tmp_path: Path) -> None:
    if not pure and shutil.which("cc") is None:
        pytest.skip("no C compiler on PATH")
    wheel = build_wheel(tmp_path, pure=pure)
    assert wheel.name.endswith("-none-any.whl") == pure
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith(".so") for name in names) != pure
    assert "porism/sample/dump/Posts.xml" in names
    assert not [name for name in names if name.startswith(("tests", "bench", "attack"))]
    venv.create(tmp_path / "venv", with_pip=True)
    python, place = tmp_path / "venv/bin/python", tmp_path / "elsewhere"
    place.mkdir()
    environment = without_compiler()
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        ROOT / "constraints.txt",
        wheel,
        env=environment,
    )
    program = tmp_path / "venv/bin/porism"
    run(program, "demo", "--build-only", cwd=place, env=environment)
    found = run(program, "search", "demo/index", "sum of $1/n^2$", "-k", "3", cwd=place, env=environment)
    assert "+5 votes" in found


def test_version_and_changelog_agree() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert declared == porism.__version__
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0].startswith(declared)
