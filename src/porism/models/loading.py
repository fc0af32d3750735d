"""What all kinds of models share: loading with clear errors, the number of tokens that are read, texts in chunks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.models.directory import ModelDirectory
from porism.models.libraries import library

UNREADABLE = (OSError, ValueError, TypeError, LookupError, AttributeError, RuntimeError, ImportError)
OTHER_SIZES = "its weights have other sizes than config.json says"
CHUNK_BATCHES = 8  # batches that are sorted by length together; progress is reported after each chunk

Item = TypeVar("Item")
# What sentence-transformers must not do: ask a server, run code of the directory, or read pickled weights.
SAFE: dict[str, Any] = {
    "local_files_only": True,
    "trust_remote_code": False,
    "model_kwargs": {"use_safetensors": True},
}


class Transformer(NamedTuple):
    """A tokenizer and a model of the library transformers."""

    tokenizer: Any
    model: Any


def load_transformer(
    directory: ModelDirectory,
    model_class: str,
    path: Path | None = None,
    *,
    new_head: bool = False,
    tokenizer_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Transformer:
    """Load the tokenizer of a directory, and its model as a class of transformers such as AutoModelForCausalLM.

    `path` is a folder inside the directory, if the files are there; `options` are those of the model. A model that is
    trained may have a `new_head`, which the directory has no weights for.
    """
    if not directory.tensor_names():
        fix = "name the directory that it was exported from, which has model.safetensors"
        raise directory.error("has its weights as ONNX only", fix)
    transformers, place = library("transformers"), str(path or directory.path)
    # No code of the directory, and no question whether to run it.
    safe = {"local_files_only": True, "trust_remote_code": False}
    own = {**(tokenizer_options or {}), **safe}
    tokenizer = loaded(directory, lambda: transformers.AutoTokenizer.from_pretrained(place, **own))
    maker = getattr(transformers, model_class)
    model, info = loaded(directory, lambda: _with_info(maker, place, **safe, **options))
    base = f"{model.base_model_prefix}." if new_head else ""
    pooler = not new_head and model_class != "AutoModel"
    _refuse_lost(directory, [name for name in _lost(info, pooler) if name.startswith(base)])
    return Transformer(tokenizer, model.eval())


def check_weights(directory: ModelDirectory, model: Any, pooler: bool) -> None:
    """Refuse a model of sentence-transformers if the directory lacks weights: libraries make up what is missing, at
    random. `pooler` says whether the model uses the layer of that name; many directories have none."""
    kind, stored = library("transformers").PreTrainedModel, directory.tensor_names()
    own = next((part for part in model.modules() if isinstance(part, kind)), None)
    prefix = f"{own.base_model_prefix}." if own else ""
    if own and not all({name, prefix + name, name.removeprefix(prefix)} & stored for name in own.state_dict()):
        # Weights may have other names than the model's, or be shared. The library knows, at the cost of loading again.
        place = str(directory.weights_folder)
        _, info = loaded(directory, lambda: _with_info(type(own), place, local_files_only=True))
        _refuse_lost(directory, _lost(info, pooler))


def _with_info(maker: Any, place: str, **options: Any) -> Any:
    """Return a model, and what the library found missing or of another size."""
    return maker.from_pretrained(
        place, use_safetensors=True, ignore_mismatched_sizes=True, output_loading_info=True, **options
    )


def _lost(info: dict[str, Any], pooler: bool) -> list[str]:
    """Return the names of the weights that were made up, those of the pooler only if it is used."""
    mismatched = [one if isinstance(one, str) else one[0] for one in info["mismatched_keys"]]
    return sorted(name for name in {*info["missing_keys"], *mismatched} if pooler or "pooler" not in name.split("."))


def _refuse_lost(directory: ModelDirectory, names: Collection[str]) -> None:
    if names:
        fact = f"has no fitting weights for {len(names):,} parts of the model that config.json describes"
        fix = "copy the whole directory, or name another one"
        raise directory.error(f"{fact}, such as {min(names)}", fix)


def check_vocabulary(directory: ModelDirectory, tokens: Mapping[str, int]) -> None:
    """Refuse a tokenizer that makes tokens which the model has no vectors for."""
    known = directory.config.get("vocab_size")
    most = max(tokens.values(), default=0) + 1
    if isinstance(known, int) and most > known:
        fact = f"the tokenizer makes {most:,} tokens, of which the model knows {known:,}: it is that of another model"
        raise directory.error(fact, "copy the tokenizer's files of the same model")


@contextlib.contextmanager
def computing(directory: ModelDirectory) -> Iterator[None]:
    """Report what a library raises while a model reads texts."""
    try:
        yield
    except (PorismError, OSError):  # of the disk, not of the model
        raise
    except Exception as error:  # libraries of compiled code raise classes of their own
        fact = f"the model cannot read a text: {error}".splitlines()[0][:300]
        fix = "copy the directory again: tokenizer and weights may be of different models"
        raise directory.error(fact, fix) from error


def finite(directory: ModelDirectory, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return what a model computed, if all of it are numbers."""
    if np.isfinite(values).all():
        return values
    fact = "the model computes values that are not numbers (NaN or infinite): its weights are damaged"
    raise directory.error(fact, "copy the directory again, or name another one")


def loaded(directory: ModelDirectory, load: Callable[[], Any]) -> Any:
    """Return what a library loads of a directory; whatever it raises is reported with the directory."""
    library("torch")
    try:
        return load()
    except PorismError:
        raise
    except UNREADABLE as error:
        reason = OTHER_SIZES if "ignore_mismatched_sizes" in str(error) else error
        fact = f"cannot be loaded as a {directory.kind}: {reason}".splitlines()[0][:300]
        raise directory.error(fact, "copy the directory again, or name another one") from error
    except Exception as error:  # libraries of compiled code raise classes of their own
        raise directory.error(f"cannot be loaded: {error}"[:300], "copy the directory again") from error


def limited(directory: ModelDirectory, length: int | None, own: int | None) -> int:
    """Return the number of tokens that are read of a text: the requested one, or the model's own. More than the model
    has positions for is refused."""
    most = int(directory.config.get("max_position_embeddings") or 512)
    if str(directory.config.get("model_type", "")) in ("roberta", "xlm-roberta", "camembert"):
        most -= 2  # two positions are taken by the padding index
    if length is not None and not 8 <= length <= most:
        raise directory.error(f"reads at most {most} tokens of a text, not {length}", f"request 8 to {most} tokens")
    return min(most, length or own or most)


def count_longer(tokenizer: Any, texts: Sequence[str], length: int) -> int:
    """Return how many texts have more than `length` tokens. Texts that are shorter in bytes are not tokenized."""
    if not (long := [text for text in texts if len(text.encode()) >= length - 2]):
        return 0
    tokens = tokenizer(long, truncation=False, padding=False, return_attention_mask=False, verbose=False)
    return sum(len(one) > length for one in tokens["input_ids"])


def chunks(items: Sequence[Item], size: int, progress: Callable[[int], None] | None = None) -> Iterator[list[Item]]:
    """Yield items in chunks. `progress` is called with the size of a chunk when the next one is requested."""
    for start in range(0, len(items), size):
        chunk = list(items[start : start + size])
        yield chunk
        if progress:
            progress(len(chunk))
