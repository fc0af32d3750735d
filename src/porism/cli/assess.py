"""porism assess: judging by people, from accounts to backup."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.lab.judging.journal import Journal

HELP = "have items judged by people: accounts, assignments, server, export, backup"
EXAMPLE = "porism assess create lab.journal"


def arguments(parser: argparse.ArgumentParser) -> None:
    """One action for each step; every one names the journal first."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, words: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=words)
        made.add_argument("journal", help="the journal, one file")
        made.set_defaults(do=ACTIONS[name])
        return made

    action("create", "make an empty journal")
    account = action("account", "make an account, or give it a new password (asked for, or read from standard input)")
    account.add_argument("name")
    account.add_argument("--role", choices=("assessor", "organiser", "team"), default="assessor")
    load = action("load", "put a pool and its topics into the journal; only new items are added")
    load.add_argument("--pool", required=True)
    load.add_argument("--topics", required=True)
    load.add_argument("--formulas", help="the year's table of topic formulas, whose LaTeX wins over the text")
    load.add_argument(
        "--sample", type=float, default=1.0, help="judge only this share of the pool, drawn at random (for infAP)"
    )
    load.add_argument("--seed", type=int, default=0)
    train = action("train", "load training items with known grades")
    train.add_argument("--task", type=int, choices=(1, 2), default=1)
    train.add_argument("--topics", required=True)
    train.add_argument("--known", required=True, help="table: round, topic, item, grade, reason")
    _assignment_arguments(action)
    serve = action("serve", "run the assessment server")
    serve.add_argument("--collection", required=True)
    serve.add_argument(
        "--topic-threads", metavar="COLLECTION", help="a later collection that holds the topics' own threads"
    )
    serve.add_argument("--submissions", help="folder in which teams hand in runs")
    serve.add_argument("--topics", nargs="*", default=[], help="topics files that handed-in runs are checked against")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    serve.add_argument("--port", type=int, default=8002)
    serve.add_argument("--https", action="store_true", help="behind an HTTPS proxy: cookies are sent over HTTPS only")
    action("progress", "how far everyone is, and how long a judgment takes").add_argument(
        "--cap", type=float, help="seconds after which a page counts as idle"
    )
    export = action("export", "write one table to standard output")
    export.add_argument("what", choices=("results", "narratives", "extra", "preferences"))
    action("backup", "copy the journal, also while the server runs").add_argument("copy")


def _assignment_arguments(action: Callable[[str, str], argparse.ArgumentParser]) -> None:
    assign = action("assign", "give topics to an assessor; without names, share all free topics among all assessors")
    assign.add_argument("assessor", nargs="?")
    assign.add_argument("topics", nargs="*")
    assign.add_argument("--task", type=int, choices=(1, 2), default=1)
    move = action("move", "give what an assessor has not judged of a topic to a colleague")
    move.add_argument("assessor")
    move.add_argument("colleague")
    move.add_argument("topics", nargs="+")
    move.add_argument("--task", type=int, choices=(1, 2), default=1)
    dual = action("dual", "a second opinion on a topic that a colleague judged")
    dual.add_argument("assessor")
    dual.add_argument("topics", nargs="+")
    dual.add_argument("--task", type=int, choices=(1, 2), default=1)
    dual.add_argument(
        "--size", type=int, help="items, drawn in proportion to the first grades (default: the whole topic)"
    )
    dual.add_argument("--seed", type=int, default=0)
    training = action("training", "give a training round to an assessor")
    training.add_argument("assessor")
    training.add_argument("--round", type=int, default=1)
    training.add_argument("--task", type=int, choices=(1, 2), default=1)
    extra = action("extra", "ask the two yes/no questions on a sample of answers")
    extra.add_argument("assessor")
    extra.add_argument("topics", nargs="+")
    extra.add_argument("--size", type=int, default=20)
    extra.add_argument("--seed", type=int, default=0)


def run(args: argparse.Namespace) -> int:
    """Do one action."""
    args.do(args)
    return 0


def _open(args: argparse.Namespace) -> Journal:
    from porism.lab.judging.journal import Journal

    return Journal.open(args.journal)


def _create(args: argparse.Namespace) -> None:
    from porism.lab.judging.journal import Journal

    Journal.create(args.journal).close()


def _account(args: argparse.Namespace) -> None:
    from porism.lab.judging.accounts import add_account

    password = getpass.getpass("password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    add_account(_open(args), args.name, args.role, password)


def _load(args: argparse.Namespace) -> None:
    from porism.corpus.topics.files import read_topics
    from porism.lab.judging.loading import load_pool, load_topics, topic_threads
    from porism.lab.pooling.store import read_manifest, read_pool

    task = read_manifest(Path(args.pool)).task
    pool, journal = read_pool(Path(args.pool)), _open(args)
    load_topics(journal, task, read_topics(args.topics, args.formulas), topic_threads(args.formulas))
    added = load_pool(journal, task, pool.items, pool.answers, sample=args.sample, seed=args.seed)
    print(f"{added} items added", file=sys.stderr)


def _train(args: argparse.Namespace) -> None:
    from porism.corpus.topics.files import read_topics
    from porism.lab.judging.loading import load_topics
    from porism.lab.judging.training import load_training, read_training_items

    journal, known = _open(args), read_training_items(args.known)
    wanted = {one.topic for one in known}
    load_topics(journal, args.task, [topic for topic in read_topics(args.topics) if topic.id in wanted])
    print(f"{load_training(journal, args.task, known)} training items added", file=sys.stderr)


def _assign(args: argparse.Namespace) -> None:
    from porism.lab.judging.accounts import accounts
    from porism.lab.judging.assign import assign_topic, share_topics

    journal = _open(args)
    if args.assessor:
        shared = {args.assessor: args.topics}
        for topic in args.topics:
            assign_topic(journal, args.assessor, args.task, topic)
    else:
        shared = share_topics(journal, args.task, [account.name for account in accounts(journal, "assessor")])
    for name, topics in shared.items():
        print(f"{name}\t{' '.join(topics)}")


def _move(args: argparse.Namespace) -> None:
    from porism.lab.judging.assign import move_topic

    for topic in args.topics:
        print(f"{topic}\t{move_topic(_open(args), args.assessor, args.colleague, args.task, topic)}")


def _dual(args: argparse.Namespace) -> None:
    from porism.lab.judging.assign import assign_dual

    for topic in args.topics:
        print(f"{topic}\t{assign_dual(_open(args), args.assessor, args.task, topic, args.size, args.seed)}")


def _training(args: argparse.Namespace) -> None:
    from porism.lab.judging.assign import assign_training

    print(assign_training(_open(args), args.assessor, args.task, args.round))


def _extra(args: argparse.Namespace) -> None:
    from porism.lab.judging.assign import assign_extra

    for topic in args.topics:
        print(f"{topic}\t{assign_extra(_open(args), args.assessor, topic, args.size, args.seed)}")


def _serve(args: argparse.Namespace) -> None:
    from porism.web.assess.server import open_app, run_server

    app = open_app(
        args.journal, args.collection, args.submissions, args.topics, topic_threads=args.topic_threads, https=args.https
    )
    print(f"assessment at http://{args.host}:{args.port}/", file=sys.stderr)
    if args.host not in ("127.0.0.1", "::1", "localhost") and not args.https:
        print("warning: passwords travel in the clear; put an HTTPS proxy before it and give --https", file=sys.stderr)
    run_server(app, args.host, args.port, https=args.https)


def _progress(args: argparse.Namespace) -> None:
    from porism.lab.judging.exports import progress_tsv

    print(progress_tsv(_open(args), args.cap), end="")


def _export(args: argparse.Namespace) -> None:
    from porism.lab.judging import exports
    from porism.lab.judging.results_csv import results_csv

    makers = {
        "results": results_csv,
        "narratives": exports.narratives_tsv,
        "extra": exports.extra_tsv,
        "preferences": exports.preferences_tsv,
    }
    sys.stdout.reconfigure(newline="")  # type: ignore[union-attr]
    print(makers[args.what](_open(args)), end="")


def _backup(args: argparse.Namespace) -> None:
    _open(args).backup(args.copy)


ACTIONS = {
    "create": _create,
    "account": _account,
    "load": _load,
    "train": _train,
    "assign": _assign,
    "move": _move,
    "dual": _dual,
    "training": _training,
    "extra": _extra,
    "serve": _serve,
    "progress": _progress,
    "export": _export,
    "backup": _backup,
}
