"""Words as MathDowers cut them: Treebank tokens for choosing the words of a query, the search engine's tokens for indexing and searching."""

from __future__ import annotations

import re

from porism.systems.lexical.nltk_tools import martin_porter, nltk_tools

# A run of ASCII letters, digits and characters beyond ASCII, or a tuple between number signs without white space.
_ENGINE_TOKEN = re.compile(r"#[^ \t\r\n#]*#|[A-Za-z0-9\x80-\U0010ffff][A-Za-z0-9#\x80-\U0010ffff]*")
_ASCII_LOWER = str.maketrans({chr(65 + place): chr(97 + place) for place in range(26)})


def treebank_tokens(text: str) -> list[str]:
    """Return the Treebank tokens of a text: words, parts of contractions, punctuation."""
    found: list[str] = nltk_tools().treebank_tokens(text)
    return found


def engine_tokens(text: str) -> list[str]:
    """Return the tokens of a text as the search engine indexes them: lower case in ASCII, stemmed; tuples stay as they are."""
    # The stemmer leaves tuples alone, since they end in a number sign.
    return [
        token if token[0] == "#" else martin_porter(token.translate(_ASCII_LOWER))
        for token in _ENGINE_TOKEN.findall(text)
    ]
