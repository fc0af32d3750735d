"""Words and queries of MathDowers: tokenizers, stemmers, word lists, and agreement with the original's queries."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.records import Topic, TopicFormula
from porism.systems.documents import martin_porter, nltk_porter, nltk_tools
from porism.systems.mathdowers.queries import (
    WordLists,
    engine_tokens,
    formula_query_tokens,
    is_trivial,
    keywords,
    latex_words,
    query_tokens,
    read_lists,
    repaired,
)
from porism.text.markup import math_span

LISTS = WordLists(frozenset(("the", "of", "is")), frozenset(("theori", "field", "ring")), "the test")
YEARS = ("2020", "2021")


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("ties", "ti"), ("cats", "cat"), ("feed", "feed"), ("agreed", "agre"),
        ("plastered", "plaster"), ("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat"), ("hopping", "hop"),
        ("falling", "fall"), ("filing", "file"), ("happy", "happi"), ("sky", "sky"), ("relational", "relat"),
        ("possibly", "possibl"), ("topology", "topolog"), ("hopefulness", "hope"), ("triplicate", "triplic"),
        ("adoption", "adopt"), ("rate", "rate"), ("cease", "ceas"), ("controll", "control"), ("roll", "roll"), ("is", "is"),
    ],
)  # fmt: skip
def test_the_stemmer_of_the_engine(word: str, stem: str) -> None:
    assert martin_porter(word) == stem


@pytest.mark.parametrize(
    ("word", "stem"),
    [("dying", "die"), ("ties", "tie"), ("tied", "tie"), ("used", "use"), ("One", "one"), ("enjoy", "enjoy"), ("geology", "geolog"), ("fully", "fulli"), ("successfully", "success")],
)  # fmt: skip
def test_the_stemmer_of_queries_has_the_extensions_of_nltk(word: str, stem: str) -> None:
    assert nltk_porter(word) == stem


def test_treebank_tokens() -> None:
    text = "They'll \"prove\" it can't be (x,y): 1,000 cannot... do-it."
    expected = "They 'll `` prove '' it ca n't be ( x , y ) : 1,000 can not ... do-it ."
    assert nltk_tools().treebank_tokens(text) == expected.split()


def test_engine_tokens_are_stemmed_words_and_whole_tuples() -> None:
    assert engine_tokens("Rings, x_1 naïve #(v!x,!0)# 5# #a b") == [
        "ring",
        "x",
        "1",
        "naïv",
        "#(v!x,!0)#",
        "5#",
        "a",
        "b",
    ]


def test_words_of_a_query() -> None:
    text = "The Theory of finite–field non-zero rings is \\text x2 (Fields)"
    assert list(keywords(text, LISTS)) == ["Theory", "field", "rings", "Fields", "finite–field", "non-zero"]


def topic() -> Topic:
    spans = {name: f'<span class="math-container" id="{name}">x</span>' for name in ("q_1", "q_2", "q_3")}
    mathml = '<math alttext="{}"><mi>x</mi><mo>+</mo><mi>ring</mi></math>'
    formulas = tuple(
        TopicFormula(name, "x", mathml=mathml.format(alt)) for name, alt in zip(spans, ("x", "x", "x+y"), strict=True)
    )
    return Topic(
        "A.1", f"Field {spans['q_1']}", f"<p>{spans['q_2']} theory {spans['q_3']}</p>", ("ring-theory",), formulas
    )


def test_a_query_has_formulas_then_words_and_drops_single_characters_of_the_body() -> None:
    tokens = query_tokens(topic(), LISTS)
    assert tokens.count("#(start)#") == 2
    assert tokens[tokens.index("Field") :] == ["Field", "theory", "ring", "theory", "ring-theory"]


def test_the_characters_of_formulas_are_text_of_the_words() -> None:
    one = Topic("A.2", '<span class="math-container" id="q_1">x</span>', formulas=(TopicFormula("q_1", "", mathml="<math> <mi>ring</mi> <mi>x</mi> </math>"),))  # fmt: skip
    assert query_tokens(one, LISTS)[-1] == "ring"


@pytest.mark.parametrize(
    ("alternative", "trivial"), [("x", True), ("12", True), ("-1.5", True), ("", True), ('y"', True), ("12x", False)]
)
def test_trivial_formulas(alternative: str, trivial: bool) -> None:
    assert is_trivial(alternative) == trivial


@pytest.mark.parametrize(
    ("source", "latex", "found"),
    [("", "x", True), ("$x$", "x", True), ("$$a &lt; b$$", "a < b", True), ("$x $", "x", False), ("$a\\{b &amp; c$", "a\\{b & c", False)],
)  # fmt: skip
def test_a_formula_without_id_must_be_in_the_table_as_it_is_written(source: str, latex: str, found: bool) -> None:
    formula = TopicFormula("q_1", latex, mathml="<math><mi>x</mi></math>", source=source)
    one = Topic("A.3", f"Ring {math_span(latex, 'q_1')}", formulas=(formula,))
    assert ("#(start)#" in query_tokens(one, LISTS)) == found


def test_doubly_escaped_relation_signs_are_repaired() -> None:
    times = "<mo>\u2062</mo>"
    broken = f'<mrow><mi>x</mi>  {times}<mi mathvariant="normal">&amp;</mi>{times}<mi>l</mi>{times}<mi>t</mi></mrow> <mo>;</mo><mn>1</mn>'
    assert repaired(broken) == "<mrow><mi>x</mi><mo>&lt;</mo></mrow><mn>1</mn>"
    assert repaired("<mi>x</mi>  <mi>y</mi>") == "<mi>x</mi>  <mi>y</mi>"


def test_words_of_latex_have_three_characters() -> None:
    assert latex_words("\\frac{ab}{abc}_long + x_{sin2}") == ["frac", "abc", "long", "sin2"]
    formula = TopicFormula("q_1", "ignored", mathml='<math alttext="\\sum x"><mi>x</mi></math>')
    assert formula_query_tokens(formula, True)[:2] == ["sum", "#(start)#"]
    assert formula_query_tokens(formula, False)[0] == "#(start)#"


def test_lists_are_read_from_a_folder_and_a_missing_one_is_reported(tmp_path: Path) -> None:
    files = {
        "nltk_stopwords.txt": "the\n",
        "lucence_snowball_english_stop.txt": " | a comment\nof  | a word\n",
        "manual_stopwords.txt": "text # \\text\n",
        "MSE_tag_keywords.txt": "5\ttheory\ttheori\n#\t4\tand\tand\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(PorismError, match=r"the word list wiki_keywords\.txt is missing") as caught:
        read_lists(tmp_path)
    assert "github.com/kiking0501/MathDowsers-ARQMath" in caught.value.fix
    (tmp_path / "wiki_keywords.txt").write_text("3\tring\tring\n")
    lists = read_lists(tmp_path)
    assert (lists.stop, lists.stems) == ({"the", "of", "text"}, {"theori", "ring"})


@pytest.mark.shared
def test_stems_equal_those_of_the_published_lists(shared_data: Path) -> None:
    for name in ("MSE_tag_keywords.txt", "wiki_keywords.txt"):
        for line in (shared_data / "fidelity/mathdowers-lists" / name).read_text("utf-8").splitlines():
            _, word, stem = line.removeprefix("#\t").split("\t")
            assert nltk_porter(word) == stem


@pytest.mark.shared
@pytest.mark.parametrize("year", YEARS)
def test_queries_equal_those_of_the_original(shared_data: Path, year: str) -> None:
    """Fidelity data F3. Left is a broken formula of A.50."""
    lists = read_lists(shared_data / "fidelity/mathdowers-lists")
    tables = [shared_data / f"arqmath-format/topic-formulas/{year}_formulas_{kind}.tsv" for kind in ("latex", "slt")]
    topics = {one.id: one for one in read_topics(shared_data / f"slice/topics/task1-{year}.xml", tables)}
    path = shared_data / f"fidelity/mathdowers-original.query-tokens-L8.task1-{year}.txt"
    lines = path.read_text("utf-8").splitlines()
    different = []
    for line in lines:
        number, _, tokens = line.partition(";")
        if Counter(query_tokens(topics[number], lists)) != Counter(tokens.split()):
            different.append(number)
    assert different == {"2020": ["A.50"], "2021": []}[year]
