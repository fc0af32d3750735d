"""Plain text, reStructuredText and Org files become sections; other files of a folder are counted and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.sources.documents.page import read_rst
from porism.corpus.sources.documents.plain import read_org, read_text
from porism.corpus.sources.folder import Folder
from porism.corpus.sources.raw import Dropped, RawPost

from ..small import built, examples, tally


def span(latex: str) -> str:
    return f'<span class="math-container">{latex}</span>'


def test_plain_text() -> None:
    text = "On $G$\n\nLet $a<b$ & \\(c\\).\n- one\n- two\n\nNext\n====\n<script>x</script>\n"
    sections = read_text(text).sections
    assert [section.title for section in sections] == ["", f"On {span('$G$')}", "Next"]
    assert sections[1].body == f"<p>Let {span('$a&lt;b$')} &amp; {span('$c$')}.\n<br>- one\n<br>- two</p>"
    assert sections[2].body == "<p>&lt;script&gt;x&lt;/script&gt;</p>"


RST = r"""
Roots of :math:`x`
==================

Let :math:`p<q`, ``$code$``, $z$ and |name|.

.. math:: a^2 + b^2

.. math::
   :label: sum

   a &= b \\
   c &= d

.. theorem:: Fermat

   No :math:`n>2`.

See :ref:`there`.

Next
----

text

.. |name| replace:: *someone*
"""


def test_restructured_text() -> None:
    sections = read_rst(RST).sections
    assert [section.title for section in sections] == ["", f"Roots of {span('$x$')}", "Next"]
    lines = sections[1].body.split("\n")
    assert lines[0] == f"<p>Let {span('$p&lt;q$')}, <code>$code$</code>, {span('$z$')} and <em>someone</em>.</p>"
    assert lines[1] == f"<p>{span('$$a^2 + b^2$$')}</p>"
    assert r"\begin{align*}a &amp;= b \\" in lines[2]
    assert lines[3:5] == ["<p>Fermat</p>", f"<p>No {span('$n&gt;2$')}.</p>"]
    assert lines[5] == "<p>See :ref:`there`.</p>"


@pytest.mark.parametrize(
    "directive",
    [
        ".. include:: {}",
        ".. raw:: html\n   :file: {}",
        ".. csv-table:: x\n   :file: {}",
        ".. image:: {}\n   :loading: embed",
        ".. figure:: {}\n   :loading: embed",
        ".. code-block:: python\n   :include: {}",
        ".. literalinclude:: {}",
        ".. raw:: html\n\n   <script>secret</script>",
        ".. role:: x(raw)\n   :format: html\n\n:x:`<b>secret</b>`",
    ],
)
def test_restructured_text_reads_no_other_file(directive: str, tmp_path: Path) -> None:
    (tmp_path / "other.svg").write_text("<svg><text>secret</text></svg>")
    document = read_rst(f"before\n\n{directive.format(tmp_path / 'other.svg')}\n\nafter\n")
    body = "".join(section.body for section in document.sections)
    assert "before" in body
    assert "after" in body
    assert "secret</" not in body
    assert "data:" not in body


def test_nested_substitutions_do_not_grow() -> None:
    chain = "".join(f".. |a{n}| replace:: |a{n + 1}| |a{n + 1}|\n" for n in range(40))
    assert read_rst(f"{chain}\n|a0|\n").sections[0].body == "<p>a1 a1</p>"


def test_a_long_restructured_text_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORISM_RST_CHARACTERS", "100")
    (tmp_path / "long.rst").write_text("text\n" * 30)
    (record,) = Folder(tmp_path).parts()[0].read()
    assert record == Dropped(
        "documents", "cannot be read (more than 100 characters of reStructuredText)", str(tmp_path / "long.rst")
    )


ORG = r"""#+TITLE: On $p$
#+FILETAGS: :algebra:notes:
Intro $x*y$ *bold* /it/ =a$b= [[https://x.org/a_b][link]] [[file:pic.png]]

* TODO First \(a^2\) :tag:
:PROPERTIES:
:ID: 1
:END:
- one
- two \[x\]
#+begin_src python
print("$no$")
#+end_src
\begin{align}
* c
\end{align}
# comment
**** deep
text
** Second
<b>raw</b>
"""


def test_org() -> None:
    document = read_org(ORG)
    assert (document.title, document.tags) == (f"On {span('$p$')}", ("algebra", "notes"))
    intro, first, second = document.sections
    assert intro.body == (
        f"<p>Intro {span('$x*y$')} <b>bold</b> <i>it</i> <code>a$b</code> "
        '<a href="https://x.org/a_b" rel="nofollow noopener">link</a> <img src="pic.png" alt=""></p>'
    )
    assert first.title == f"First {span('$a^2$')}"
    assert '<pre><code>print("$no$")\n</code></pre>' in first.body
    assert span(r"$$\begin{align} * c \end{align}$$") in first.body
    assert first.body.endswith("<h4>deep</h4>\n<p>text</p>")
    assert "ID" not in first.body
    assert "comment" not in first.body
    assert (second.title.rpartition(" › ")[2], second.body) == ("Second", "<p>&lt;b&gt;raw&lt;/b&gt;</p>")


def test_files_without_a_reader_are_counted_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in {"a.txt": "text $x$", "b.rst": "text :math:`y`", "c.org": "* A\ntext $z$"}.items():
        (folder / name).write_text(text)
    for number in range(7):
        (folder / f"paper{number}.pdf").write_bytes(b"%PDF")
    (folder / "main.aux").touch()
    (folder / "picture.png").touch()
    collection = built(tmp_path / "out", folder)
    assert collection.count("posts") == 3
    assert tally(collection)["other files", "no reader for .pdf"] == 7
    assert len(examples(collection, "other files", "no reader for .pdf")) == 5
    assert examples(collection, "other files", "not documents") == [str(folder / "main.aux")]


def test_posts_of_notes_have_their_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Title\n\ntext")
    (post,) = Folder(tmp_path).parts()[0].read()
    assert isinstance(post, RawPost)
    assert (post.title, post.file) == ("a › Title", "a.txt")
