"""Write pickled weights as safetensors. A pickle may hold code; torch's own reader of weights runs none of it."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.models.directory import WEIGHTS
from porism.models.libraries import library

PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def convert_pickles(folder: Path) -> list[Path]:
    """Write the weights of a model, and of its modules, as safetensors beside the pickles; return the new files."""
    if not folder.is_dir():
        raise PorismError("no such model directory", where=str(folder), fix="name the directory of a model")
    found = [path for name in PICKLES for path in sorted(folder.rglob(name))]
    missing = [path for path in found if not any((path.parent / name).is_file() for name in WEIGHTS)]
    if not missing:
        fact = "all its weights are there as safetensors" if found else f"has no weights to convert ({PICKLES[0]})"
        raise PorismError(
            fact, where=str(folder), fix="porism models show says what is wrong with a directory, if anything"
        )
    return [_convert(path) for path in missing]


def _convert(pickle: Path) -> Path:
    tensors: dict[str, Any] = {}
    for shard in _shards(pickle):
        tensors.update(_read(shard))
    target = pickle.with_name(WEIGHTS[0])
    unfinished = target.with_suffix(".part")
    whole = {name: value.clone().contiguous() for name, value in tensors.items()}  # shared tensors become two
    library("safetensors.torch").save_file(whole, str(unfinished), {"format": "pt"})
    os.replace(unfinished, target)
    return target


def _shards(pickle: Path) -> list[Path]:
    if pickle.suffix != ".json":
        return [pickle]
    try:
        names = {str(name) for name in json.loads(pickle.read_text("utf-8"))["weight_map"].values()}
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        raise PorismError("names no shards", where=str(pickle), fix="copy the directory again") from None
    return [pickle.parent / Path(name).name for name in sorted(names)]


def _read(path: Path) -> dict[str, Any]:
    """Return the tensors of a pickle. Whatever else it holds is refused before it is made."""
    torch = library("torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the protocol of the pickle
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises what the pickle makes it raise
        fact = f"is damaged, or holds more than weights: {error}".splitlines()[0][:200]
        raise PorismError(fact, where=str(path), fix="fetch the model as safetensors from its authors") from error
    if not isinstance(content, dict) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise PorismError("is no table of weights", where=str(path), fix="name another directory")
    return content
