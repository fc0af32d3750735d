"""Convert the files of a model: a bi-encoder to ONNX, also with 8-bit weights, and pickled weights to safetensors."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from porism.errors import PorismError
from porism.files import already_exists, atomic_directory
from porism.models.directory import ONNX, ONNX_INT8, WEIGHTS, ModelDirectory
from porism.models.encoder import read_pooling
from porism.models.libraries import library
from porism.models.loading import computing, load_transformer

Precision = Literal["float32", "int8"]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"
OPSET = 17
RECORD = "export.json"  # of which model an export was made
COPIED = (".json", ".txt", ".model")  # suffixes of configuration and tokenizer


def export_onnx(directory: ModelDirectory, out: Path, precision: Precision = "float32") -> ModelDirectory:
    """Write a new model directory: the model as ONNX, its configuration and its tokenizer. Return it, checked."""
    directory.require("bi-encoder")
    if out.exists():
        raise already_exists(out)
    if not is_exportable(directory):
        fact = "cannot be used as ONNX: it needs mean or first-token pooling and a tokenizer.json"
        raise directory.error(fact, "use the directory as it is, with torch")
    with atomic_directory(out) as work:
        for path in directory.path.rglob("*"):
            inner = path.relative_to(directory.path)
            if path.is_file() and path.suffix in COPIED and not path.name.endswith(".index.json"):
                (work / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, work / inner)
        (work / ONNX[0]).parent.mkdir(exist_ok=True)
        record = {"name": directory.name, "digest": directory.digest, "precision": precision}
        (work / RECORD).write_text(json.dumps(record, indent=2) + "\n", "utf-8")
        with _quiet(), computing(directory):
            _write(directory, work / ONNX[0])
            if precision == "int8":  # instead of 32 bits; activations are quantised when it runs
                quantization = library("onnxruntime.quantization")
                source, target, kind = str(work / ONNX[0]), str(work / ONNX_INT8[0]), quantization.QuantType.QInt8
                quantization.quantize_dynamic(source, target, weight_type=kind, per_channel=True)
                (work / ONNX[0]).unlink()
    return ModelDirectory.open(out)


def is_exportable(directory: ModelDirectory) -> bool:
    """Return whether a bi-encoder can run as ONNX: by its pooling and its tokenizer."""
    return read_pooling(directory) is not None and (directory.path / "tokenizer.json").is_file()


def int8_of(directory: ModelDirectory, folder: Path) -> ModelDirectory:
    """Return the export of a model with 8-bit weights in a folder, named after the model; make it if it is not
    there."""
    if not directory.tensor_names():  # it is an export already
        return directory
    out = folder / f"{directory.name}-int8"
    if not out.exists():
        folder.mkdir(parents=True, exist_ok=True)
        return export_onnx(directory, out, "int8")
    try:
        exported_from = json.loads((out / RECORD).read_text("utf-8"))["digest"]
    except (OSError, ValueError, LookupError, TypeError):
        exported_from = ""
    if exported_from != directory.digest:
        fix = "remove it, or use the weights as they are: --no-int8"
        raise PorismError(f"exists, and was not exported from {directory.path}", where=str(out), fix=fix)
    return ModelDirectory.open(out)


def _write(directory: ModelDirectory, target: Path) -> None:
    torch, onnx = library("torch"), library("onnx")
    loaded = load_transformer(directory, "AutoModel", attn_implementation="eager")
    example = loaded.tokenizer(["two texts of", "different lengths"], padding=True, return_tensors="pt")
    names = [name for name in INPUTS if name in example]

    class States(torch.nn.Module):  # type: ignore[misc, name-defined]
        """The model, with one tensor as its result."""

        def __init__(self) -> None:
            super().__init__()
            self.model = loaded.model

        def forward(self, *values: Any) -> Any:
            return self.model(**dict(zip(names, values, strict=True))).last_hidden_state

    torch.onnx.export(
        States().eval(),
        tuple(example[name] for name in names),
        str(target),
        dynamo=False,  # the newer exporter needs more packages, and is no better here
        input_names=names,
        output_names=[OUTPUT],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*names, OUTPUT)},
        opset_version=OPSET,
    )
    onnx.checker.check_model(str(target))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the notices of the exporters from the terminal."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def convert_pickles(folder: Path) -> list[Path]:
    """Write the weights of a model, and of its modules, as safetensors beside the pickles; return the new files."""
    if not folder.is_dir():
        raise PorismError("no such model directory", where=str(folder), fix="name the directory of a model")
    found = [path for name in PICKLES for path in sorted(folder.rglob(name))]
    missing = [path for path in found if not any((path.parent / name).is_file() for name in WEIGHTS)]
    if not missing:
        fact = "all its weights are there as safetensors" if found else f"has no weights to convert ({PICKLES[0]})"
        fix = "porism model show says what is wrong with a directory, if anything"
        raise PorismError(fact, where=str(folder), fix=fix)
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
        raise PorismError("no table of weights", where=str(path), fix="name another directory")
    return content
