"""The tools of NLTK that published systems used, those that need no downloaded data: tokenizers and Porter's stemmer in two versions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from porism.errors import PorismError


class NltkTools:
    """NLTK's Treebank tokenizer, its word tokenizer with the inverse, and its stemmers."""

    def __init__(self) -> None:
        try:
            from nltk.stem.porter import PorterStemmer
            from nltk.tokenize.destructive import NLTKWordTokenizer
            from nltk.tokenize.treebank import TreebankWordDetokenizer, TreebankWordTokenizer
        except ImportError:
            raise PorismError("this system needs nltk", fix="pip install 'porism[systems]'") from None
        self.treebank_tokens: Any = TreebankWordTokenizer().tokenize
        self.word_tokens: Any = NLTKWordTokenizer().tokenize
        self.detokenize: Any = TreebankWordDetokenizer().detokenize
        self.nltk_stem: Any = PorterStemmer().stem
        self.martin_stem: Any = PorterStemmer(PorterStemmer.MARTIN_EXTENSIONS).stem


@lru_cache(1)
def nltk_tools() -> NltkTools:
    """Return the tools, loaded on first use."""
    return NltkTools()


@lru_cache(50_000)
def nltk_porter(word: str) -> str:
    """Return the stem of a word with NLTK's extensions (irregular forms, short words), which are its default."""
    return str(nltk_tools().nltk_stem(word))


@lru_cache(200_000)
def martin_porter(word: str) -> str:
    """Return the stem of a lower-case word with the three departures of Porter's own program from his paper of 1980."""
    return str(nltk_tools().martin_stem(word, to_lowercase=False))
