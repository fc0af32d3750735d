"""porism lab assess: have items judged by assessors."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import (
    HOST,
    JOURNAL,
    SERVER,
    argument,
    command,
    flag,
    names_option,
    port,
    positive,
    positive_seconds,
    with_default,
)

if TYPE_CHECKING:
    from porism.lab.judging.journal import Journal


TASK = with_default("--task", 1, "the task", choices=(1, 2))
ASSESSOR = argument("assessor", help="the user name of the assessor")
TOPICS = argument("topics", nargs="+", help="the ids of the topics")


def _open(args: argparse.Namespace) -> Journal:
    from porism.lab.judging.journal import Journal

    return Journal.open(args.journal)


@command("porism lab assess create lab.journal", JOURNAL)
def create(args: argparse.Namespace) -> None:
    """Create the journal."""
    from porism.lab.judging.journal import Journal

    Journal.create(args.journal).close()


@command(
    "porism lab assess account lab.journal ada",
    JOURNAL,
    argument("name", help="the user name"),
    argument(
        "--role",
        choices=("assessor", "organiser", "team", "model"),
        default="assessor",
        help="default: %(default)s; a model has no password, and its name begins with model.",
    ),
)
def account(args: argparse.Namespace) -> None:
    """Create the account, or change its password."""
    from porism.lab.judging.people import add_account, add_model_account

    if args.role == "model":
        add_model_account(_open(args), args.name)
        return
    password = getpass.getpass("password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    add_account(_open(args), args.name, args.role, password)


@command(
    "porism lab assess load lab.journal --pool pool1 --topics sample/topics/task1.xml",
    JOURNAL,
    argument("--pool", required=True, metavar="DIR", help="a folder made by porism lab pool build"),
    argument("--topics", required=True, metavar="FILE", help="the topic file"),
    argument(
        "--formulas",
        metavar="TSV",
        help="the table of topic formulas of the year; its LaTeX replaces that of the topics",
    ),
    argument(
        "--sample",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="judge only this share of the pool, a random sample (for infAP)",
    ),
    with_default("--seed", 0, "seed of the sample"),
)
def load(args: argparse.Namespace) -> None:
    """Load the pool, and print how many items are new."""
    from porism.corpus.topics.files import read_topics
    from porism.lab.judging.items import load_pool, load_topics, topic_threads
    from porism.lab.pooling.build import read_manifest, read_pool

    task = read_manifest(Path(args.pool)).task
    pool, journal = read_pool(Path(args.pool)), _open(args)
    load_topics(journal, task, read_topics(args.topics, args.formulas), topic_threads(args.formulas))
    added = load_pool(journal, task, pool.items, pool.answers, sample=args.sample, seed=args.seed)
    print(f"{added} items added", file=sys.stderr)


@command(
    "porism lab assess train lab.journal --topics sample/topics/task1.xml --known known.tsv",
    JOURNAL,
    TASK,
    argument("--topics", required=True, metavar="FILE", help="the topic file"),
    argument(
        "--known", required=True, metavar="FILE", help="a table with the columns round, topic, item, grade, reason"
    ),
)
def train(args: argparse.Namespace) -> None:
    """Load the items, and print how many are new."""
    from porism.corpus.topics.files import read_topics
    from porism.lab.judging.items import load_topics, load_training, read_training_items

    journal, known = _open(args), read_training_items(args.known)
    wanted = {one.topic for one in known}
    load_topics(journal, args.task, [topic for topic in read_topics(args.topics) if topic.id in wanted])
    print(f"{load_training(journal, args.task, known)} training items added", file=sys.stderr)


@command(
    "porism lab assess assign lab.journal ada A.1",
    JOURNAL,
    argument("assessor", nargs="?", help="the user name of the assessor"),
    argument("topics", nargs="*", help="the ids of the topics"),
    TASK,
)
def assign(args: argparse.Namespace) -> None:
    """Assign the topics, and print the topics of each assessor."""
    from porism.lab.judging.assignments import assign_topic, share_topics
    from porism.lab.judging.people import accounts, is_model

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


@command(
    "porism lab assess move lab.journal ada bob A.1",
    JOURNAL,
    ASSESSOR,
    argument("colleague", help="the user name of the colleague"),
    TOPICS,
    TASK,
)
def move(args: argparse.Namespace) -> None:
    """Reassign the topics, and print how many items each has."""
    from porism.lab.judging.assignments import move_topic

    for topic in args.topics:
        print(f"{topic}\t{move_topic(_open(args), args.assessor, args.colleague, args.task, topic)}")


@command(
    "porism lab assess dual lab.journal bob A.1 --size 40",
    JOURNAL,
    ASSESSOR,
    TOPICS,
    argument(
        "--size",
        type=int,
        metavar="N",
        help="number of items per topic, sampled in proportion to the first grades (default: all)",
    ),
    with_default("--seed", 0, "seed of the sample"),
    TASK,
)
def dual(args: argparse.Namespace) -> None:
    """Assign the topics, and print how many items each has."""
    from porism.lab.judging.assignments import assign_dual

    for topic in args.topics:
        print(f"{topic}\t{assign_dual(_open(args), args.assessor, args.task, topic, args.size, args.seed)}")


@command(
    "porism lab assess training lab.journal ada --round 1",
    JOURNAL,
    ASSESSOR,
    with_default("--round", 1, "the number of the round"),
    TASK,
)
def training(args: argparse.Namespace) -> None:
    """Assign the round, and print how many items it has."""
    from porism.lab.judging.assignments import assign_training

    print(assign_training(_open(args), args.assessor, args.task, args.round))


@command(
    "porism lab assess extra lab.journal ada A.1",
    JOURNAL,
    ASSESSOR,
    TOPICS,
    with_default("--size", 20, "number of answers per topic", metavar="N"),
    with_default("--seed", 0, "seed of the sample"),
)
def extra(args: argparse.Namespace) -> None:
    """Assign the questions, and print how many answers of each topic they are about."""
    from porism.lab.judging.assignments import assign_extra

    for topic in args.topics:
        print(f"{topic}\t{assign_extra(_open(args), args.assessor, topic, args.size, args.seed)}")


@command(
    "porism lab assess serve lab.journal --collection demo/collection",
    JOURNAL,
    argument("--collection", required=True, metavar="DIR", help="the collection with the posts to judge"),
    argument("--topic-threads", metavar="COLLECTION", help="a collection that has the threads of the topics"),
    argument("--submissions", metavar="DIR", help="let teams submit runs, and keep them in this folder"),
    argument("--topics", nargs="*", default=[], metavar="FILE", help="topic files to check submitted runs"),
    HOST,
    with_default("--port", 8002, "port to listen on", type=port),
    names_option(dest="names"),
    flag("--in-order", "assessors judge items one after the other and skip none; they may go back"),
    flag("--https", "the server is behind an HTTPS proxy: send cookies over HTTPS only"),
    SERVER,
)
def serve(args: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    from porism.web.assess.app import AssessmentSettings, serve
    from porism.web.http.connections import ConnectionLimits
    from porism.web.http.workers import ServerSettings

    topics, hosts = tuple(args.topics), (args.host, *args.names)
    settings = AssessmentSettings(
        args.journal, args.collection, args.submissions, topics, args.topic_threads, args.https, hosts, args.in_order
    )
    if args.host not in ("127.0.0.1", "::1", "localhost") and not args.https:
        print("warning: passwords are sent unencrypted; use an HTTPS proxy and give --https", file=sys.stderr)
    limits = ConnectionLimits(idle_seconds=args.idle_seconds, connections=args.connections)
    server = ServerSettings(1, limits, args.frozen_seconds, args.stop_seconds, args.https, args.log_format)
    serve(settings, args.host, args.port, server)


@command(
    "porism lab assess progress lab.journal",
    JOURNAL,
    argument(
        "--cap", type=float, metavar="SECONDS", help="count at most this time for a judgment; longer ones were idle"
    ),
)
def progress(args: argparse.Namespace) -> None:
    """Print the table."""
    from porism.lab.judging.exports import progress_tsv

    print(progress_tsv(_open(args), args.cap), end="")


@command(
    "porism lab assess export lab.journal results",
    JOURNAL,
    argument("what", choices=("results", "narratives", "extra", "preferences"), help="the table"),
)
def export(args: argparse.Namespace) -> None:
    """Print the table."""
    from porism.lab.judging import exports

    makers = {
        "results": exports.results_csv,
        "narratives": exports.narratives_tsv,
        "extra": exports.extra_tsv,
        "preferences": exports.preferences_tsv,
    }
    sys.stdout.reconfigure(newline="")  # type: ignore[union-attr]
    print(makers[args.what](_open(args)), end="")


@command("porism lab assess backup lab.journal lab.journal.copy", JOURNAL, argument("copy", help="the file to write"))
def backup(args: argparse.Namespace) -> None:
    """Copy the journal."""
    _open(args).backup(args.copy)


@command(
    "porism lab assess judge-model lab.journal model.small --collection demo/collection "
    "--endpoint http://127.0.0.1:8080/v1/chat/completions",
    JOURNAL,
    argument("model", metavar="ACCOUNT", help="the account of the model: model.NAME"),
    argument("--collection", required=True, metavar="DIR", help="the collection with the posts to judge"),
    argument(
        "--endpoint",
        required=True,
        metavar="URL",
        help="the chat-completions address of the model (API key: PORISM_ENDPOINT_KEY)",
    ),
    with_default("--endpoint-model", "default", "its name", metavar="NAME"),
    with_default("--seconds", 60.0, "time limit of a reply", type=positive_seconds),
    with_default("--attempts", 4, "requests for a grade", type=positive, metavar="N"),
    resume="run the same command again to continue",
)
def judge_model(args: argparse.Namespace) -> None:
    """Judge all open items and print what the judgments of this model have cost so far."""
    import os

    from porism.lab.judging.model_judge import ModelJudge, RetryPolicy, total_usage
    from porism.search.generation.endpoint import KEY_VARIABLE, Endpoint
    from porism.store import open_content

    journal = _open(args)
    endpoint = Endpoint(args.endpoint, args.endpoint_model, os.environ.get(KEY_VARIABLE, ""), args.seconds)
    judge = ModelJudge(journal, open_content(args.collection), args.model, endpoint, RetryPolicy(args.attempts))
    judged = judge.run(print)
    cost = total_usage(journal, args.model)
    tokens = f"{cost.prompt_tokens:,} tokens read, {cost.completion_tokens:,} written"
    work = f"all judgments of {args.model}: {cost.requests:,} requests, {tokens}, {cost.seconds:,.1f} s"
    print(f"{judged} items judged now; {work}", file=sys.stderr)
