"""porism run: make, check, fix and fuse runs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from porism.cli.values import add_state_option, positive

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

HELP = "run a system on topics; check, fix or fuse run files"
EXAMPLE = "porism run --topics sample/topics/task1.xml --index demo/index -o run.tsv"
EXAMPLES = {
    "convert": "porism run convert sample/runs/Abacus-task1-words-auto-text-P.tsv -o words.trec",
    "check": "porism run check sample/runs/Abacus-task1-words-auto-text-P.tsv --topics sample/topics/task1.xml",
    "fix": "porism run fix sample/runs/Abacus-task1-words-auto-text-P.tsv -o fixed.tsv",
    "fuse": "porism run fuse sample/runs/Abacus-task1-words-auto-text-P.tsv sample/runs/Tally-task1-symbols-auto-math-P.tsv -o fused.tsv",
}
METHODS = ("rrf", "score-rrf", "convex", "combsum", "combmnz")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to make a run, and the actions on run files."""
    parser.add_argument(
        "--task",
        type=int,
        choices=(1, 2, 3),
        help="1: find answers, 2: find formulas, 3: give one answer (default: the task of the system and of the topics, else 1)",
    )
    parser.add_argument(
        "--topics",
        metavar="FILE",
        help="the topics: the lab's XML, or a table with the columns topic and latex or title",
    )
    parser.add_argument(
        "--topic-formulas",
        metavar="TSV",
        nargs="+",
        help="tables of topic formulas of the year: LaTeX, which replaces that of the XML; official MathML (slt, opt), which named systems read",
    )
    parser.add_argument("--index", metavar="DIR", help="an index: its folder, or its address in a cluster")
    _system_arguments(parser)
    parser.add_argument("-k", type=positive, default=1000, metavar="N", help="hits per topic (default: %(default)s)")
    parser.add_argument(
        "--kind",
        choices=("answers", "questions"),
        help="what Task 1 finds (default: answers; questions if the topics have titles only)",
    )
    parser.add_argument("-o", "--output", metavar="RUN.tsv", help="the file to write")
    parser.add_argument(
        "--format",
        choices=("lab", "trec"),
        default="lab",
        help="the lab's columns, or trec_eval's (default: %(default)s)",
    )
    parser.add_argument("--header", action="store_true", help="put ir_metadata before the run, as comment lines")
    parser.set_defaults(resume="the same command continues with the next topic")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=False)
    _file_arguments(actions)
    _fuse_arguments(actions)
    _convert_arguments(actions)


def _system_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--system",
        metavar="NAME",
        help="the system to run (default: porism; porism systems lists others), FILE.toml:NAME, or a retriever of your own, MODULE:CLASS",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PART.OPTION=VALUE",
        help="an option of a part of a named system (porism systems show NAME lists them)",
    )
    parser.add_argument("--queries", metavar="FILE", help="hand-written queries of a manual system")
    parser.add_argument(
        "--cache", metavar="DIR", help="where named systems keep what they prepare (default: in the index)"
    )
    add_state_option(parser, "what named systems prepare")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="the directory of a pretrained model that a named system needs, or of all models of a kind (repeat for several); FILE: the weights "
        "that porism model train ranking made, for Task 1 of the default system",
    )


def _convert_arguments(actions: Actions) -> None:
    convert = actions.add_parser(
        "convert",
        help="write a run in another format",
        description="Write a run in the columns of Task 1, Task 2 or trec_eval.",
    )
    convert.add_argument("files", nargs=1, metavar="FILE", help="a run file")
    convert.add_argument("-o", "--output", metavar="RUN", dest="converted", required=True, help="the file to write")
    convert.add_argument(
        "--format",
        choices=("trec", "task1", "task2"),
        default="trec",
        dest="to",
        help="the format (default: %(default)s)",
    )
    convert.add_argument("--collection", metavar="DIR", help="where to look up the posts of formulas, for task2")


def _file_arguments(actions: Actions) -> None:
    check = actions.add_parser(
        "check",
        help="report every problem of run files",
        description="Report every problem of run files, each by itself and together as a submission.",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="run files of one or more teams")
    check.add_argument("--json", action="store_true", help="print one JSON object per problem")
    fix = actions.add_parser(
        "fix",
        help="write a corrected copy of a run file",
        description="Drop the hits that the lab drops, number the ranks from 1, break ties of scores.",
    )
    fix.add_argument("files", nargs=1, metavar="FILE", help="a run file")
    fix.add_argument(
        "-o",
        "--output",
        metavar="RUN.tsv",
        dest="fixed",
        help="the file to write (default: NAME.fixed.tsv beside the run file)",
    )
    for action in (check, fix):
        action.add_argument(
            "--topics",
            metavar="FILE",
            dest="known_topics",
            help="also find topics that are unknown or missing, by this topic file",
        )
        action.add_argument("--collection", metavar="DIR", help="also look up every id in this collection")


def _fuse_arguments(actions: Actions) -> None:
    fuse = actions.add_parser("fuse", help="fuse several runs into one", description="Fuse several runs into one.")
    fuse.add_argument("files", nargs="+", metavar="RUN", help="two or more runs of one task")
    fuse.add_argument("-o", "--output", metavar="RUN.tsv", dest="fused", required=True, help="the file to write")
    fuse.add_argument("--method", choices=METHODS, default="rrf", help="the fusion method (default: %(default)s)")
    fuse.add_argument(
        "--weights", nargs="+", type=float, metavar="W", help="a weight for each run (default: all equal)"
    )
    fuse.add_argument(
        "--constant", type=float, default=60, metavar="K", help="the k of 1/(k + rank) (default: %(default)s)"
    )
    fuse.add_argument("--tag", default="fused", help="the run id (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Make a run, or do an action."""
    actions = {"check": check_files, "fix": fix_file, "fuse": fuse_files, "convert": convert_file, None: make_run}
    return actions[args.action](args)


def check_files(args: argparse.Namespace) -> int:
    """Print the problems; exit with 1 if a file would be rejected."""
    from porism.evaluate.runs.check import check_files
    from porism.evaluate.runs.problems import as_json_lines, summary

    problems = check_files(args.files, args.known_topics, args.collection)
    sys.stdout.write(as_json_lines(problems) if args.json else summary(problems))
    return 1 if any(problem.level == "E" for problem in problems) else 0


def fix_file(args: argparse.Namespace) -> int:
    """Write the corrected run."""
    from porism.evaluate.runs.check import fix_file

    fixed = fix_file(args.files[0], args.fixed, args.known_topics, args.collection)
    print(fixed.message, file=sys.stderr)
    print(fixed.path)
    return 0


def fuse_files(args: argparse.Namespace) -> int:
    """Write the fused run."""
    from porism.evaluate.runs.derive import fuse
    from porism.evaluate.runs.run import read_run, write_run

    fused = fuse([read_run(path) for path in args.files], args.method, args.weights, args.constant, tag=args.tag)
    write_run(fused, args.fused)
    print(
        f"wrote {args.fused}: {len(fused.rankings)} topics from {len(args.files)} runs by {args.method}",
        file=sys.stderr,
    )
    return 0


def convert_file(args: argparse.Namespace) -> int:
    """Write the run in another format."""
    from porism.evaluate.runs.derive import convert_run

    print(convert_run(args.files[0], args.converted, args.to, args.collection), file=sys.stderr)
    return 0


def make_run(args: argparse.Namespace) -> int:
    """Run a system on topics."""
    from pathlib import Path

    missing = [name for name in ("topics", "index", "output") if not getattr(args, name)]
    if missing:
        print(f"porism run: give --{', --'.join(missing)}, or an action: check, fix, fuse, convert", file=sys.stderr)
        return 2
    from porism.corpus.topics.files import read_topics
    from porism.progress import for_terminal
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
