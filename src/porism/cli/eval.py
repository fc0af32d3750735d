"""porism eval: runs become tables, figures and a report."""

from __future__ import annotations

import argparse
import sys

HELP = "score runs against judgments"
EXAMPLE = "porism eval sample/qrels/task1.txt sample/runs/Abacus-task1-words-auto-text-P.tsv sample/runs/Tally-task1-both-auto-both-A.tsv"
FORMATS = ("table", "tsv", "json", "markdown", "latex", "html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("qrels", help="judgments: topic, 0, item, grade")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="Task 1, 2 or 3 submission or trec_eval file")
    parser.add_argument(
        "--measures", nargs="+", metavar="M", help="for example nDCG' MAP' P'@10 'P(rel=1)@5' bpref infAP judged@10"
    )
    parser.add_argument(
        "--average",
        choices=("official", "present", "complete"),
        default="complete",
        help="topics that the mean is taken over",
    )
    parser.add_argument("--format", default="table", choices=FORMATS, help="how to print")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument("--against", choices=("published",), help="set the runs among the published ones")
    parser.add_argument(
        "--subsets", metavar="META", help="topic information (CSV, TSV or JSON): also score by kind of topic"
    )
    parser.add_argument("--compare", action="store_true", help="paired tests of every two runs")
    parser.add_argument("--per-topic", action="store_true", help="also a row per topic")
    parser.add_argument("--coverage", action="store_true", help="also how much of each run was judged")
    parser.add_argument(
        "--correlate", action="store_true", help="also how far measures and runs agree (Pearson, Kendall)"
    )
    parser.add_argument("--leave-team-out", action="store_true", help="also what each team loses in a pool without it")
    parser.add_argument("--plots", metavar="DIR", help="write figures (needs the extra plots)")
    parser.add_argument("--plot-format", choices=("svg", "png"), default="svg", help="kind of figures")
    parser.add_argument("--report", metavar="FILE.html", help="write the whole experiment as one page")
    parser.add_argument("--title", default="", help="title of the page")
    parser.add_argument("--seed", type=int, default=2022, help="of the randomisation test and the bootstrap")
    parser.add_argument(
        "--collection", metavar="DIR", help="Task 2: the collection that gives formulas their visual ids"
    )
    parser.add_argument("--visual-map", metavar="FILE", help="Task 2: a table with id and visual_id instead")
    parser.add_argument(
        "--instances", action="store_true", help="Task 2: the judgments are of formula ids, not of visual ids"
    )
    task3 = parser.add_argument_group("Task 3")
    task3.add_argument("--answers", metavar="MAP", help="run, topic, id of the answer in the judgments")
    task3.add_argument("--flags", metavar="FILE", help="topic, answer, MG, UI (yes or no)")
    task3.add_argument("--tokenizer", metavar="DIR", help="local copy of MathBERTa: gives LO in place of LO-w")
    task3.add_argument("--encoder", metavar="DIR", help="local copy of MathBERTa: gives CS")
    task3.add_argument("--task1-qrels", metavar="FILE", help="references from Task 1: the judgments")
    task3.add_argument(
        "--task1-runs", nargs="+", default=(), metavar="RUN", help="references from Task 1: the runs that found them"
    )
    task3.add_argument("--as-task3", action="store_true", help="score Task 1 runs by their first hit")


def run(args: argparse.Namespace) -> int:
    """Score and print."""
    from porism.evaluate.evaluation import Options, evaluate

    options = Options(**{name: value for name, value in vars(args).items() if name in Options.__annotations__})
    result = evaluate(options)
    sys.stdout.write(result.text)
    for line in result.messages:
        print(line, file=sys.stderr)
    return 0
