"""porism lab assess judge-model: have a language model judge what is assigned to it."""

from __future__ import annotations

import argparse
import sys

from porism.cli.values import positive, positive_seconds

HELP = "have a language model judge what is assigned to its account; an interrupted run is continued"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the action."""
    parser.add_argument("model", metavar="ACCOUNT", help="the account of the model: model.NAME")
    parser.add_argument("--collection", required=True, metavar="DIR", help="the collection with the posts to judge")
    parser.add_argument(
        "--endpoint",
        required=True,
        metavar="URL",
        help="the chat-completions address of the model (API key: PORISM_ENDPOINT_KEY)",
    )
    parser.add_argument("--endpoint-model", default="default", metavar="NAME", help="its name (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=positive_seconds, default=60.0, help="time limit of a reply (default: %(default)s)"
    )
    parser.add_argument(
        "--attempts", type=positive, default=4, metavar="N", help="requests for a grade (default: %(default)s)"
    )
    parser.set_defaults(resume="run the same command again to continue")


def run(args: argparse.Namespace) -> None:
    """Judge all open items and print what the judgments of this model have cost so far."""
    import os

    from porism.lab.judging.journal import Journal
    from porism.lab.judging.model_judge import ModelJudge, RetryPolicy, total_usage
    from porism.search.generation.endpoint import KEY_VARIABLE, Endpoint
    from porism.store import open_content

    journal = Journal.open(args.journal)
    endpoint = Endpoint(args.endpoint, args.endpoint_model, os.environ.get(KEY_VARIABLE, ""), args.seconds)
    judge = ModelJudge(journal, open_content(args.collection), args.model, endpoint, RetryPolicy(args.attempts))
    judged = judge.run(print)
    cost = total_usage(journal, args.model)
    print(
        f"{judged} items judged now; all judgments of {args.model}: {cost.requests:,} requests, {cost.prompt_tokens:,} tokens read, "
        f"{cost.completion_tokens:,} written, {cost.seconds:,.1f} s",
        file=sys.stderr,
    )
