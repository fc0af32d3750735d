"""What all kinds of models share: loading with clear errors, the number of tokens that are read, texts in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from porism.errors import PorismError
from porism.models.directory import ModelDirectory
from porism.models.libraries import library

UNREADABLE = (OSError, ValueError, TypeError, LookupError, AttributeError, RuntimeError, ImportError)
CHUNK_BATCHES = 8  # batches that are sorted by length together; progress is reported after each chunk

Item = TypeVar("Item")


class Transformer(NamedTuple):
    """A tokenizer and a model of the library transformers."""

    tokenizer: Any
    model: Any


def load_transformer(
    directory: ModelDirectory, model_class: str, path: Path | None = None, **options: Any
) -> Transformer:
    """Load the tokenizer of a directory, and its model as a class of transformers such as AutoModelForCausalLM.

    `path` is a folder inside the directory, if the files are there; `options` are those of the model.
    """
    transformers, place = library("transformers"), str(path or directory.path)
    safe = {
        "local_files_only": True,
        "trust_remote_code": False,
    }  # no code of the directory, and no question whether to run it
    tokenizer = loaded(directory, lambda: transformers.AutoTokenizer.from_pretrained(place, **safe))
    maker = getattr(transformers, model_class)
    model = loaded(directory, lambda: maker.from_pretrained(place, use_safetensors=True, **safe, **options).eval())
    return Transformer(tokenizer, model)


def loaded(directory: ModelDirectory, load: Callable[[], Any]) -> Any:
    """Return what a library loads of a directory; whatever it raises is reported with the directory."""
    library("torch")
    try:
        return load()
    except PorismError:
        raise
    except UNREADABLE as error:
        fact = f"cannot be loaded as a {directory.kind}: {error}".splitlines()[0][:300]
        raise PorismError(
            fact, where=str(directory.path), fix="copy the directory again, or name another one"
        ) from error
    except Exception as error:  # libraries of compiled code raise classes of their own
        raise PorismError(
            f"cannot be loaded: {error}"[:300], where=str(directory.path), fix="copy the directory again"
        ) from error


def limited(directory: ModelDirectory, length: int | None, own: int | None) -> int:
    """Return the number of tokens that are read of a text: the requested one, or the model's own. More than the model has positions for is refused."""
    most = int(directory.config.get("max_position_embeddings") or 512)
    if str(directory.config.get("model_type", "")) in ("roberta", "xlm-roberta", "camembert"):
        most -= 2  # two positions are taken by the padding index
    if length is not None and not 8 <= length <= most:
        raise PorismError(
            f"reads at most {most} tokens of a text, not {length}",
            where=str(directory.path),
            fix=f"request 8 to {most} tokens",
        )
    return min(most, length or own or most)


def count_longer(tokenizer: Any, texts: Sequence[str], length: int) -> int:
    """Return how many texts have more than `length` tokens. Texts that are shorter in bytes are not tokenized."""
    long = [text for text in texts if len(text.encode()) >= length - 2]
    if not long:
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
