"""A topic as MathDowers searches for it: keywords and formulas, chosen from its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from porism.errors import PorismError
from porism.records import Topic, TopicFormula
from porism.systems.declared.context import SystemContext
from porism.systems.documents import martin_porter, nltk_porter, nltk_tools
from porism.systems.mathdowers.tuples import L8_SEARCH, TupleRules, math_tokens
from porism.systems.topic_queries import Field, presentation
from porism.text.markup import math_spans
from porism.text.words import STOPWORDS

# A run of ASCII letters, digits and characters beyond ASCII, or a tuple between number signs without white space.
_ENGINE_TOKEN = re.compile(r"#[^ \t\r\n#]*#|[A-Za-z0-9\x80-\U0010ffff][A-Za-z0-9#\x80-\U0010ffff]*")
_ASCII_LOWER = str.maketrans({chr(65 + place): chr(97 + place) for place in range(26)})


def engine_tokens(text: str) -> list[str]:
    """Return tokens as the search engine indexes them: ASCII in lower case, stemmed; tuples as they are."""
    # The stemmer leaves tuples alone, since they end in a number sign.
    return [
        token if token[0] == "#" else martin_porter(token.translate(_ASCII_LOWER))
        for token in _ENGINE_TOKEN.findall(text)
    ]


PUBLISHED = "https://github.com/kiking0501/MathDowsers-ARQMath (data/stopwords and data/ARQMath/prepro_2021)"
OWN_STOP_WORDS = ("text", "amp", "align", "st", "na", "ca")
_PUNCTUATION = str.maketrans("", "", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_LATEX_STOP_WORDS = ("\\big", "\\text")
# Names under which each list may be found: as published, and as spelled correctly.
_STOP_FILES = {"nltk_stopwords.txt": "\0", "lucence_snowball_english_stop.txt": "|", "manual_stopwords.txt": "#"}
_ALSO_NAMED = {"lucence_snowball_english_stop.txt": "lucene_snowball_english_stop.txt"}
_WORDS = "stems.txt"
_WORD = re.compile(r"[^\W\d_]+")
_CONTENT_WORDS = (
    "anyone", "edit", "get", "got", "hello", "help", "hi", "know", "let", "need", "one", "please", "question",
    "answer", "see", "thank", "thanks", "try", "understand", "us", "use", "using", "want",
)  # fmt: skip
_MORE_FUNCTION_WORDS = (
    "may", "might", "must", "shall", "every", "either", "neither", "another", "much", "many", "yet", "though",
    "although", "whose", "whenever", "wherever", "something", "someone", "anybody", "somebody", "anything",
    "nothing", "everything", "ever", "never", "still", "already", "else", "instead", "since", "unless", "whether",
    "among", "upon", "within", "without",
)  # fmt: skip
_STEM_FILES = ("MSE_tag_keywords.txt", "wiki_keywords.txt")


@dataclass(frozen=True)
class WordLists:
    """Stop words, and stems of mathematical words; `source` names where they come from."""

    stop: frozenset[str]
    stems: frozenset[str]
    source: str

    def is_stop(self, word: str) -> bool:
        """Check whether a word is a stop word, a single character, or has a digit."""
        return len(word) < 2 or word in self.stop or any(char.isdigit() for char in word.translate(_PUNCTUATION))


def read_lists(folder: Path) -> WordLists:
    """Read the word lists of MathDowers from a folder with its five files."""
    stop = {
        word
        for name, comment in _STOP_FILES.items()
        for line in _lines(folder, name)
        if (word := line.partition(comment)[0].strip())
    }
    stems = {
        line.rstrip("\n").split("\t")[-1]
        for name in _STEM_FILES
        for line in _lines(folder, name)
        if line.strip() and not line.startswith("#")
    }
    return WordLists(frozenset(stop), frozenset(stems), f"files in {folder.name}")


def _lines(folder: Path, name: str) -> list[str]:
    for candidate in (folder / name, folder / _ALSO_NAMED.get(name, name)):
        if candidate.is_file():
            return candidate.read_text("utf-8").splitlines()
    fix = f"copy the lists into one folder; published at {PUBLISHED}"
    raise PorismError(f"the word list {name} is missing", where=str(folder), fix=fix)


def keywords(text: str, lists: WordLists) -> Iterator[str]:
    """Yield the words that a query keeps: first those with hyphens read as blanks, then the hyphenated ones."""
    treebank = nltk_tools().treebank_tokens  # words, parts of contractions, punctuation
    hyphenated = [token for token in treebank(text) if _is_hyphenated(token)]
    for token in (*treebank(text.replace("–", " ").replace("-", " ")), *hyphenated):
        word = token.lower()
        if lists.is_stop(word):
            continue
        stem = nltk_porter(word)
        if _is_hyphenated(stem) or stem in lists.stems:
            yield token
            continue
        bare = stem.translate(_PUNCTUATION).strip()
        if stem not in _LATEX_STOP_WORDS and not lists.is_stop(bare) and bare in lists.stems:
            yield token.translate(_PUNCTUATION).strip()


def _is_hyphenated(token: str) -> bool:
    inner = token.strip("–-")
    return "-" in inner or "–" in inner


def collection_lists(context: SystemContext) -> WordLists:
    """Make lists without those of MathDowers: function words stop, the words of tags and question titles are kept."""
    stop = (STOPWORDS | {*OWN_STOP_WORDS, *_MORE_FUNCTION_WORDS}) - frozenset(_CONTENT_WORDS)
    lists = WordLists(
        stop,
        frozenset(),
        f"word lists made from tags and titles, an approximation; the lists of MathDowers are published at {PUBLISHED}",
    )

    def build(folder: Path) -> None:
        words = {word for tag in context.content.tags() for word in tag.name.split("-")}
        for question in context.content.posts("question"):
            text = " ".join(segment.text for segment in question.title.segments if segment.kind == "text")
            words.update(_WORD.findall(text.lower()))
        stems = sorted({nltk_porter(word) for word in words if not lists.is_stop(word)})
        (folder / _WORDS).write_text("".join(f"{stem}\n" for stem in stems), "utf-8", newline="\n")

    folder = context.cached("mathdowers-words", "", build)
    return replace(lists, stems=frozenset((folder / _WORDS).read_text("utf-8").splitlines()))


_FIELDS: tuple[Field, ...] = ("title", "question")
_ALTERNATIVE = re.compile(r'alttext="(.+?)"', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_LATEX_WORD_BREAK = re.compile(r"[\W_]+")
SHORTEST_LATEX_WORD = 3

_TIMES = "<mo>\u2062</mo>"
# The organisers converted some LaTeX with `&lt;` in it, which became the letters of `lt` between an ampersand and a
# semicolon.
_DOUBLE_ESCAPE = re.compile(
    rf'{_TIMES}<mi mathvariant="normal">&amp;</mi>{_TIMES}<mi>([lg])(?:</mi>{_TIMES}<mi>)?t</mi></mrow>'
    r"(</mrow>)?<mo>;</mo>"
)


class LocatedFormula(NamedTuple):
    """A formula of a topic: its MathML and its alternative text (LaTeX), and the range of the field's HTML that it
    fills. `is_found` is false for one that the original did not find in the table of formulas."""

    mathml: str
    alternative: str
    start: int
    end: int
    is_found: bool


def query_tokens(topic: Topic, lists: WordLists, rules: TupleRules = L8_SEARCH) -> list[str]:
    """Return the query of a Task 1 topic: formulas of the title, those of the body that are not trivial, words."""
    tokens: list[str] = []
    words: list[str] = []
    for field in _FIELDS:
        html = topic.title if field == "title" else topic.question
        pieces, at = list[str](), 0  # of the text from which words are taken: the characters of formulas stay
        for formula in placed_formulas(topic, field):
            if formula.is_found:
                pieces += (html[at : formula.start], formula.mathml)
                at = formula.end
                if field == "title" or not is_trivial(formula.alternative):
                    tokens += math_tokens(formula.mathml, rules)
        words += keywords(_TAG.sub("", "".join((*pieces, html[at:]))), lists)
    return [*tokens, *words, *keywords(" ".join(topic.tags), lists)]


def placed_formulas(topic: Topic, field: Field) -> Iterator[LocatedFormula]:
    """Yield the formulas of a field in order, with the official MathML where the topic has it."""
    by_id = {formula.id: formula for formula in topic.formulas if formula.id}
    by_latex = {formula.latex: formula for formula in topic.formulas if not formula.id}
    html = topic.title if field == "title" else topic.question
    for span in math_spans(html):
        latex = unescaped(html[span.inner_start : span.inner_end])
        formula = by_id.get(span.id) or by_latex.get(latex) or TopicFormula(span.id, latex)
        yield LocatedFormula(*formula_text(formula), span.inner_start, span.inner_end, _is_found(formula))


def _is_found(formula: TopicFormula) -> bool:
    """Check whether the original finds a formula in the table. One without id in the text must be there in the same
    LaTeX, blanks included, and it looks for brackets without their backslash; else the LaTeX stays in the text as
    words."""
    if not formula.source or formula.source in (f"${formula.latex}$", f"$${formula.latex}$$"):
        return True
    return unescaped(formula.source).strip("$").replace("\\{", "{").replace("\\}", "}") == formula.latex


def formula_text(formula: TopicFormula) -> tuple[str, str]:
    """Return MathML and alternative text of a formula, whose double escapes are repaired."""
    mathml = repaired(presentation(formula))
    found = _ALTERNATIVE.search(mathml)
    return mathml, unescaped(found[1]) if found else formula.latex if not formula.mathml else ""


def unescaped(text: str) -> str:
    """Return text with the three entities of HTML text decoded."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def repaired(mathml: str) -> str:
    """Return MathML with double escapes repaired; then blanks between its elements vanish, as in the original."""
    compact = mathml.replace("  ", "").replace("> <", "><")
    text = _DOUBLE_ESCAPE.sub(lambda found: f"<mo>&{found[1]}t;</mo></mrow>{found[2] or ''}", compact)
    return mathml if text == compact else text


def is_trivial(alternative: str) -> bool:
    """Check whether a body's formula is left out: a character, a number, or, by a fault, with a quotation mark."""
    if len(alternative) < 2 or "&quot;" in alternative or '"' in alternative:
        return True
    try:
        float(alternative)
    except ValueError:
        return False
    return True


def formula_query_tokens(formula: TopicFormula, with_latex: bool) -> list[str]:
    """Return the query of a Task 2 topic: the words of the alternative text, if wanted, and the tuples."""
    mathml, alternative = formula_text(formula)
    return [*(latex_words(alternative) if with_latex else ()), *math_tokens(mathml, L8_SEARCH)]


def latex_words(latex: str) -> list[str]:
    """Return the words of LaTeX with at least three characters."""
    return [word for word in _LATEX_WORD_BREAK.split(latex) if len(word) >= SHORTEST_LATEX_WORD]
