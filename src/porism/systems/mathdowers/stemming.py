"""Porter's stemmer in the two versions that MathDowers used.

`porter` is the author's own program with its three published departures from the paper of 1980 (`bli`, `logi`, words of two letters), which the
search engine applies to documents and queries. `nltk_porter` is that of NLTK with NLTK's extensions (irregular forms, short words), which
chooses the words of queries. Both treat anything but a, e, i, o, u and y as a consonant.
"""

from __future__ import annotations

from functools import lru_cache

_DOUBLE_KEPT = "lsz"
# Suffixes of each step with their replacement, the longest match first; the stem before the suffix must have a measure above 0.
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou"),
    *("ism", "ate", "iti", "ous", "ive", "ize"),
)
_IRREGULAR = {
    form: stem
    for stem, forms in {
        "sky": ("sky", "skies"),
        "die": ("dying",),
        "lie": ("lying",),
        "tie": ("tying",),
        "news": ("news",),
        "inning": ("innings", "inning"),
        "outing": ("outings", "outing"),
        "canning": ("cannings", "canning"),
        "howe": ("howe",),
        "proceed": ("proceed",),
        "exceed": ("exceed",),
        "succeed": ("succeed",),
    }.items()
    for form in forms
}


@lru_cache(200_000)
def porter(word: str) -> str:
    """Return the stem of a lower-case word as Porter's own program does."""
    if len(word) < 3:
        return word
    word = _past_forms(_plural(word))
    if len(word) < 2:
        return word
    if word[-1] == "y" and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2)
    return _final(_drop_suffix(_replace(word, _STEP_3)))


@lru_cache(50_000)
def nltk_porter(word: str) -> str:
    """Return the stem of a word as NLTK's PorterStemmer does by default."""
    word = word.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = word[:-1] if word.endswith("ies") and len(word) == 4 else _plural(word)
    word = _nltk_past_forms(word)
    if word[-1:] == "y" and len(word) > 2 and _is_consonant(word, len(word) - 2):
        word = word[:-1] + "i"
    word = _drop_suffix(_replace(_nltk_step_2(word), _STEP_3))
    return word if word.endswith("e") and _is_vowel_consonant(word[:-1]) else _final(word)


def _is_consonant(word: str, place: int) -> bool:
    if word[place] in "aeiou":
        return False
    return word[place] != "y" or place == 0 or not _is_consonant(word, place - 1)


def _measure(stem: str) -> int:
    """Return the number of changes from a vowel to a consonant."""
    count, after_vowel = 0, False
    for place in range(len(stem)):
        consonant = stem[place] not in "aeiou" and (stem[place] != "y" or place == 0 or after_vowel)
        count += consonant and after_vowel
        after_vowel = not consonant
    return count


def _has_vowel(stem: str) -> bool:
    return any(not _is_consonant(stem, place) for place in range(len(stem)))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _ends_short(word: str) -> bool:
    """Check whether a word ends in consonant, vowel, consonant, the last not w, x or y."""
    last = len(word) - 1
    return (
        last >= 2
        and _is_consonant(word, last)
        and not _is_consonant(word, last - 1)
        and _is_consonant(word, last - 2)
        and word[last] not in "wxy"
    )


def _is_vowel_consonant(word: str) -> bool:
    """Check whether a word is a vowel and a consonant, which NLTK counts as a short stem: `us` of `used`."""
    return len(word) == 2 and not _is_consonant(word, 0) and _is_consonant(word, 1)


def _plural(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_forms(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return _repaired(stem) if _has_vowel(stem) else word
    return word


def _repaired(stem: str) -> str:
    """Restore the end of a stem whose -ed or -ing was dropped: `siz` -> `size`, `hopp` -> `hop`, `fil` -> `file`."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double(stem):
        return stem if stem[-1] in _DOUBLE_KEPT else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _nltk_past_forms(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word[: -len(suffix)]
        if word.endswith(suffix) and _has_vowel(stem):
            return stem + "e" if _is_vowel_consonant(stem) else _repaired(stem)
    return word


def _nltk_step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _nltk_step_2(word[:-2])
    if word.endswith("fulli"):
        return word[:-2] if _measure(word[:-5]) > 0 else word
    if word.endswith("logi"):  # the measure includes the l: `geologi` -> `geolog`
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace(word, _STEP_2)


def _replace(word: str, suffixes: dict[str, str]) -> str:
    suffix = max((suffix for suffix in suffixes if word.endswith(suffix)), key=len, default="")
    stem = word[: len(word) - len(suffix)]
    return stem + suffixes[suffix] if suffix and _measure(stem) > 0 else word


def _drop_suffix(word: str) -> str:
    suffix = max((suffix for suffix in _STEP_4 if word.endswith(suffix)), key=len, default="")
    stem = word[: len(word) - len(suffix)]
    if not suffix or (suffix == "ion" and stem[-1:] not in ("s", "t")):
        return word
    return stem if _measure(stem) > 1 else word


def _final(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
