"""Words as MathDowers cut them: Treebank tokens for choosing the words of a query, the search engine's tokens for indexing and searching.

The rules of the Treebank tokenizer are those of the Penn Treebank's published conventions, in the form that NLTK applies them.
"""

from __future__ import annotations

import re

from porism.systems.mathdowers.stemming import porter

# Rules in order; each match is replaced. The blank at both ends of the text comes before the rules for closing quotes.
_OPENING_RULES = (
    (r'^"', "``"),
    (r"(``)", r" \1 "),
    (r"""([ (\[{<])("|'{2})""", r"\1 `` "),
    (r"([:,])([^\d])", r" \1 \2"),
    (r"([:,])$", r" \1 "),
    (r"\.\.\.", r" ... "),
    (r"[;@#$%&]", r" \g<0> "),
    (r"""([^\.])(\.)([\]\)}>"']*)\s*$""", r"\1 \2\3 "),
    (r"[?!]", r" \g<0> "),
    (r"([^'])' ", r"\1 ' "),
    (r"[\]\[\(\)\{\}\<\>]", r" \g<0> "),
    (r"--", r" -- "),
)
_CLOSING_RULES = (
    (r"''", " '' "),
    (r'"', " '' "),
    (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
    (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
    (r"(?i)\b(can)(not)\b", r" \1 \2 "),
    (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
    (r"(?i)\b(gim|lem)(me)\b", r" \1 \2 "),
    (r"(?i)\b(gon)(na)\b", r" \1 \2 "),
    (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
    (r"(?i)\b(more)('n)\b", r" \1 \2 "),
    (r"(?i)\b(wan)(na)\s", r" \1 \2 "),
    (r"(?i) ('t)(is|was)\b", r" \1 \2 "),
)
_OPENING = [(re.compile(pattern), replacement) for pattern, replacement in _OPENING_RULES]
_CLOSING = [(re.compile(pattern), replacement) for pattern, replacement in _CLOSING_RULES]

# A run of ASCII letters, digits and characters beyond ASCII, or a tuple between number signs without white space.
_ENGINE_TOKEN = re.compile(r"#[^ \t\r\n#]*#|[A-Za-z0-9\x80-\U0010ffff][A-Za-z0-9#\x80-\U0010ffff]*")
_ASCII_LOWER = str.maketrans({chr(65 + place): chr(97 + place) for place in range(26)})


def treebank_tokens(text: str) -> list[str]:
    """Return the Treebank tokens of a text: words, parts of contractions, punctuation."""
    for pattern, replacement in _OPENING:
        text = pattern.sub(replacement, text)
    text = f" {text} "
    for pattern, replacement in _CLOSING:
        text = pattern.sub(replacement, text)
    return text.split()


def engine_tokens(text: str) -> list[str]:
    """Return the tokens of a text as the search engine indexes them: lower case in ASCII, stemmed; tuples stay as they are."""
    # The stemmer leaves tuples alone, since they end in a number sign.
    return [
        token if token[0] == "#" else porter(token.translate(_ASCII_LOWER)) for token in _ENGINE_TOKEN.findall(text)
    ]
