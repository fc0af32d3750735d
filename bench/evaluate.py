"""Check and score runs of 1,000 topics with 1,000 hits; compare with the trec_eval program if it is installed."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from porism.evaluate.measures.measure import LAB, parse_all
from porism.evaluate.measures.score import score
from porism.evaluate.qrels import Qrels, read_qrels, write_qrels
from porism.evaluate.runs.check import check_run
from porism.evaluate.runs.run import Run, RunRanking, read_run, write_run

TOPICS, HITS, JUDGED = 1000, 1000, 450
CASES = 100
TREC_EVAL_MEASURES = {  # names on the command line of trec_eval
    "ndcg": "nDCG'",
    "map": "MAP'",
    "P.10": "P'@10",
    "bpref": "bpref",
    "infAP": "infAP'",
    "recip_rank": "RR'",
    "recall.20": "recall'@20",
}


def write_big_case(folder: Path) -> tuple[Path, Path]:
    """Write a run of a million hits, and qrels of 450 judgments a topic, most of them of hits."""
    chance = np.random.default_rng(1)
    rankings: dict[str, RunRanking] = {}
    qrels: Qrels = {}
    for number in range(1, TOPICS + 1):
        items = [str(item) for item in chance.choice(3_000_000, HITS, replace=False)]
        rankings[f"A.{number}"] = RunRanking(items, (-np.sort(-chance.random(HITS)) * 20).tolist())
        judged = [*chance.permutation(items)[: JUDGED - 100], *(f"{item}" for item in range(4_000_000, 4_000_100))]
        qrels[f"A.{number}"] = dict(zip(map(str, judged), chance.integers(0, 4, JUDGED).tolist(), strict=True))
    write_run(Run("big", "task1", rankings, "big"), folder / "T-task1-big-auto-both-P.tsv")
    write_qrels(qrels, folder / "qrels.txt")
    return folder / "T-task1-big-auto-both-P.tsv", folder / "qrels.txt"


def best_time(work: Callable[[], object], times: int = 3) -> tuple[float, float]:
    """Return the shortest wall-clock and processor seconds of several attempts."""
    tries = []
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        tries.append((time.perf_counter() - wall, time.process_time() - processor))
    return min(wall for wall, _ in tries), min(processor for _, processor in tries)


def speed(folder: Path) -> None:
    """Print the table of seconds."""
    run_path, qrels_path = write_big_case(folder)
    qrels, run = read_qrels(qrels_path), read_run(run_path)
    plain = parse_all(["nDCG MAP P@10 RR"])
    rows = {
        "check the run file": lambda: check_run(run_path, list(qrels)),
        "read the run file": lambda: read_run(run_path),
        "read the qrels": lambda: read_qrels(qrels_path),
        "score: " + " ".join(map(str, LAB)): lambda: score(qrels, run),
        "score: " + " ".join(map(str, plain)): lambda: score(qrels, run, plain),
    }
    print(f"{TOPICS:,} topics x {HITS:,} hits, {JUDGED} judgments a topic, best of 3")
    print(f"{'step':48}  {'wall s':>7}  {'cpu s':>7}")
    for name, work in rows.items():
        wall, processor = best_time(work)
        print(f"{name:48}  {wall:7.2f}  {processor:7.2f}")


def random_case(seed: int) -> tuple[Qrels, Run]:
    """Return a random case with ties, unjudged hits, missing topics and topics without judgments."""
    chance = random.Random(seed)
    docs = [str(number) for number in chance.sample(range(10**6), 120)]
    qrels: Qrels = {}
    rankings = {"A.999": RunRanking(["1"], [1.0])}
    for number in range(1, 31):
        qrels[f"A.{number}"] = {
            doc: chance.choice([0, 0, 0, 1, 2, 3]) for doc in chance.sample(docs, chance.randint(3, 60))
        }
        if chance.random() > 0.2:
            found = chance.sample(docs, chance.randint(1, 120))
            rankings[f"A.{number}"] = RunRanking(found, [round(chance.random() * 8) / 4 for _ in found])
    return qrels, Run("random", "trec", rankings, "random")


def agreement(folder: Path) -> None:
    """Compare every mean with the four decimals of the program."""
    program = os.environ.get("PORISM_TREC_EVAL") or shutil.which("trec_eval")
    if not program:
        print(
            "agreement: the trec_eval program is not on PATH and PORISM_TREC_EVAL is not set; the tests compare with its code in pytrec_eval"
        )
        return
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    measures = parse_all(TREC_EVAL_MEASURES.values())
    names = [name.replace(".", "_") for name in TREC_EVAL_MEASURES]
    flags = [word for name in TREC_EVAL_MEASURES for word in ("-m", name)]
    same = different = 0
    for seed in range(CASES):
        qrels, run = random_case(seed)
        write_qrels(qrels, folder / "q")
        lines = [
            f"{topic} Q0 {item} 0 {value} r\n"
            for topic, row in run.rankings.items()
            for item, value in zip(row.items, row.scores, strict=True)
        ]
        (folder / "r").write_text("".join(lines))
        for average, more in (("present", []), ("complete", ["-c"])):
            words = [program, "-J", *more, "-l2", *flags, str(folder / "q"), str(folder / "r")]
            printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            theirs = {cells[0]: cells[2] for cells in map(str.split, printed.splitlines())}
            ours = score(qrels, run, measures, average)  # type: ignore[arg-type]
            equal = sum(
                f"{ours.mean(measure):.4f}" == theirs[name] for name, measure in zip(names, measures, strict=True)
            )
            same, different = same + equal, different + len(measures) - equal
    print(
        f"agreement with {(version.stdout + version.stderr).strip()}: {same} means equal to four decimals, {different} different ({CASES} random runs)"
    )


def main() -> None:
    """Print speed and agreement."""
    with tempfile.TemporaryDirectory() as name:
        speed(Path(name))
        agreement(Path(name))


if __name__ == "__main__":
    main()
