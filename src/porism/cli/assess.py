"""porism lab assess: have items judged by assessors."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli import assess_model
from porism.cli.options import add_server_options, server_settings
from porism.cli.values import port

if TYPE_CHECKING:
    from porism.lab.judging.journal import Journal

HELP = "have items judged by assessors: accounts, assignments, server, export, backup"
EXAMPLE = "porism lab assess create lab.journal"
EXAMPLES = {
    "create": EXAMPLE,
    "account": "porism lab assess account lab.journal ada",
    "load": "porism lab assess load lab.journal --pool pool1 --topics sample/topics/task1.xml",
    "assign": "porism lab assess assign lab.journal ada A.1",
    "train": "porism lab assess train lab.journal --topics sample/topics/task1.xml --known known.tsv",
    "move": "porism lab assess move lab.journal ada bob A.1",
    "dual": "porism lab assess dual lab.journal bob A.1 --size 40",
    "training": "porism lab assess training lab.journal ada --round 1",
    "extra": "porism lab assess extra lab.journal ada A.1",
    "serve": "porism lab assess serve lab.journal --collection demo/collection",
    "judge-model": "porism lab assess judge-model lab.journal model.small --collection demo/collection --endpoint http://127.0.0.1:8080/v1/chat/completions",
    "progress": "porism lab assess progress lab.journal",
    "export": "porism lab assess export lab.journal results",
    "backup": "porism lab assess backup lab.journal lab.journal.copy",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add one action for each step; the journal is the first argument of all."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, help: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        made.add_argument("journal", metavar="JOURNAL", help="the journal of judgments, one file")
        made.set_defaults(do=ACTIONS[name])
        return made

    action("create", "create an empty journal")
    account = action(
        "account", "create an account, or set a new password (you are asked for it, or it is read from stdin)"
    )
    account.add_argument("name", help="the user name")
    account.add_argument(
        "--role",
        choices=("assessor", "organiser", "team", "model"),
        default="assessor",
        help="default: %(default)s; a model has no password, and its name begins with model.",
    )
    load = action("load", "load a pool and its topics into the journal; items that it has already are skipped")
    load.add_argument("--pool", required=True, metavar="DIR", help="a folder made by porism lab pool build")
    load.add_argument("--topics", required=True, metavar="FILE", help="the topic file")
    load.add_argument(
        "--formulas",
        metavar="TSV",
        help="the table of topic formulas of the year; its LaTeX replaces that of the topics",
    )
    load.add_argument(
        "--sample",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="judge only this share of the pool, a random sample (for infAP)",
    )
    load.add_argument("--seed", type=int, default=0, help="seed of the sample (default: %(default)s)")
    train = action("train", "load training items with known grades")
    train.add_argument("--task", type=int, choices=(1, 2), default=1, help="the task (default: %(default)s)")
    train.add_argument("--topics", required=True, metavar="FILE", help="the topic file")
    train.add_argument(
        "--known", required=True, metavar="FILE", help="a table with the columns round, topic, item, grade, reason"
    )
    _assignment_arguments(action)
    _serve_arguments(action)
    assess_model.arguments(action("judge-model", assess_model.HELP))
    action("progress", "print the progress of all assignments, and the time per judgment").add_argument(
        "--cap", type=float, metavar="SECONDS", help="count at most this time for a judgment; longer ones were idle"
    )
    export = action("export", "print a table: results, narratives, answers to the extra questions, or preferences")
    export.add_argument("what", choices=("results", "narratives", "extra", "preferences"), help="the table")
    action("backup", "copy the journal, also while the server runs").add_argument("copy", help="the file to write")


def _serve_arguments(action: Callable[[str, str], argparse.ArgumentParser]) -> None:
    serve = action("serve", "run the assessment server")
    serve.add_argument("--collection", required=True, metavar="DIR", help="the collection with the posts to judge")
    serve.add_argument("--topic-threads", metavar="COLLECTION", help="a collection that has the threads of the topics")
    serve.add_argument("--submissions", metavar="DIR", help="let teams submit runs, and keep them in this folder")
    serve.add_argument("--topics", nargs="*", default=[], metavar="FILE", help="topic files to check submitted runs")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    serve.add_argument("--port", type=port, default=8002, help="port to listen on (default: %(default)s)")
    serve.add_argument(
        "--name",
        action="append",
        default=[],
        dest="names",
        help="a host name of the server, besides localhost (repeat for several)",
    )
    serve.add_argument(
        "--in-order",
        action="store_true",
        help="assessors judge items one after the other and skip none; they may go back",
    )
    serve.add_argument(
        "--https", action="store_true", help="the server is behind an HTTPS proxy: send cookies over HTTPS only"
    )
    add_server_options(serve)


def _assignment_arguments(action: Callable[[str, str], argparse.ArgumentParser]) -> None:
    assign = action("assign", "assign topics to an assessor; without names, divide all free topics among all assessors")
    assign.add_argument("assessor", nargs="?", help="the user name of the assessor")
    assign.add_argument("topics", nargs="*", help="the ids of the topics")
    move = action("move", "reassign what an assessor has not judged yet to a colleague")
    move.add_argument("assessor", help="the user name of the assessor")
    move.add_argument("colleague", help="the user name of the colleague")
    move.add_argument("topics", nargs="+", help="the ids of the topics")
    dual = action("dual", "assign topics that a colleague has judged, for a second opinion")
    dual.add_argument("assessor", help="the user name of the assessor")
    dual.add_argument("topics", nargs="+", help="the ids of the topics")
    dual.add_argument(
        "--size",
        type=int,
        metavar="N",
        help="number of items per topic, sampled in proportion to the first grades (default: all)",
    )
    dual.add_argument("--seed", type=int, default=0, help="seed of the sample (default: %(default)s)")
    training = action("training", "assign a training round to an assessor")
    training.add_argument("assessor", help="the user name of the assessor")
    training.add_argument("--round", type=int, default=1, help="the number of the round (default: %(default)s)")
    for parser in (assign, move, dual, training):
        parser.add_argument("--task", type=int, choices=(1, 2), default=1, help="the task (default: %(default)s)")
    extra = action("extra", "assign the two extra yes/no questions on a sample of answers")
    extra.add_argument("assessor", help="the user name of the assessor")
    extra.add_argument("topics", nargs="+", help="the ids of the topics")
    extra.add_argument(
        "--size", type=int, default=20, metavar="N", help="number of answers per topic (default: %(default)s)"
    )
    extra.add_argument("--seed", type=int, default=0, help="seed of the sample (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Do the action."""
    args.do(args)
    return 0


def _open(args: argparse.Namespace) -> Journal:
    from porism.lab.judging.journal import Journal

    return Journal.open(args.journal)


def _create(args: argparse.Namespace) -> None:
    from porism.lab.judging.journal import Journal

    Journal.create(args.journal).close()


def _account(args: argparse.Namespace) -> None:
    from porism.lab.judging.people import add_account, add_model_account

    if args.role == "model":
        add_model_account(_open(args), args.name)
        return
    password = getpass.getpass("password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    add_account(_open(args), args.name, args.role, password)


def _load(args: argparse.Namespace) -> None:
    from porism.corpus.topics.files import read_topics
    from porism.lab.judging.items import load_pool, load_topics, topic_threads
    from porism.lab.pooling.build import read_manifest, read_pool

    task = read_manifest(Path(args.pool)).task
    pool, journal = read_pool(Path(args.pool)), _open(args)
    load_topics(journal, task, read_topics(args.topics, args.formulas), topic_threads(args.formulas))
    added = load_pool(journal, task, pool.items, pool.answers, sample=args.sample, seed=args.seed)
    print(f"{added} items added", file=sys.stderr)


def _train(args: argparse.Namespace) -> None:
    from porism.corpus.topics.files import read_topics
    from porism.lab.judging.items import load_topics
    from porism.lab.judging.training import load_training, read_training_items

    journal, known = _open(args), read_training_items(args.known)
    wanted = {one.topic for one in known}
    load_topics(journal, args.task, [topic for topic in read_topics(args.topics) if topic.id in wanted])
    print(f"{load_training(journal, args.task, known)} training items added", file=sys.stderr)


def _assign(args: argparse.Namespace) -> None:
    from porism.lab.judging.assessments import is_model
    from porism.lab.judging.assign import assign_topic, share_topics
    from porism.lab.judging.people import accounts

    journal = _open(args)
    if args.assessor:
        shared = {args.assessor: args.topics}
        for topic in args.topics:
            assign_topic(journal, args.assessor, args.task, topic)
    else:
        names = [account.name for account in accounts(journal, "assessor") if not is_model(account.name)]
        shared = share_topics(journal, args.task, names)
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
    from porism.web.assess.app import AssessmentSettings, serve

    settings = AssessmentSettings(
        args.journal,
        args.collection,
        args.submissions,
        tuple(args.topics),
        args.topic_threads,
        args.https,
        (args.host, *args.names),
        args.in_order,
    )
    if args.host not in ("127.0.0.1", "::1", "localhost") and not args.https:
        print("warning: passwords are sent unencrypted; use an HTTPS proxy and give --https", file=sys.stderr)
    serve(settings, args.host, args.port, server_settings(args, trust_proxy=args.https))


def _progress(args: argparse.Namespace) -> None:
    from porism.lab.judging.exports import progress_tsv

    print(progress_tsv(_open(args), args.cap), end="")


def _export(args: argparse.Namespace) -> None:
    from porism.lab.judging import exports
    from porism.lab.judging.exports import results_csv

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
    "judge-model": assess_model.run,
    "progress": _progress,
    "export": _export,
    "backup": _backup,
}
