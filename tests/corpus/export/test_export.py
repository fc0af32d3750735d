"""A collection in other forms, and back."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from porism.corpus.export import FORMATS, export
from porism.corpus.export.lab import part_size
from porism.corpus.export.pages import thread_paths
from porism.corpus.store.collection import Collection
from porism.errors import PorismError

from ..small import answer, built, comment, question, write_dump


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("export")
    source = write_dump(
        folder / "d",
        Posts=[
            question(3, '<p>If $a &lt; b$ and "q"</p>\n\n<p>$$x^2$$</p>', "On $t$ & more", AcceptedAnswerId=4, OwnerUserId=7, CreationDate="2015-02-01T00:00:00"),
            answer(4, 3, "<p>$\\text{no &amp; yes}$ <script>bad()</script></p>", OwnerUserId=7),
            answer(5, 3, "<p>no formula</p>"),
            question(9, "<p>$y$</p>", "Plain", CreationDate="2015-04-01T00:00:00"),
        ],
        Comments=[comment(1, 4, "See [this](http://a.b/c) *and* `code` $c<d$")],
        PostLinks=[{"Id": 1, "PostId": 3, "RelatedPostId": 9, "LinkTypeId": 3}, {"Id": 2, "PostId": 3, "RelatedPostId": 999, "LinkTypeId": 1}],
        Users=[{"Id": 7, "Reputation": 12345, "DisplayName": "Ada <x>"}],
        Badges=[{"Id": 1, "UserId": 7, "Class": 1}],
        Votes=[{"Id": 1, "PostId": 3, "VoteTypeId": 2}, {"Id": 2, "PostId": 3, "VoteTypeId": 9, "BountyAmount": 50}],
    )  # fmt: skip
    return built(folder / "c", source)


def write(collection: Collection, tmp_path: Path, form: str) -> Path:
    export(collection, tmp_path / form, form)
    return tmp_path / form


def test_the_labs_files_can_be_built_again(collection: Collection, tmp_path: Path) -> None:
    folder = write(collection, tmp_path, "lab")
    again = built(tmp_path / "again", folder)
    assert list(again.formulas()) == list(collection.formulas())
    assert list(again.all_comments()) == list(collection.all_comments())
    assert [p.title for p in again.posts()] == [p.title for p in collection.posts()]
    assert [p.body for p in again.posts()] == [
        replace(p.body, stored=re.sub("\n", " ", p.body.stored)) for p in collection.posts()
    ]
    assert list(again.all_votes()) == list(collection.all_votes())
    assert list(again.users()) == list(collection.users())
    assert list(again.all_links()) == list(collection.all_links())


def test_the_labs_tables(collection: Collection, tmp_path: Path) -> None:
    folder = write(collection, tmp_path, "lab")
    for kind in ("latex", "slt", "opt"):
        parts = folder / f"{kind}_representation_v3"
        assert sorted(int(path.stem) for path in parts.iterdir()) == list(range(1, 102))
        rows = []
        for number in range(1, 102):
            with open(parts / f"{number}.tsv", encoding="utf-8", newline="") as stream:
                head, *body = csv.reader(stream, delimiter="\t")
            assert head == [
                "id",
                "post_id",
                "thread_id",
                "type",
                "comment_id",
                "old_visual_id",
                "visual_id",
                "issue",
                "formula",
            ]
            rows += body
        assert [int(row[0]) for row in rows] == [formula.id for formula in collection.formulas()]
        if kind != "latex":
            assert all(ElementTree.fromstring(row[8]).tag.endswith("math") for row in rows)
    row = ElementTree.parse(folder / "Posts.V1.3.xml").getroot()[0]
    assert list(row.attrib)[:6] == ["Id", "PostTypeId", "CreationDate", "Score", "CommentCount", "OwnerUserId"]
    assert "\n" not in row.attrib["Body"]
    assert (folder / "visual_ids.tsv").read_text().splitlines()[1] == "1\t1\t"


def test_tables_are_split_as_by_the_lab() -> None:
    assert part_size(28_320_920) == 283_209
    assert part_size(5) == 1


def test_annotations_point_at_the_formulas(collection: Collection, tmp_path: Path) -> None:
    folder = write(collection, tmp_path, "annotations")
    texts = {
        (r["post_id"], r["comment_id"], r["field"]): r["text"]
        for r in map(json.loads, (folder / "texts.jsonl").read_text().splitlines())
    }
    latex = {formula.id: formula.latex for formula in collection.formulas()}
    with open(folder / "formulas.tsv") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert len(rows) == len(latex)
    for row in rows:
        text = texts[int(row["post_id"]), int(row["comment_id"]) if row["comment_id"] else None, row["field"]]
        assert text[int(row["start"]) : int(row["end"])] == latex[int(row["formula_id"])]


def test_jsonl(collection: Collection, tmp_path: Path) -> None:
    folder = write(collection, tmp_path, "jsonl")
    first = json.loads((folder / "posts.jsonl").read_text().splitlines()[0])
    assert (first["id"], first["links"]) == (
        3,
        [{"other_id": 9, "kind": "duplicate"}, {"other_id": 999, "kind": "related"}],
    )
    assert len((folder / "formulas.jsonl").read_text().splitlines()) == collection.count("formulas")


def test_parquet(collection: Collection, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is an extra")
    folder = write(collection, tmp_path, "parquet")
    table = parquet.read_table(folder / "formulas.parquet")
    assert table["latex"].to_pylist() == [formula.latex for formula in collection.formulas()]
    assert parquet.read_table(folder / "posts.parquet")["tags"].to_pylist()[0] == ["algebra"]


def test_trec(collection: Collection, tmp_path: Path) -> None:
    text = (write(collection, tmp_path, "trec") / "posts.trec").read_text()
    assert text.count("<DOC>") == text.count("</DOC>") == 4
    assert "<DOCNO>3</DOCNO>\n<KIND>question</KIND>\n<TITLE>On $t$ &amp; more</TITLE>" in text
    assert "$a &lt; b$" in text


def test_pages(collection: Collection, tmp_path: Path) -> None:
    folder = write(collection, tmp_path, "pages")
    assert thread_paths(collection) == {3: "3_2015/3_02/3.html", 9: "3_2015/9_04/9.html"}
    page = (folder / "3_2015" / "3_02" / "3.html").read_text()
    assert page.count("<math") == 5
    assert "script" not in page
    assert "http" not in page.replace("http://a.b/c", "").replace("http://www.w3.org/1998/Math/MathML", ""), (
        "nothing is fetched"
    )
    assert 'class="answer accepted"' in page
    assert page.count('class="answer"') == 1
    assert "Ada &lt;x&gt; (user 7, 12.3k)" in page
    assert '<a href="../../3_2015/9_04/9.html">[9] Plain</a>' in page
    assert "999" not in page, "links out of the collection are not shown"
    assert (folder / "index.html").read_text().count("<li>") == 2


def test_nothing_is_overwritten(collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(PorismError) as error:
        export(collection, tmp_path / "out", "trec")
    assert (
        str(error.value)
        == f"{tmp_path}/out: already exists\n  fix: remove it (rm -r {tmp_path}/out) or choose another name"
    )


def test_the_command_offers_every_format() -> None:
    from porism.cli.store import FORMATS as OFFERED

    assert tuple(FORMATS) == OFFERED
