"""Model directories that pass the first checks and are wrong all the same: every command says so, and leaves nothing
behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from porism.cli import main
from porism.errors import PorismError
from porism.models.causal import CausalGenerator, GenerationSettings
from porism.models.conversion import export_onnx
from porism.models.directory import ModelDirectory
from porism.models.encoder import BiEncoder, CrossEncoder
from porism.models.tokens import LateInteraction, TokenEncoder

Tiny = Callable[[str], Path]
SAMPLE = Path(__file__).resolve().parents[2] / "sample"
WORDS = "embeddings.word_embeddings.weight"
MISSING = "has no fitting weights for"
NOT_A_NUMBER = "the model computes values that are not numbers (NaN or infinite)"


def configure(folder: Path, **values: Any) -> None:
    """Change config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_weights(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write other weights."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, {"format": "pt"})


def more_layers(folder: Path) -> None:
    """Describe more layers than there are weights for."""
    configure(folder, num_hidden_layers=4)


def foreign_weights(folder: Path) -> None:
    """Put the weights of something else there."""
    change_weights(folder, lambda old: {"other": old[WORDS].clone()})


def wider(folder: Path) -> None:
    """Describe wider layers than the weights have."""
    configure(folder, hidden_size=64)


def small_vocabulary(folder: Path) -> None:
    """Keep the vectors of twenty tokens, while the tokenizer knows more."""
    change_weights(folder, lambda old: old | {WORDS: old[WORDS][:20].clone()})
    configure(folder, vocab_size=20)


def not_numbers(folder: Path) -> None:
    """Damage the weights without a trace in the size of their file."""
    change_weights(folder, lambda old: old | {WORDS: old[WORDS] * float("nan")})


def no_tokens(folder: Path) -> None:
    """Put a tokenizer there that is none."""
    (folder / "tokenizer.json").write_text("{}")


DAMAGES = {
    more_layers: MISSING,
    foreign_weights: MISSING,
    wider: "",  # the words depend on what reads the model first
    small_vocabulary: "",
    not_numbers: "not",
    no_tokens: "cannot be loaded as a bi-encoder",
}


@pytest.fixture
def place(demo: Path, tmp_path: Path) -> Path:
    """A copy of the sample, to be changed."""
    shutil.copytree(demo / "collection", tmp_path / "collection")
    shutil.copytree(demo / "index", tmp_path / "index")
    return tmp_path


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def commands(place: Path, model: Path) -> list[list[str]]:
    """Return every command that reads a bi-encoder."""
    judged = ["--topics", str(SAMPLE / "topics/task1.xml"), "--qrels", str(SAMPLE / "qrels/task1.txt"), "--limit", "3"]
    small = ["--from", str(model), "--steps", "2", "--tokens", "16", "--batch", "8"]
    index, collection = str(place / "index"), str(place / "collection")
    return [
        ["model", "encode", index, "--encoder", str(model), "--quiet"],
        ["model", "encode", index, "--encoder", str(model), "--quiet", "--int8"],
        ["index", collection, "-o", str(place / "new"), "--encoder", str(model), "--quiet"],
        ["model", "evaluate", str(model), "--index", index, "--tokens", "48", *judged],
        ["model", "train", "encoder", collection, "-o", str(place / "new"), *small],
        ["model", "train", "cross-encoder", collection, "-o", str(place / "new"), *small],
    ]


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_command_reports_a_damaged_model(
    place: Path, copied: Path, damage: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    damage(copied)
    before = everything(place)
    for command in commands(place, copied):
        assert main(command) == 1, command
        message = capsys.readouterr().err
        assert message.startswith(("porism: ", "topics", "training")), command
        assert DAMAGES[damage] in message, command
        assert "\n  fix: " in message, command
        assert everything(place) == before, command


def test_vectors_of_an_index_survive_a_damaged_model(place: Path, tiny: Tiny, copied: Path) -> None:
    index = str(place / "index")
    assert main(["model", "encode", index, "--encoder", str(tiny("encoder")), "--fields", "titles", "--quiet"]) == 0
    before = everything(place / "index")
    not_numbers(copied)
    assert main(["model", "encode", index, "--encoder", str(copied), "--fields", "titles", "--quiet"]) == 1
    assert everything(place / "index") == before


def test_onnx_with_the_tokenizer_of_another_model(tiny: Tiny, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install 'porism[torch]'")
    export_onnx(ModelDirectory.open(tiny("encoder")), tmp_path / "onnx")
    tokenizer = json.loads((tmp_path / "onnx/tokenizer.json").read_text())
    words = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {word: number + 5_000 * (number > 10) for word, number in words.items()}
    (tmp_path / "onnx/tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(PorismError, match=r"the tokenizer makes 5,\d+ tokens, of which the model knows"):
        BiEncoder.open(tmp_path / "onnx")
    configure(tmp_path / "onnx", vocab_size=None)
    with pytest.raises(PorismError, match="the model cannot read a text"):
        BiEncoder.open(tmp_path / "onnx").encode(["proof that the square root"])


def test_a_cross_encoder_without_its_head_is_refused(tiny: Tiny, copied: Path) -> None:
    configure(copied, architectures=["BertForSequenceClassification"])
    with pytest.raises(PorismError, match=r"has no fitting weights for 2 parts .* such as classifier\.bias"):
        CrossEncoder(ModelDirectory.open(copied))
    CrossEncoder(ModelDirectory.open(tiny("cross")))


def test_a_masked_model_has_no_pooler_and_is_read(tiny: Tiny) -> None:
    assert BiEncoder.open(tiny("masked")).encode(["a proof"]).shape == (1, 32)
    assert TokenEncoder(ModelDirectory.open(tiny("masked")), 1).mean_vectors(["a proof"]).tokens


def test_other_kinds_report_what_is_missing(tiny: Tiny, copied: Path, tmp_path: Path) -> None:
    more_layers(copied)
    with pytest.raises(PorismError, match=MISSING):
        LateInteraction(ModelDirectory.open(copied))
    with pytest.raises(PorismError, match=MISSING):
        TokenEncoder(ModelDirectory.open(copied), 1)
    causal = Path(shutil.copytree(tiny("causal"), tmp_path / "causal"))
    configure(causal, n_layer=3)
    with pytest.raises(PorismError, match=MISSING):
        CausalGenerator(ModelDirectory.open(causal))
    CausalGenerator(ModelDirectory.open(tiny("causal"))).generate("a proof", GenerationSettings(max_tokens=4))


def test_training_and_export_need_more_than_onnx(tiny: Tiny, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install 'porism[torch]'")
    exported = export_onnx(ModelDirectory.open(tiny("encoder")), tmp_path / "onnx")
    with pytest.raises(PorismError, match="has its weights as ONNX only"):
        export_onnx(exported, tmp_path / "again")
    assert [path.name for path in tmp_path.iterdir()] == ["onnx"]
