"""Import the libraries of the extra `neural` when they are needed, offline and quiet. The only module that imports torch's family by name."""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from typing import Any

from porism.errors import PorismError

INSTALL = "install the extra: pip install 'porism[neural]'"
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",  # tokenizers must not start threads before a server forks
}


def is_installed(name: str) -> bool:
    """Return whether a library can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None


def library(name: str) -> Any:
    """Return an imported library of the extra `neural`: torch, transformers, sentence_transformers, onnxruntime, tokenizers, usearch.index."""
    os.environ.update(OFFLINE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0].replace("_", "-")
        if not is_installed(name.split(".")[0]):
            raise PorismError(f"the Python package {package} is not installed", fix=INSTALL) from None
        raise PorismError(f"the Python package {package} cannot be imported: {error}", fix=INSTALL) from error
    if name in ("sentence_transformers", "transformers"):
        _silence()
    return module


def _silence() -> None:
    """Switch off the bars and notices of transformers; Porism reports progress itself."""
    messages = importlib.import_module("transformers.utils.logging")
    messages.disable_progress_bar()
    messages.set_verbosity_error()
