"""A tiny causal language model, made and trained in seconds on the threads of the sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

END = "<|endoftext|>"
POSITIONS, STEPS = 192, 60


def write_causal(target: Path, texts: Sequence[str]) -> Path:
    """Write a directory with a small GPT-2 that has read each text a few times."""
    import torch
    import transformers

    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokenizer = _tokenizer(texts)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=POSITIONS,
        n_embd=64,
        n_layer=2,
        n_head=2,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = transformers.GPT2LMHeadModel(config)
    stream = [token for text in texts for token in tokenizer(text + END)["input_ids"]]
    _train(model, torch.tensor(stream))
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return target


def _tokenizer(texts: Sequence[str]) -> Any:
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    pairs = ByteLevelBPETokenizer()
    pairs.train_from_iterator(texts, vocab_size=900, special_tokens=[END], show_progress=False)
    return PreTrainedTokenizerFast(tokenizer_object=pairs._tokenizer, eos_token=END, model_max_length=POSITIONS)


def _train(model: Any, stream: Any) -> None:
    import torch

    size = 64
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    starts = torch.randint(0, len(stream) - size, (STEPS, 8))
    for batch in starts:
        rows = torch.stack([stream[start : start + size] for start in batch])
        loss = model(input_ids=rows, labels=rows).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
