"""Causal language models: a prompt becomes its continuation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from porism.models.directory import ModelDirectory, ModelRecord
from porism.models.libraries import library
from porism.models.loading import computing, load_transformer


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How a continuation is made. A temperature of 0 always takes the most probable token; a seed makes sampling
    repeatable."""

    max_tokens: int = 570
    temperature: float = 0.7
    beams: int = 1
    length_penalty: float = 1.0
    seed: int = 0

    def options(self) -> dict[str, Any]:
        """Return the options of `transformers`' generate."""
        sampling = {"do_sample": True, "temperature": self.temperature, "top_p": 1.0, "top_k": 0}
        beams = {"num_beams": self.beams, "length_penalty": self.length_penalty} if self.beams > 1 else {}
        return {
            "max_new_tokens": self.max_tokens,
            "repetition_penalty": 1.0,
            **(sampling if self.temperature > 0 else {"do_sample": False}),
            **beams,
        }


class CausalGenerator:
    """A causal language model. A prompt that leaves no space for the continuation is cut at its beginning."""

    def __init__(self, directory: ModelDirectory) -> None:
        self.directory = directory.require("causal")
        self._tokenizer, self._model = load_transformer(directory, "AutoModelForCausalLM")
        config = directory.config
        self.length = int(config.get("n_positions") or config.get("max_position_embeddings") or 1024)

    def generate(self, prompt: str, settings: GenerationSettings | None = None) -> str:
        """Return the continuation of a prompt, without the prompt and without special tokens."""
        torch = library("torch")
        settings = settings or GenerationSettings()
        if settings.max_tokens >= self.length:
            fact = f"has {self.length} positions, too few for {settings.max_tokens} new tokens"
            raise self.directory.error(fact, f"request fewer than {self.length} tokens")
        tokens = self._tokenizer(prompt, return_tensors="pt", verbose=False)["input_ids"]
        tokens = tokens[:, settings.max_tokens - self.length :]
        padding = self._tokenizer.pad_token_id
        torch.manual_seed(settings.seed)
        with computing(self.directory), torch.inference_mode():
            made = self._model.generate(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                pad_token_id=self._tokenizer.eos_token_id if padding is None else padding,
                **settings.options(),
            )
        return str(self._tokenizer.decode(made[0, tokens.shape[1] :], skip_special_tokens=True))

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, for counting costs."""
        return len(self._tokenizer(text, verbose=False)["input_ids"])

    @cached_property
    def record(self) -> ModelRecord:
        """What runs record of the model."""
        return ModelRecord(
            self.directory.name,
            "causal",
            self.directory.digest,
            "none",
            self.length,
            int(self._model.config.vocab_size),
            "<prompt>",
            "torch",
        )
