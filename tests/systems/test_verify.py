"""Verification: fidelity as the shared script defines it, the matrix page, cells that change, fusions with weights from
the other year."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bench.verify import command
from bench.verify.fusion import TopicScores, YearScores, best_fusions, grid
from bench.verify.matrix import stored_cells, systems_of, with_models
from bench.verify.measure import MEASURES, Cell, compare_runs, rank_biased_overlap, same_order
from bench.verify.page import matrix_page
from bench.verify.sets import SETS, Workplace

from porism.errors import PorismError
from porism.evaluate.runs.run import Run, RunRanking, read_run, write_run
from porism.systems.declared.declaration import shipped
from porism.systems.loading import DEFAULT
from porism.systems.runs.provenance import code_version, used_modules

ROOT = Path(__file__).resolve().parents[2]


def random_run(seed: int) -> Run:
    """Return a run of five topics with some equal scores."""
    dice = random.Random(seed)
    rankings = {}
    for topic in range(1, 6):
        items = dice.sample(range(100), 60)
        scores = sorted((float(dice.randrange(40)) for _ in items), reverse=True)
        rankings[f"A.{topic}"] = RunRanking([str(item) for item in items], scores)
    return Run(f"run{seed}", "task1", rankings, "tag")


@pytest.mark.shared
def test_fidelity_is_that_of_the_shared_script(shared_data: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{seed}.tsv" for seed in (1, 2)]
    for seed, path in enumerate(files, 1):
        write_run(random_run(seed), path)
    script = [sys.executable, str(shared_data.parent / "tools" / "fidelity.py"), *map(str, files)]
    printed = subprocess.run(script, capture_output=True, text=True, check=False).stdout.splitlines()[-1]
    ours = compare_runs(*map(read_run, files))
    assert (
        f"tau {ours.tau:.3f} rbo {ours.rbo:.3f} overlap@10 {ours.overlap10:.3f} @100 {ours.overlap100:.3f}" in printed
    )


def test_equal_runs_agree() -> None:
    run = random_run(1)
    found = compare_runs(run, run)
    assert (found.tau, round(found.rbo, 9), found.overlap10, found.topics) == (1.0, 1.0, 1.0, 5)
    assert same_order(run, run) == 1.0
    assert rank_biased_overlap(["a", "b"], ["c", "d"]) == 0.0


def test_a_cell_that_changes_is_reported() -> None:
    before = Cell({"nDCG'": 0.5, "MAP'": 0.4}, {"tau": 0.98}, 0.1)
    assert Cell({"nDCG'": 0.5, "MAP'": 0.4}, {"tau": 0.98}, 9.9).differs(before) == []
    assert Cell({"nDCG'": 0.51, "MAP'": 0.4}, {}).differs(before) == ["nDCG' 0.5 -> 0.51", "tau 0.98 -> None"]


def test_every_published_run_is_a_row_of_the_page() -> None:
    page = matrix_page({"task1-2020": {"MSM/TF-IDF": Cell({"MAP": 0.25}, {"tau": 0.9}, 0.004)}})
    for one in shipped():
        shown = one.name.replace("_", "\\_")
        rows = sum(page.count(text) for text in (f"| {shown} |", f"| [{shown}]("))
        assert rows == sum(x.name == one.name and (x.is_published or x.task < 3) for x in shipped()), one.name
    row = next(line for line in page.splitlines() if line.startswith("| [MSM/TF-IDF]("))
    assert "0.238 / 0.074 / 0.117" in row
    assert "4 ms" in row
    assert "task1-2020: tau 0.900" in row


def test_substitutes_have_a_table_of_their_own() -> None:
    note = "substitute: small (bi-encoder, 128 tokens) in place of large"
    cells = {"task1-2020": {"MSM/CompuBERT22 (substitute)": Cell({"MAP": 0.25}, {}, 0.004, (note, "another note"))}}
    page = matrix_page(cells)
    table, _, substitutes = page.partition("### Task 1 with substitutes for the models")
    assert "MSM/CompuBERT22 (substitute)" not in table
    row = next(line for line in substitutes.splitlines() if line.startswith("| MSM/CompuBERT22 (substitute) |"))
    assert "small (bi-encoder, 128 tokens) in place of large" in row
    assert "0.250" in row
    assert "0.115" not in row  # the score of the team
    published = next(line for line in table.splitlines() if line.startswith("| [MSM/CompuBERT22]("))
    assert "0.250" not in published
    assert "--model compubert22=DIR" in published


def test_systems_of_a_set_with_models() -> None:
    given = {"bi-encoder": "DIR"}
    assert systems_of(SETS[2], ["CompuBERT22"]) == []
    assert systems_of(SETS[2], ["CompuBERT22"], given) == ["MSM/CompuBERT22"]
    assert with_models(SETS[2], "MSM/CompuBERT22", given) == {"compubert22": "DIR"}
    assert with_models(SETS[2], "MSM/TF-IDF", given) == {}
    assert "MIRMU/MiniLM+RoBERTa" not in systems_of(SETS[2], models=given)


def test_a_trained_part_gets_the_judgments_of_the_other_year(tmp_path: Path) -> None:
    (tmp_path / "slice").mkdir()
    (tmp_path / "slice" / "posts.jsonl").touch()
    place = Workplace(tmp_path, tmp_path)
    found = place.options(["answer_svm", "terrier"], SETS[2])
    assert found == {
        "answer_svm": {
            "topics": str(tmp_path / "slice/topics/task1-2021.xml"),
            "qrels": str(tmp_path / "slice/qrels/task1-2021.core.txt"),
        }
    }


def test_the_page_has_the_stored_figures() -> None:
    page = (ROOT / "docs" / "results" / "systems.md").read_text("utf-8")
    for systems in stored_cells().values():
        for name, cell in systems.items():
            figures = " / ".join(f"{cell.scores[measure]:.3f}" for measure in MEASURES)
            assert figures in page, f"{name}: write it again: python -m bench verify --page docs/results/systems.md"


def test_systems_of_a_set_can_run() -> None:
    for test in SETS:
        assert systems_of(test)[0] == DEFAULT
        assert "baselines/Linked MSE posts" not in systems_of(test)
    assert systems_of(SETS[2], ["BM25_system", DEFAULT]) == [DEFAULT, "MSM/BM25_system"]
    with pytest.raises(PorismError, match="no system is named nothing_like_it"):
        systems_of(SETS[2], ["nothing_like_it"])


def test_code_of_one_system_does_not_count_for_another() -> None:
    modules = used_modules(["porism.systems.msm"])
    assert "porism.systems.inverted" in modules
    assert not any(module.startswith(("porism.systems.mathdowers", "porism.systems.tangent")) for module in modules)
    assert code_version("BM25_system", 1) != code_version("TF-IDF(Terrier)", 1)


def test_weights_sum_to_one() -> None:
    assert all(abs(sum(weights) - 1) < 1e-9 and min(weights) > 0 for size in (2, 3) for weights in grid(size))


def test_a_fusion_of_systems_that_find_different_items_is_better_than_each() -> None:
    items = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.0], [0.8, 0.0], [0.0, 0.9], [0.0, 0.8]])
    topic = TopicScores(items, np.array([0, 1]), 2)
    year = YearScores(SETS[2], ("a", "b"), (topic, topic))
    fused = best_fusions((year, year), 2)[0]
    assert fused.members == ("a", "b")
    assert fused.mean > max(year.measure([0], [1.0]), year.measure([1], [1.0]))


def test_missing_data_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        PorismError, match=r"has no test data \(slice/posts.jsonl\)\n  fix: name the folder: --data DIR"
    ):
        command(["--data", str(tmp_path), "--work", str(tmp_path)])


@pytest.mark.shared
def test_an_unknown_test_set_is_reported(shared_data: Path, tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="no test set is named task9\n  fix: choose one of pool-2020, "):
        command(["--data", str(shared_data), "--work", str(tmp_path), "--on", "task9"])


@pytest.mark.shared
def test_topics_of_all_sets_have_their_official_mathml(shared_data: Path, tmp_path: Path) -> None:
    place = Workplace(shared_data, tmp_path)
    assert [len(place.topics(test)) for test in SETS] == [45, 100, 98, 100]
    for test in SETS:
        assert any(formula.mathml for topic in place.topics(test) for formula in topic.formulas)
