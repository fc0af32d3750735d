"""How many modules of Porism a query walks through: those in which a function runs, in any thread, for one page of the
API.

    python -m bench walk [--names]

The sample is built, a copy of the source without compiled modules serves it, and one query is traced. Queries before it
have compiled and loaded what only the first one needs. Loops that numba compiles count where they are called from
Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUERY = r"proof that $\sqrt{2}$ is irrational"
# Runs in the process that is traced: a fresh query after others, once for the page and once for the explanation of its
# first hit.
TRACED = """
import json, sys, threading
from pathlib import Path
import porism.compiled
home = str(Path(porism.__file__).parent) + "/"
ran, tracing = set(), False

def note(frame, event, argument):
    if tracing and event == "call" and frame.f_code.co_filename.startswith(home):
        ran.add(frame.f_code.co_filename[len(home):])

def noting(call):
    def noted(self, *arguments):
        if tracing:
            ran.add(self._function.__code__.co_filename[len(home):])
        return call(self, *arguments)
    return noted

porism.compiled._Compiled.__call__ = noting(porism.compiled._Compiled.__call__)
threading.setprofile(note)
sys.setprofile(note)
from starlette.testclient import TestClient
from porism.web.server.app import create_app
from porism.search.engine import Engine
engine = Engine.open(sys.argv[1])
walks = {}
app = create_app(engine, hosts=("testserver",))
app.state.seconds = 600
with TestClient(app) as client:
    for query in ("sum of squares $n^2$", "prime numbers", "$a+b$"):
        client.get("/v1/search", params={"q": query}).raise_for_status()
    tracing = True
    found = client.get("/v1/search", params={"q": sys.argv[2]})
    tracing = False
    walks["a page of hits"], ran = sorted(ran), set()
    hit = found.raise_for_status().json()["data"]["hits"][0]["id"]
    tracing = True
    client.get("/v1/explain", params={"q": sys.argv[2], "id": hit}).raise_for_status()
    tracing = False
    walks["an explanation"] = sorted(ran)
print(json.dumps(walks))
"""


def walks() -> dict[str, list[str]]:
    """Return the modules in which a function ran, for a page of hits and for an explanation."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__"))
        environment = {**os.environ, "PYTHONPATH": str(source)}
        build = [sys.executable, "-m", "porism.cli", "demo", "--build-only", "--directory", f"{folder}/demo"]
        subprocess.run(
            [*build, "--sample", str(ROOT / "sample")], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        traced = [sys.executable, "-c", TRACED, f"{folder}/demo/index", QUERY]
        done = subprocess.run(traced, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def main(names: bool = False) -> None:
    """Print how many modules, folders and lines each walk goes through."""
    print("| walk | modules | folders | lines in them |\n|---|--:|--:|--:|")
    for walk, modules in walks().items():
        lines = sum(len((ROOT / "src/porism" / one).read_text("utf-8").splitlines()) for one in modules)
        print(f"| {walk} | {len(modules)} | {len({Path(one).parent for one in modules})} | {lines:,} |")
        if names:
            print(*modules, sep="\n")


def command(words: list[str]) -> None:
    """Run with options."""
    parser = argparse.ArgumentParser(prog="python -m bench walk", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--names", action="store_true", help="list the modules, too")
    main(parser.parse_args(words).names)
