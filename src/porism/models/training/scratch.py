"""A model from scratch: a WordPiece vocabulary of the texts, two layers, 128 wide; weights at random."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from porism.models.libraries import library

Architecture = Literal["BertModel", "BertForSequenceClassification"]
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LAYERS, WIDTH, HEADS, VOCABULARY = 2, 128, 2, 8_000
MOST_CHARACTERS = 1_000


def write_scratch_model(path: Path, texts: Iterable[str], architecture: Architecture, length: int, seed: int) -> None:
    """Write the directory of an untrained model."""
    torch, transformers = library("torch"), library("transformers")
    torch.manual_seed(seed)
    tokenizer = _tokenizer(texts, length)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=max(length, 64),
        num_labels=1,
    )
    getattr(transformers, architecture)(config).save_pretrained(path)
    tokenizer.save_pretrained(path)


def _tokenizer(texts: Iterable[str], length: int) -> Any:
    tokenizers, transformers = library("tokenizers"), library("transformers")
    words = _untrained(tokenizers.models.WordPiece(vocabulary(list(texts)), unk_token=SPECIAL[1]))
    words.post_processor = tokenizers.processors.BertProcessing(
        ("[SEP]", words.token_to_id("[SEP]")), ("[CLS]", words.token_to_id("[CLS]"))
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=length, **names)


def _untrained(model: Any) -> Any:
    tokenizers = library("tokenizers")
    words = tokenizers.Tokenizer(model)
    words.normalizer = tokenizers.normalizers.BertNormalizer()
    words.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return words


def vocabulary(texts: list[str]) -> dict[str, int]:
    """Return the pieces of words and their numbers.

    The library numbers single characters inside words in a random order, and breaks ties by these numbers: it gets them as special tokens, in a
    fixed order, so that the same texts give the same model. A training that was killed can continue only with the same vocabulary.
    """
    tokenizers = library("tokenizers")
    words = _untrained(tokenizers.models.WordPiece(unk_token=SPECIAL[1]))
    characters = sorted({character for text in texts for character in words.normalizer.normalize_str(text)})
    inside = [f"##{character}" for character in characters if not character.isspace()][:MOST_CHARACTERS]
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=VOCABULARY, special_tokens=[*SPECIAL, *inside], show_progress=False
    )
    words.train_from_iterator(texts, trainer)
    numbers = words.get_vocab(with_added_tokens=False)
    return {piece: numbers[piece] for piece in sorted(numbers, key=numbers.__getitem__)}
