"""Tiny models made for the tests: random weights, the words of the sample. They rank badly, but they are real models of
each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENS = 64


def tokenizer(texts: Iterable[str]) -> Any:
    """Train a tokenizer of word pieces on texts."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=800, special_tokens=SPECIAL))
    ends = [(name, words.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    words.post_processor = processors.BertProcessing(*ends)
    names = {f"{name.strip('[]').lower()}_token": name for name in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=TOKENS, **names)


def write_bert(target: Path, texts: Iterable[str], architecture: str, **options: Any) -> Path:
    """Write a directory with a small BERT of random weights."""
    import torch
    import transformers

    torch.manual_seed(1)
    made = tokenizer(texts)
    config = transformers.BertConfig(
        vocab_size=len(made),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=TOKENS,
        **options,
    )
    getattr(transformers, architecture)(config).save_pretrained(target)
    made.save_pretrained(target)
    return target


def write_late(target: Path, texts: Iterable[str]) -> Path:
    """Write a directory with a small late-interaction model."""
    from sentence_transformers import MultiVectorEncoder

    base = write_bert(target.with_name(f"{target.name}-base"), texts, "BertModel")
    MultiVectorEncoder(str(base), device="cpu").save(str(target))
    return target


MAKERS: dict[str, Callable[[Path, Iterable[str]], Path]] = {
    "bi-encoder": lambda target, texts: write_bert(target, texts, "BertModel"),
    "cross-encoder": lambda target, texts: write_bert(target, texts, "BertForSequenceClassification", num_labels=2),
    "late-interaction": write_late,
    "token-encoder": lambda target, texts: write_bert(target, texts, "BertForMaskedLM"),
}
