"""Pickled weights: refused, and converted without running what they hold."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from porism.cli import main
from porism.errors import PorismError
from porism.models.conversion import convert_pickles
from porism.models.encoder import BiEncoder

TEXTS = ["a proof", "every bounded sequence"]


class Hostile:
    """What runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[object, ...]:
        return (os.system, (self._command,))


@pytest.fixture
def pickled(copied: Path) -> Path:
    """A tiny encoder whose weights are a pickle."""
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(str(copied / "model.safetensors")), copied / "pytorch_model.bin")
    os.rename(copied / "model.safetensors", copied.parent / "kept.safetensors")
    return copied


def test_a_pickle_is_refused_with_the_command_that_converts_it(pickled: Path) -> None:
    with pytest.raises(PorismError) as caught:
        BiEncoder.open(pickled)
    assert caught.value.message == "pytorch_model.bin is a pickle, which can run code when it is read"
    assert caught.value.fix.endswith(f"porism model convert {pickled}")


def test_converted_weights_are_the_same(pickled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "convert", str(pickled)]) == 0
    assert capsys.readouterr().out == f"{pickled / 'model.safetensors'}\n"
    converted = BiEncoder.open(pickled).encode(TEXTS)
    os.replace(pickled.parent / "kept.safetensors", pickled / "model.safetensors")
    assert np.array_equal(converted, BiEncoder.open(pickled).encode(TEXTS))
    with pytest.raises(PorismError, match="all its weights are there as safetensors"):
        convert_pickles(pickled)


def test_shards(pickled: Path) -> None:
    import torch

    weights = torch.load(pickled / "pytorch_model.bin", weights_only=True)
    os.unlink(pickled / "pytorch_model.bin")
    names = sorted(weights)
    table = {name: f"pytorch_model-{1 + at % 2}.bin" for at, name in enumerate(names)}
    for shard in set(table.values()):
        torch.save({name: weights[name] for name in names if table[name] == shard}, pickled / shard)
    (pickled / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": table}))
    with pytest.raises(PorismError, match="is a pickle, which can run code when it is read"):
        BiEncoder.open(pickled)
    convert_pickles(pickled)
    assert BiEncoder.open(pickled).encode(TEXTS).shape == (2, 32)


def test_hostile_code_is_not_run(pickled: Path, tmp_path: Path) -> None:
    mark = tmp_path / "it-ran"
    (pickled / "pytorch_model.bin").write_bytes(pickle.dumps({"w": Hostile(f"touch {mark}")}))
    with pytest.raises(PorismError, match="is damaged, or holds more than weights"):
        convert_pickles(pickled)
    assert not mark.exists()
    assert not list(pickled.glob("*safetensors*")) + list(pickled.glob("*.part"))


def test_nothing_to_convert(tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="has no weights to convert"):
        convert_pickles(tmp_path)
    with pytest.raises(PorismError, match="no such model directory"):
        convert_pickles(tmp_path / "none")
