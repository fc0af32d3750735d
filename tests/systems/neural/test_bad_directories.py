"""Named systems with damaged models: a clear message, no run file, nothing half-made in the folder of encodings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from porism.cli import main

TOPICS = Path(__file__).resolve().parents[3] / "sample" / "topics" / "task1.xml"
SYSTEMS = {
    "bi-encoder": "MSM/CompuBERT22",
    "cross-encoder": "TU_DBS/math_10",
    "late-interaction": "approach0/rerank_nostemer",
    "token-encoder": "SCM/joint_roberta_base",
}


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("damage", ["layers", "numbers"])
def test_a_damaged_model_leaves_no_run(
    demo: Path, tmp_path: Path, models: Mapping[str, str], kind: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == "token-encoder":
        pytest.importorskip("gensim", reason="gensim is not installed: pip install 'porism[systems]'")
    model = Path(shutil.copytree(models[kind], tmp_path / "model"))
    if damage == "layers":
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 5}))
    else:
        _make_infinite(model / "model.safetensors")
    cache = tmp_path / "cache"
    command = ["run", "--topics", str(TOPICS), "--index", str(demo / "index"), "-o", str(tmp_path / "run.tsv")]
    assert main([*command, "--system", SYSTEMS[kind], "--model", f"{kind}={model}", "--cache", str(cache)]) == 1
    message = capsys.readouterr().err
    assert ("has no fitting weights for" if damage == "layers" else "not numbers") in message
    assert "\n  fix: " in message
    assert sorted(path.name for path in tmp_path.iterdir() if path != cache) == ["model"]
    assert not [path for path in cache.rglob("*") if path.name.endswith((".blocks", ".part"))]


def _make_infinite(weights: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(weights)
    words = next(name for name in tensors if name.endswith("word_embeddings.weight"))
    save_file(tensors | {words: tensors[words] * float("inf")}, weights, {"format": "pt"})
