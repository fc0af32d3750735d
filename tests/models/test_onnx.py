"""Bi-encoders as ONNX: exported here, equal to torch, and what is wrong with bad files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from porism.cli import main
from porism.errors import PorismError
from porism.models.conversion import export_onnx
from porism.models.directory import ModelDirectory
from porism.models.encoder import BiEncoder
from porism.store.embedded.encoded import EncoderEntry
from porism.store.embedded.manifest import SEARCH, read_manifest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'porism[torch]'")

Tiny = Callable[[str], Path]
TEXTS = ["why is $\\sqrt{2}$ irrational", "x", "the sum of the first n integers " * 30, "a bounded sequence"]


@pytest.fixture(scope="session")
def exported(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder as ONNX."""
    out = tmp_path_factory.mktemp("onnx") / "float"
    export_onnx(ModelDirectory.open(tiny("encoder")), out)
    return out


@pytest.fixture
def broken(exported: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(exported, tmp_path / "model"))


def test_onnx_gives_the_vectors_of_torch(tiny: Tiny, exported: Path) -> None:
    torch, onnx = BiEncoder.open(tiny("encoder")), BiEncoder.open(exported)
    assert np.allclose(torch.encode(TEXTS), onnx.encode(TEXTS), atol=1e-4)
    assert np.allclose(onnx.encode(TEXTS), onnx.encode(TEXTS, batch_size=1), atol=1e-5)
    assert torch.cut == 1
    assert onnx.cut == 3  # once in each call
    assert (torch.record.backend, onnx.record.backend) == ("torch", "onnx")
    assert torch.record.length == onnx.record.length == 64
    assert torch.record.pooling == onnx.record.pooling == "mean"
    assert not (exported / "model.safetensors").exists()


def test_8_bit_weights_are_near(tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "small"
    assert main(["model", "export", str(tiny("encoder")), "-o", str(out), "--precision", "int8"]) == 0
    assert capsys.readouterr().out.startswith("small: bi-encoder, ")
    small = BiEncoder.open(out)
    assert small.record.backend == "onnx int8"
    assert (small.encode(TEXTS) * BiEncoder.open(tiny("encoder")).encode(TEXTS)).sum(axis=1).min() > 0.95
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


def test_float_weights_are_used_where_both_are_there(broken: Path) -> None:
    shutil.copyfile(broken / "onnx/model.onnx", broken / "onnx/model_int8.onnx")
    assert BiEncoder.open(broken).record.backend == "onnx"


def test_the_length_of_the_directory_and_that_of_the_request(broken: Path) -> None:
    (broken / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    assert BiEncoder.open(broken).record.length == 16
    assert BiEncoder.open(broken, length=32).record.length == 32
    with pytest.raises(PorismError, match="reads at most 64 tokens of a text, not 65"):
        BiEncoder.open(broken, length=65)


def test_a_model_with_prompts_is_left_to_torch(tiny: Tiny, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(tiny("encoder"), tmp_path / "model"))
    (copied / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "query: "}}))
    with pytest.raises(PorismError, match="cannot be used as ONNX"):
        export_onnx(ModelDirectory.open(copied), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_truncated_file(broken: Path) -> None:
    content = (broken / "onnx/model.onnx").read_bytes()
    (broken / "onnx/model.onnx").write_bytes(content[: len(content) // 2])
    with pytest.raises(PorismError, match=r"model.onnx cannot be loaded") as caught:
        BiEncoder.open(broken)
    assert caught.value.where == str(broken)


def test_the_file_of_another_model(broken: Path) -> None:
    config = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({**config, "hidden_size": 48}))
    with pytest.raises(PorismError, match=r"model.onnx is not the model of config.json"):
        BiEncoder.open(broken)


def test_another_kind_is_not_exported(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="a model of the kind causal; needed is bi-encoder"):
        export_onnx(ModelDirectory.open(tiny("causal")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_model_is_exported_first_where_that_is_possible(
    demo: Path, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(demo / "collection", tmp_path / "collection")
    index = shutil.copytree(demo / "index", tmp_path / "index")
    command = ["model", "encode", str(index), "--encoder", str(tiny("encoder")), "--fields", "titles"]
    assert main([*command, "--no-int8"]) == 0
    assert "by encoder " in capsys.readouterr().err
    assert main(command) == 0  # the index has vectors of this model
    assert "int8" not in capsys.readouterr().err
    assert main(["model", "encode", str(index), "--remove"]) == 0
    assert main(command) == 0
    message = capsys.readouterr().err
    assert f"note: the model runs with 8-bit weights, exported to {tmp_path / 'encoder-int8'}; --no-int8" in message
    assert "by encoder-int8" in message
    entry = EncoderEntry.of(read_manifest(index, SEARCH))
    assert entry is not None
    assert entry.model.backend == "onnx int8"
    assert entry.place == str((tmp_path / "encoder-int8").resolve())
    made = (tmp_path / "encoder-int8/onnx/model_int8.onnx").stat().st_mtime_ns
    assert main([*command, "--int8"]) == 0  # the export is used again
    assert (tmp_path / "encoder-int8/onnx/model_int8.onnx").stat().st_mtime_ns == made
    assert main([*command[:4], str(tmp_path / "encoder-int8"), *command[5:], "--int8"]) == 0  # is an export already
    assert main(["model", "encode", str(tmp_path / "none"), *command[3:], "--int8"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collection", "encoder-int8", "index"]
    other = Path(shutil.copytree(tiny("masked"), tmp_path / "other/encoder"))
    (other / "config.json").write_text((tiny("encoder") / "config.json").read_text())
    assert main(["model", "encode", str(index), "--encoder", str(other), "--int8"]) == 1
    assert f"{tmp_path / 'encoder-int8'}: exists, and was not exported from {other}" in capsys.readouterr().err


def test_a_model_that_cannot_be_exported_runs_as_it_is(
    demo: Path, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    model, words = tmp_path / "largest", Transformer(str(tiny("encoder")))
    largest = Pooling(words.get_embedding_dimension(), pooling_mode="max")
    SentenceTransformer(modules=[words, largest], device="cpu").save(str(model))
    capsys.readouterr()
    shutil.copytree(demo / "collection", tmp_path / "collection")
    index = shutil.copytree(demo / "index", tmp_path / "index")
    command = ["model", "encode", str(index), "--encoder", str(model), "--fields", "titles"]
    assert main([*command, "--int8"]) == 1
    assert "cannot be used as ONNX: it needs mean or first-token pooling" in capsys.readouterr().err
    assert main(command) == 0
    entry = EncoderEntry.of(read_manifest(index, SEARCH))
    assert entry is not None
    assert (entry.model.backend, entry.model.pooling) == ("torch", "max")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collection", "index", "largest"]
