"""Random texts of a grammar.

A grammar maps a rule's name to its alternatives; `«name»` in an alternative is replaced by an expansion of that rule.
When the depth is used up, the first alternative is taken, so the first one must not be recursive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

Grammar = Mapping[str, Sequence[str]]
_RULE = re.compile("«([a-z_0-9]+)»")

# Rules that every grammar may use: values that readers often get wrong.
ODD: Grammar = {
    "number": ("1", "0", "-1", "7", "42", "2022", "1.5", "-0", "1e3", "«odd_number»"),
    "odd_number": (
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "4294967296",
        "2147483648",
        "1e999",
        "-1e999",
        "nan",
        "inf",
        "1e-400",
        "0x10",
        "1_000",
        "٣",
        "²",
        "１２",
        "00000000000000000000000000000001",
        "9" * 30,
        "9" * 5000,
        "1.0",
        "1.",
        ".5",
        "--1",
        "+1",
        " 1",
        "",
    ),
    "odd_text": (
        "x",
        "\x00",
        "\x01\x02\x1f",
        "\ufeff",
        "\u202e",
        "\u2028",
        "\u0085",
        "\ud800",
        "\udfff\ud800",
        "\U0010ffff",
        "\ufffe",
        "e\u0301" * 20,
        "\u0300" * 50,
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "ﷺ" * 5,
        "İıſK",
        "\ue000\ue001\ue010",
        "<script>alert(1)</script>",
        "javascript:alert(1)",
        "&lt;img src=x onerror=alert(1)&gt;",
        "&#0;&#xd800;&#x110000;&#99999999999;",
        "\r\n\r\n",
        "\x1b[31m",
        "%00%0a%0d",
        "../../../../etc/passwd",
        "'; DROP TABLE posts; --",
        "{{7*7}}",
        "${7*7}",
        "«number»",
    ),
    "space": (" ", "  ", "\t", "\n", "\u00a0", "\u3000", "\u200b", ""),
}


def expand(grammar: Grammar, rng: Random, rule: str = "start", depth: int = 12, longest: int = 10_000) -> str:
    """Return a random text of a rule, not much longer than `longest`."""
    budget = [longest]
    return _expand(grammar, rng, rule, depth, budget)


def _expand(grammar: Grammar, rng: Random, rule: str, depth: int, budget: list[int]) -> str:
    alternatives = grammar.get(rule) or ODD[rule]
    chosen = alternatives[0] if depth <= 0 or budget[0] <= 0 else rng.choice(alternatives)
    budget[0] -= len(chosen)
    return _RULE.sub(lambda found: _expand(grammar, rng, found[1], depth - 1, budget), chosen)
