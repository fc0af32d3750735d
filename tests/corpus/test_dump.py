"""The files of a dump: spellings, kinds, names."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from porism.corpus.sources.detect import describe, open_source
from porism.corpus.sources.dump import Dump, RowReader, tags
from porism.corpus.sources.raw import RawLink
from porism.errors import PorismError

from .small import answer, built, comment, examples, question, write_dump, xml


@pytest.mark.parametrize("text", ["<group-theory><abelian>", "|group-theory|abelian|", "group-theory abelian"])
def test_both_tag_syntaxes(text: str) -> None:
    assert tags(text) == "group-theory abelian"


def test_both_spellings_of_the_link_type() -> None:
    for name in ("LinkTypeId", "PostLinkTypeId"):
        assert RowReader(False).link({"PostId": "1", "RelatedPostId": "2", name: "3"}, 1) == RawLink(1, 2, "duplicate")


def test_compressed_files_and_lower_case_names(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    with gzip.open(folder / "posts.xml.gz", "wt") as out:
        out.write(xml("posts", [question(1, "<p>$x$</p>")]))
    assert [formula.latex for formula in built(tmp_path / "c", folder).formulas()] == ["x"]


def test_only_posts_are_required(tmp_path: Path) -> None:
    write_dump(tmp_path, Comments=[comment(1, 1)])
    with pytest.raises(PorismError) as error:
        Dump(tmp_path).parts()
    assert str(error.value) == f"{tmp_path}: there is no Posts.xml\n  fix: name the folder of a dump"


def test_the_kind_is_detected_and_can_be_overridden(tmp_path: Path) -> None:
    write_dump(tmp_path / "d", Posts=[question(1), answer(2, 1)])
    (tmp_path / "d" / "notes.md").write_text("# Notes\n$x$")
    assert describe(open_source(tmp_path / "d")) == f"{tmp_path}/d: a Stack Exchange dump"
    assert describe(open_source(tmp_path / "d", "folder")) == f"{tmp_path}/d: a folder of documents"


def test_unknown_source(tmp_path: Path) -> None:
    with pytest.raises(PorismError) as error:
        open_source(tmp_path)
    endings = ".md, .markdown, .tex, .ltx, .html, .htm, .xhtml, .ipynb, .txt, .rst, .org"
    fix = f"name the folder of a dump, or put documents into it ({endings})"
    assert str(error.value) == f"{tmp_path}: the folder has neither a dump nor documents\n  fix: {fix}"
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG")
    with pytest.raises(PorismError) as error:
        open_source(picture)
    fix = "name the kind: --source-kind {slice,dump,7z,arqmath,folder,formulas}"
    assert str(error.value) == f"{picture}: not a source that Porism knows\n  fix: {fix}"
    with pytest.raises(PorismError) as error:
        open_source(tmp_path, "page")
    kinds = "slice,dump,7z,arqmath,folder,formulas"
    assert str(error.value) == f"unknown kind of source 'page'\n  fix: write --source-kind {{{kinds}}}"
    with pytest.raises(PorismError, match="no such file or folder"):
        open_source(tmp_path / "none")


def test_the_folder_above_a_dump_is_refused(tmp_path: Path) -> None:
    write_dump(tmp_path / "site" / "dump", Posts=[question(1)])
    with pytest.raises(PorismError) as error:
        open_source(tmp_path / "site")
    message = f"{tmp_path}/site: a Stack Exchange dump is one level below, in dump/"
    assert str(error.value) == f"{message}\n  fix: porism build {tmp_path}/site/dump"
    (tmp_path / "site" / "README.md").write_text("# Read me\n$x$")
    with pytest.raises(PorismError) as error:
        open_source(tmp_path / "site")
    choice = "or add --source-kind folder to build the documents of this folder"
    assert str(error.value) == f"{message}\n  fix: porism build {tmp_path}/site/dump, {choice}"
    assert open_source(tmp_path / "site", "folder").kind == "folder"


@pytest.mark.shared
def test_a_real_dump_is_built_without_loss(shared_data: Path, tmp_path: Path) -> None:
    made = built(tmp_path / "c", shared_data / "stackexchange-dump", jobs=2)
    kinds = [post.kind for post in made.posts()]
    assert (kinds.count("question"), kinds.count("answer"), made.count("comments")) == (612, 1060, 3413)
    assert made.count("users") == 3461
    placed = sum(len(post.title.formulas) + len(post.body.formulas) for post in made.posts())
    placed += sum(len(each.body.formulas) for each in made.all_comments())
    assert placed == made.count("formulas") > 10_000


def test_a_record_that_cannot_be_stored_is_a_ledger_line(tmp_path: Path) -> None:
    rows = [question(1), question(2, Score=2**63), answer(3, 1, OwnerUserId=10**30), answer(4, 1)]
    write_dump(tmp_path / "d", Posts=rows)
    collection = built(tmp_path / "c", tmp_path / "d")
    assert [post.id for post in collection.posts()] == [1, 4]
    assert examples(collection, "posts", "Score has more than 15 digits") == [f"{tmp_path}/d/Posts.xml:4"]
    assert examples(collection, "posts", "OwnerUserId has more than 15 digits") == [f"{tmp_path}/d/Posts.xml:5"]
