from __future__ import annotations

import argparse

HELP = "Serve the search page and the API of an index, on this machine only unless told otherwise."
EXAMPLE = "porism serve demo/index --port 8100"
MOST_WORKERS = 4


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("index", help="an index made by porism index")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind to (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8100, help="port (default: %(default)s; 0 picks a free one)")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        help="a host name under which the server is reached, besides loopback (may repeat)",
    )
    parser.add_argument(
        "--cors",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="an origin whose pages may call the API (may repeat; * for all)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help=f"processes that answer (default: one for each core, at most {MOST_WORKERS})",
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of a query (default: %(default)s)")
    parser.add_argument("--experiment", metavar="DIR", help="a folder with qrels and runs to show as a leaderboard")
    parser.add_argument("--assess-url", default="", help="address of the assessment server, to link to it")
    parser.add_argument(
        "--endpoint",
        default="",
        metavar="URL",
        help="chat-completions address of a language model, for generated answers (key: PORISM_ENDPOINT_KEY)",
    )
    parser.add_argument("--endpoint-model", default="default", metavar="NAME", help="model to ask for at the endpoint")


def run(args: argparse.Namespace) -> int:
    """Open the index and serve it until interrupted."""
    from porism.parallel import cores
    from porism.web.server.run import Settings, serve

    settings = Settings(
        args.index,
        (args.host, *args.name),
        tuple(args.cors),
        args.seconds,
        args.experiment,
        args.assess_url,
        (args.endpoint, args.endpoint_model) if args.endpoint else None,
    )
    serve(settings, args.host, args.port, args.workers or min(MOST_WORKERS, cores()))
    return 0
