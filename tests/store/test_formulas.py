"""Build the formula index: complete or not at all, the same bytes every time, refused if it is of another
collection."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from formula_indexes import make_collection, make_index
from porism.analysis.schema import FORMULA
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.formula.binary import unpack
from porism.store.embedded.formulas.build import build_formula_index
from porism.store.embedded.formulas.store import EmbeddedFormulas
from porism.store.records import UNKNOWN

LATEX = ["x^2+1", "x^2 + 1", "x-3", r"\frac{a}{b}", r"\sum_{k=0}^n k^2", r"\begin{broken", "y"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("formulas"), LATEX)


def test_rows_hold_the_formulas_of_the_collection(index: Path) -> None:
    store = EmbeddedFormulas.open(index)
    every = np.arange(store.formulas)
    row = store.latex(every).index(r"\frac{a}{b}")
    assert store.rows(store.visual_ids(every)).tolist() == every.tolist()
    assert store.formulas == store.manifest.counts["formulas"] == store.terms.count("tuples", FORMULA).documents
    assert store.latex(np.array([row]))[0] == r"\frac{a}{b}"
    layout, operators = unpack(store.trees(np.array([row]))[0])
    assert layout.label == operators.label == "O!divide"
    operator_labels = store.fetch(np.array([row])).operators
    start, end = int(operator_labels.starts[0]), int(operator_labels.ends[0])
    names = list(store.labels)
    assert [names[at] for at in operator_labels.labels[start:end]] == ["O!divide", "V!a", "V!b"]


def test_rare_labels_weigh_more(index: Path) -> None:
    store = EmbeddedFormulas.open(index)
    weights = store.layout_weights
    assert weights[store.labels["V!a"]] > weights[store.labels["V!x"]]
    assert store.unseen_label_weight >= weights.max()


def test_an_unknown_visual_id_has_no_row(index: Path) -> None:
    store = EmbeddedFormulas.open(index)
    assert store.rows(np.array([77, *store.visual_ids(np.arange(2))])).tolist() == [UNKNOWN, 0, 1]


def test_building_twice_gives_the_same_files(index: Path, tmp_path: Path) -> None:
    again = make_index(tmp_path, LATEX)
    for name in ("rows", "keys"):
        for path in sorted((index / name).iterdir()):
            assert path.read_bytes() == (again / name / path.name).read_bytes(), path.name
    assert (index / "statistics.json").read_bytes() == (again / "statistics.json").read_bytes()


def test_two_processes_build_the_same_index_as_one(index: Path, tmp_path: Path) -> None:
    with Collection.open(index.parent / "collection") as collection:
        build_formula_index(collection, tmp_path / "index", jobs=2)
    assert (tmp_path / "index" / "statistics.json").read_bytes() == (index / "statistics.json").read_bytes()


def test_progress_counts_every_formula(index: Path, tmp_path: Path) -> None:
    reported: list[int] = []
    with Collection.open(index.parent / "collection") as collection:
        build_formula_index(collection, tmp_path / "index", reported.append)
    assert sum(reported) == EmbeddedFormulas.open(index).formulas


def test_a_collection_without_formulas(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "note.md").write_text("# Words\n\nand nothing else", "utf-8")
    with Collection.open(build([open_source(tmp_path / "notes")], tmp_path / "collection", jobs=1)) as collection:
        build_formula_index(collection, tmp_path / "index")
    assert EmbeddedFormulas.open(tmp_path / "index").formulas == 0


def test_an_existing_directory_is_not_overwritten(index: Path) -> None:
    with (
        Collection.open(index.parent / "collection") as collection,
        pytest.raises(PorismError, match="already exists"),
    ):
        build_formula_index(collection, index)


def test_an_index_of_another_collection_is_refused(index: Path) -> None:
    with pytest.raises(PorismError, match="was built from another collection"):
        EmbeddedFormulas.open(index, collection="0" * 64)


def test_a_truncated_file_is_reported(index: Path, tmp_path: Path) -> None:
    broken = tmp_path / "index"
    shutil.copytree(index, broken)
    path = broken / "rows" / "path_key.bin"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(PorismError, match=r"rows/path_key.bin has \d+ bytes and should have \d+"):
        EmbeddedFormulas.open(broken)


KILLED = """
import os, sys, time
from porism.corpus.build.pipeline import build
from porism.corpus.store.collection import Collection
from porism.corpus.sources.detect import open_source
from porism.store.embedded.formulas.build import build_formula_index
def wait(count):
    print("started", flush=True)
    time.sleep(60)
build_formula_index(Collection.open(sys.argv[1]), sys.argv[2], wait)
"""


def test_a_killed_build_leaves_no_index(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, LATEX)
    target = tmp_path / "index"
    process = subprocess.Popen([sys.executable, "-c", KILLED, collection, target], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.1)
    assert not target.exists()
    with pytest.raises(PorismError, match="no such folder"):
        EmbeddedFormulas.open(target)
    with Collection.open(collection) as opened:
        build_formula_index(opened, target)
    assert EmbeddedFormulas.open(target).formulas


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_reported(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Path.open

    def open_full_device(path: Path, mode: str = "r", *rest: object, **named: object) -> object:
        return original(Path("/dev/full") if path.name == "latex.bin" else path, mode, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", open_full_device)
    with (
        Collection.open(index.parent / "collection") as collection,
        pytest.raises(PorismError, match="cannot be written: No space left on device"),
    ):
        build_formula_index(collection, tmp_path / "index")
    assert not (tmp_path / "index").exists()
