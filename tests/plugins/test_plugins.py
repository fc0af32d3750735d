"""A package that is installed adds a system, a feature, a source, a store and a command; a broken one breaks nothing
else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doc_pages import blocks

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample"
PAGE = ROOT / "docs" / "how-to" / "plugins.md"  # shows the package whole
QUESTIONS = "Is $\\sqrt{2}$ irrational?\nWhich primes divide $2^n-1$?\nWhat is the sum of angles of a triangle?\n"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def write_example(folder: Path) -> Path:
    """Write the package that the page shows, and return its folder."""
    for block in blocks(PAGE):
        if block.file:
            file = folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, "utf-8")
    return folder / "porism-example"


def install(source: Path, target: Path) -> None:
    """Install a package into a folder, as pip does into an environment."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*command, "--target", str(target), str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugins")
    install(write_example(folder), folder / "packages")
    return folder / "packages"


@pytest.fixture
def run(packages: Path, tmp_path: Path) -> Run:
    """Run Python, or the command line, where the package is installed."""

    def call(*words: str, code: str = "") -> subprocess.CompletedProcess[str]:
        command = ["-c", code] if code else ["-m", "porism.cli", *words]
        paths = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH", ""))))
        environment = {**os.environ, "PYTHONPATH": paths}
        return subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, env=environment)

    return call


def test_a_system_of_a_package_runs(run: Run, demo: Path, tmp_path: Path) -> None:
    assert "example/newest" in run("systems").stdout
    topics = SAMPLE / "topics" / "task1.xml"
    done = run(
        "run", "--system", "example/newest", "--topics", str(topics), "--index", str(demo / "index"), "-o", "r.tsv"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["system"] == "example/newest"
    first = (tmp_path / "r.tsv").read_text("utf-8").splitlines()[:2]
    assert int(first[0].split("\t")[1]) > int(first[1].split("\t")[1])


def test_a_feature_of_a_package_ranks_and_explains(run: Run, demo: Path) -> None:
    code = f"""
import porism
from porism.search.answers.reranker import Model, load_model
from porism.search.engine import Engine
engine = porism.open({str(demo / "index")!r})
weights = {{**load_model().weights, "answers": {{**load_model().weights["answers"], "accepted": 5.0}}}}
mine = Engine(engine.snapshot, Model(weights))
query = "proof that $\\\\sqrt{{2}}$ is irrational"
hit = next(hit for hit in mine.search(query).hits if hit.accepted)
explanation = mine.explain(query, hit.id)
print([part.reason for part in explanation.parts if "accepted" in part.reason])
print(abs(sum(part.value for part in explanation.parts) - explanation.value) < 1e-6)
"""
    done = run(code=code)
    assert done.stdout == "['the author of the question accepted this answer']\nTrue\n", done.stderr


def test_a_source_of_a_package_is_built(run: Run, tmp_path: Path) -> None:
    (tmp_path / "exam.quiz").write_text(QUESTIONS, "utf-8")
    done = run("build", "exam.quiz", "-o", "collection")
    assert done.returncode == 0, done.stderr
    assert "a file of questions" in done.stdout + done.stderr
    shown = run("collection", "show", "collection", "post", "1")
    assert "irrational" in shown.stdout, shown.stderr


def test_a_store_of_a_package_opens_by_its_address(run: Run, tmp_path: Path) -> None:
    (tmp_path / "exam.quiz").write_text(QUESTIONS, "utf-8")
    done = run("search", f"quiz://{tmp_path / 'exam.quiz'}", "angles of a triangle")
    assert done.returncode == 0, done.stderr
    assert "triangle" in done.stdout


def test_a_command_of_a_package_is_one_of_porism(run: Run, demo: Path) -> None:
    assert "say how many posts an index has" in run("--help").stdout
    assert "porism hello demo/index" in run("hello", "--help").stdout
    done = run("hello", str(demo / "index"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" posts\n")


def test_the_doctor_lists_what_packages_add(run: Run) -> None:
    found = run("site", "doctor").stdout
    for group in ("systems", "features", "sources", "stores", "commands"):
        assert f"porism.{group} " in found, found
    assert "of porism-example 1.0" in found


def test_a_broken_package_breaks_nothing_else(run: Run, packages: Path, tmp_path: Path, demo: Path) -> None:
    broken = write_example(tmp_path)
    for name in ("pyproject.toml", "porism_example/__init__.py"):
        text = (broken / name).read_text("utf-8").replace("porism-example", "broken-example")
        (broken / name).write_text(text.replace("porism_example", "broken_example"), "utf-8")
    (broken / "porism_example").rename(broken / "broken_example")
    (broken / "broken_example" / "hello.py").write_text("raise RuntimeError('no')\n", "utf-8")
    (broken / "pyproject.toml").write_text(
        (broken / "pyproject.toml").read_text("utf-8").replace("hello =", "greet ="), "utf-8"
    )
    install(broken, tmp_path / "broken")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(tmp_path / "broken"), os.environ.get("PYTHONPATH", ""))),
    }

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "porism.cli", *words], cwd=tmp_path, capture_output=True, text=True, env=environment
        )

    assert "greet" in call("--help").stdout
    assert call("search", str(demo / "index"), "triangle").returncode == 0
    failed = call("greet")
    assert failed.returncode == 1
    assert "cannot be imported (RuntimeError: no)" in failed.stderr
    assert "pip uninstall broken-example" in call("site", "doctor").stdout
