"""Model directories: kinds, digests, and what is wrong with bad ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.models.directory import ModelDirectory


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A directory that looks like a model, written by hand: no library is needed to check it."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertModel"], "model_type": "bert"}))
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    (folder / "tokenizer.json").write_text("{}")
    return folder


def error_of(path: Path | str) -> PorismError:
    with pytest.raises(PorismError) as caught:
        ModelDirectory.open(path)
    return caught.value


def test_whole_directory(copied: Path) -> None:
    found = ModelDirectory.open(copied)
    assert (found.name, found.kind, len(found.digest), found.onnx) == ("model", "bi-encoder", 32, None)


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("BertForSequenceClassification", "cross-encoder"),
        ("RobertaForMaskedLM", "sparse"),
        ("GPT2LMHeadModel", "causal"),
        ("LlamaForCausalLM", "causal"),
        ("HF_ColBERT", "late interaction"),
        ("AlbertModel", "bi-encoder"),
    ],
)
def test_kind_by_architecture(copied: Path, architecture: str, kind: str) -> None:
    (copied / "config.json").write_text(json.dumps({"architectures": [architecture]}))
    assert ModelDirectory.open(copied).kind == kind


def test_kind_by_modules(copied: Path) -> None:
    modules = [{"path": "", "type": "x.Transformer"}, {"path": "1_SpladePooling", "type": "x.SpladePooling"}]
    (copied / "modules.json").write_text(json.dumps(modules))
    assert ModelDirectory.open(copied).kind == "sparse"


def test_digest_covers_weights_and_not_the_readme(copied: Path) -> None:
    before = ModelDirectory.open(copied).digest
    (copied / "README.md").write_text("words")
    assert ModelDirectory.open(copied).digest == before
    content = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(content[:-1] + b"\1")
    assert ModelDirectory.open(copied).digest != before


def test_foreign_directory(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    assert "has no config.json" in str(error_of(tmp_path))


def test_other_json(copied: Path) -> None:
    (copied / "config.json").write_text('{"name": "a package"}')
    assert "names no architecture" in str(error_of(copied))
    (copied / "config.json").write_text("{")
    assert "config.json cannot be read" in str(error_of(copied))
    (copied / "config.json").write_text("[]")
    assert "is not a JSON dict" in str(error_of(copied))


def test_truncated_weights(copied: Path) -> None:
    content = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(content[:-3])
    assert "model.safetensors is truncated or damaged" in str(error_of(copied))
    (copied / "model.safetensors").write_bytes(content[:10])
    assert "is not a whole safetensors file" in str(error_of(copied))
    (copied / "model.safetensors").write_bytes(b"")
    assert "is not a whole safetensors file" in str(error_of(copied))


def test_missing_shard(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    assert "has no weights" in str(error_of(copied))
    (copied / "model.safetensors.index.json").write_text('{"weight_map": {"w": "model-00001-of-00002.safetensors"}}')
    assert "has no model-00001-of-00002.safetensors" in str(error_of(copied))


def test_missing_tokenizer(copied: Path) -> None:
    (copied / "tokenizer.json").unlink()
    assert "has no tokenizer" in str(error_of(copied))


def test_hub_name_gets_the_command() -> None:
    error = error_of("witiko/mathberta")
    assert "Porism downloads nothing" in error.message
    assert error.fix.endswith("hf download witiko/mathberta --local-dir mathberta")


def test_wrong_path(tmp_path: Path) -> None:
    assert "no such model directory" in str(error_of(tmp_path / "none"))


def test_wrong_kind(copied: Path) -> None:
    with pytest.raises(PorismError, match="a model of the kind bi-encoder; needed is cross-encoder"):
        ModelDirectory.open(copied).require("cross-encoder")


def test_a_copy_is_the_same_model(copied: Path, tmp_path: Path) -> None:
    shutil.copytree(copied, tmp_path / "copy")
    assert ModelDirectory.open(copied).digest == ModelDirectory.open(tmp_path / "copy").digest


@pytest.mark.parametrize("name", ["pytorch_model.bin", "2_Dense/pytorch_model.bin", "pytorch_model-00001-of-00002.bin"])
def test_pickles_are_never_read(copied: Path, name: str) -> None:
    pickled = copied / name
    pickled.parent.mkdir(exist_ok=True)
    pickled.write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    if pickled.parent == copied:
        ModelDirectory.open(copied)  # libraries read the safetensors beside it
        (copied / "model.safetensors").unlink()
    (pickled.parent / "other.safetensors").write_bytes(b"")  # libraries do not look at it
    found = error_of(copied)
    assert found.message == f"{name} is a pickle, which can run code when it is read"
    assert found.fix.endswith(f"porism model convert {copied}")
