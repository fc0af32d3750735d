"""Datasets in the manner of ir_datasets: fields, files that are missing, names, registration."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

import porism
from porism.datasets import PUBLISHED, AnswerDoc, FormulaDoc, FormulaTopicQuery, Qrel, TopicQuery, names
from porism.errors import PorismError

SAMPLE = Path(__file__).resolve().parents[2] / "sample"

POSTS = """<?xml version="1.0" encoding="utf-8"?>
<posts>
<row Id="1" PostTypeId="1" Title="Roots" Body="&lt;p&gt;Why?&lt;/p&gt;" Score="2" CreationDate="2012-01-01T00:00:00.000" Tags="&lt;algebra&gt;" />
<row Id="2" PostTypeId="2" ParentId="1" Body="&lt;p&gt;Since &lt;span class=&quot;math-container&quot; id=&quot;7&quot;&gt;x^2=2&lt;/span&gt;.&lt;/p&gt;" Score="5" CreationDate="2012-01-02T00:00:00.000" />
</posts>
"""
FORMULAS = "id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula\n7\t2\t1\tanswer\t\t3\t4\t\ta&lt;b\n"


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """A folder with the official files of a tiny edition, in sub-folders as on the lab's drive."""
    for name in ("Collection", "Topics", "Qrels", "Formulas/latex_representation_v3"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "Collection" / "Posts.V1.3.xml").write_text(POSTS)
    (tmp_path / "Formulas/latex_representation_v3" / "1.tsv").write_text(FORMULAS)
    shutil.copy(SAMPLE / "topics/task1.xml", tmp_path / "Topics" / "Topics_Task1_2022_V0.1.xml")
    shutil.copy(SAMPLE / "topics/task2.xml", tmp_path / "Topics" / "Topics_Task2_2022_V0.1.xml")
    (tmp_path / "Qrels" / "qrel_task1_2022_official.tsv").write_text("A.301\t0\t2\t3\n")
    with gzip.open(tmp_path / "Qrels" / "qrel_task2_2022_official.tsv.gz", "wt") as out:
        out.write("B.301\t0\t4\t2\n")
    return tmp_path


def test_answers_topics_and_judgments(official: Path) -> None:
    dataset = porism.dataset("arqmath/2022/task1", official)
    assert list(dataset.docs) == [
        AnswerDoc("2", "Since $x^2=2$.", '<p>Since <span class="math-container" id="7">x^2=2</span>.</p>', "1", 5)
    ]
    query = next(iter(dataset.queries))
    assert isinstance(query, TopicQuery)
    assert query.title
    assert query.text == query.default_text()
    assert list(dataset.qrels) == [Qrel("A.301", "2", 3, "0")]
    assert (dataset.docs_cls(), dataset.queries_cls(), dataset.qrels_cls()) == (AnswerDoc, TopicQuery, Qrel)
    assert dataset.qrels_defs()[3] == "high"


def test_formulas(official: Path) -> None:
    dataset = porism.dataset("arqmath/2022/task2", official)
    assert list(dataset.docs) == [FormulaDoc("7", "a<b", "4", "2", "answer")]
    query = next(iter(dataset.queries))
    assert isinstance(query, FormulaTopicQuery)
    assert query.formula_id
    assert query.text
    assert list(dataset.qrels) == [Qrel("B.301", "4", 2, "0")]


@pytest.mark.parametrize(
    ("name", "missing"),
    [("arqmath/2021/task1", "Topics_Task1_2021_V1.1.xml"), ("arqmath/2020/task2", "Topics_V1.1.xml")],
)
def test_a_missing_file_is_named_with_the_place_where_it_is_published(official: Path, name: str, missing: str) -> None:
    with pytest.raises(PorismError) as caught:
        next(iter(porism.dataset(name, official).queries))
    assert f"{missing} is missing" in str(caught.value)
    assert PUBLISHED in str(caught.value)


def test_missing_documents(tmp_path: Path) -> None:
    with pytest.raises(PorismError, match=r"Posts\.V1\.3\.xml is missing"):
        next(iter(porism.dataset("arqmath/2022/task1", tmp_path).docs))
    with pytest.raises(PorismError, match="latex_representation_v3 is missing"):
        next(iter(porism.dataset("arqmath/2022/task2", tmp_path).docs))


def test_names() -> None:
    assert names() == tuple(
        f"arqmath/{year}/task{task}"
        for year, task in [(2020, 1), (2020, 2), (2021, 1), (2021, 2), (2022, 1), (2022, 2), (2022, 3)]
    )
    with pytest.raises(PorismError, match="did you mean arqmath/2022/task1"):
        porism.dataset("arqmath/2022/tsk1", ".")
    with pytest.raises(PorismError, match="not a folder"):
        porism.dataset("arqmath/2022/task1", "no-such-folder")


def test_registration_in_ir_datasets(official: Path) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    from porism.datasets import register

    assert "arqmath/2022/task1" in register(official)
    dataset = ir_datasets.load("arqmath/2022/task1")
    assert [doc.doc_id for doc in dataset.docs_iter()] == ["2"]
    assert [(one.query_id, one.relevance) for one in dataset.qrels_iter()] == [("A.301", 3)]
    assert next(iter(dataset.queries_iter())).query_id
    assert register(official) == ()


def test_registration_without_ir_datasets(official: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from porism.datasets import register

    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(PorismError, match="pip install ir_datasets"):
        register(official)


@pytest.mark.shared
def test_the_official_judgments_and_topics(shared_data: Path) -> None:
    judged = list(porism.dataset("arqmath/2021/task2", shared_data / "qrels-official").qrels)
    assert len({one.query_id for one in judged}) == 70 or len({one.query_id for one in judged}) == 58
    topics = list(porism.dataset("arqmath/2021/task1", shared_data / "slice" / "topics").queries)
    assert len(topics) == 100
