"""Markdown, LaTeX, HTML and notebooks become sections; a folder of them becomes posts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from porism.corpus.sources.documents.latex import read_latex
from porism.corpus.sources.documents.markdown import read_markdown, read_notebook
from porism.corpus.sources.documents.page import read_page
from porism.corpus.sources.documents.section import Section
from porism.corpus.sources.folder import documents
from porism.files import read_regular

from ..small import built, examples, tally


def span(latex: str) -> str:
    return f'<span class="math-container">${latex}$</span>'


def test_markdown() -> None:
    text = '---\ntitle: "Notes"\ntags: [algebra, "groups"]\n---\nIntro\n\n# On $G$\n*a* $x_1$ and `$y$`\n\n```\n$z$\n```\n#### Small\n\n## Next\n<script>x</script>b'
    document = read_markdown(text)
    assert (document.title, document.tags) == ("Notes", ("algebra", "groups"))
    assert [section.title for section in document.sections] == ["", f"On {span('G')}", f"On {span('G')} › Next"]
    assert document.sections[1].body == (
        f"<p><em>a</em> {span('x_1')} and <code>$y$</code></p>\n<pre><code>$z$\n</code></pre>\n<h4>Small</h4>\n"
    )
    assert "script" not in document.sections[2].body


def test_tilde_fences_hold_code() -> None:
    assert "math-container" not in read_markdown("~~~\n$x$\n~~~\n").sections[0].body


def test_indented_code_is_code_but_not_in_a_list() -> None:
    text = "Cost $5:\n\n    print('$x$')\n    # $y\n\nand $z$\n\n1. one\n\n    then $w$\n"
    body = read_markdown(text).sections[0].body
    assert [latex in body for latex in map(span, "xyzw")] == [False, False, True, True]
    assert "<pre><code>print('$x$')\n# $y\n</code></pre>" in body


def test_notebook() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Euler\n", "$e^{i\\pi}$"]},
        {"cell_type": "code", "source": "print('$x$') # ```"},
        {"cell_type": "raw", "source": "skipped"},
    ]
    document = read_notebook(json.dumps({"cells": cells, "nbformat": 4}))
    assert document.sections[1] == Section(
        "Euler", "<p>" + span(r"e^{i\pi}") + "</p>\n<pre><code>print('$x$') # ```\n</code></pre>\n"
    )


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"cells": 3}'])
def test_files_that_are_not_notebooks(text: str) -> None:
    try:
        assert all(not section.body.strip() for section in read_notebook(text).sections)
    except ValueError:
        return


def test_page() -> None:
    text = (
        "<html><head><title>A &amp; B</title></head><body><div><h1>One</h1><p>Let "
        '<math alttext="a_1 &lt; b"><mi>a</mi></math>, <math><semantics><mi>c</mi><annotation encoding="application/x-tex">c^2</annotation></semantics></math> '
        '<script type="math/tex">d</script> \\(e\\)</p></div><nav>menu</nav><h2>Two</h2><p onclick="x()">text</p></body></html>'
    )
    document = read_page(text)
    assert document.title == "A & B"
    assert document.sections[1] == Section(
        "One", f"<p>Let {span('a_1 &lt; b')}, {span('c^2')} {span('d')} {span('e')}</p>"
    )
    assert document.sections[2] == Section("Two", "<p>text</p>")


LATEX = r"""
\documentclass{article} % a comment with $x$
\title{On \emph{groups}}
\newcommand{\Z}{\mathbb{Z}}
\def\inv#1{#1^{-1}}
\begin{document}
\maketitle
Let $G = \Z/n\Z$, 50\% of ``it''---G\"odel's \textbf{own}~\cite{a}.

\section{Inverses $\inv{g}$}
\begin{theorem}[Lagrange]
\label{t}
\[ |H| \mid |G| \]
\end{theorem}
\begin{itemize} \item one \item two $\inv{h}$ \end{itemize}
\begin{verbatim}
$not$ a formula
\end{verbatim}
\end{document}
not read
"""


def test_latex() -> None:
    document = read_latex(LATEX)
    assert document.title == "On <em>groups</em>"
    first, second = document.sections
    cyclic = r"G = \mathbb{Z}/n\mathbb{Z}"
    assert first.body == f"<p>Let {span(cyclic)}, 50% of “it”—Gödel's <strong>own</strong>&nbsp;[a].</p>\n"
    assert second.title == f"Inverses {span('g^{-1}')}"
    assert "<strong>Theorem (Lagrange).</strong>" in second.body
    assert span(r"$|H| \mid |G|$") in second.body, "two signs: it is displayed on a line of its own"
    assert f"<li>two {span('h^{-1}')} </li>" in second.body
    assert span("not") not in second.body
    assert "not read" not in second.body


def test_an_unclosed_group_is_read_to_the_end() -> None:
    document = read_latex(r"\emph{a \textbf{b " + "{" * 500 + r" \section{c")
    assert "b" in document.sections[0].body


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "number theory").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.md").write_text("$h$")
    (folder / "a.md").write_text("# One\n$x$\n# Two\n$y$ costs $5 and $6\n# Empty\n")
    (folder / "number theory" / "b.tex").write_text(r"\title{Primes} $p$")
    (folder / "bad.md").write_bytes(b"fine\n\xff")
    (folder / "broken.ipynb").write_text("{")
    (folder / "empty.html").write_text("<p></p>")
    (folder / "ignored.pdf").write_text("$t$")
    made = built(tmp_path / "c", folder)
    rows = [(post.id, post.kind, post.title.html(), post.tags, post.source) for post in made.posts()]
    assert rows == [
        (1, "question", "a › One", (), "notes/a.md"),
        (2, "question", "a › Two", (), "notes/a.md"),
        (3, "question", "Primes", ("number-theory",), "notes/number theory/b.tex"),
    ]
    assert [formula.latex for formula in made.formulas()] == ["x", "y", "p"]
    assert examples(made, "documents", "not UTF-8") == [f"{folder}/bad.md:2"]
    assert examples(made, "documents", "without text") == [f"{folder}/empty.html"]
    assert tally(made)["documents", "read"] == 3


@pytest.mark.shared
def test_an_encyclopedia_in_latex(shared_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "planetmath"
    folder.mkdir()
    with open(shared_data / "planetmath" / "entries.jsonl", encoding="utf-8") as lines:
        entries = [json.loads(line) for line, _ in zip(lines, range(150), strict=False)]
    for entry in entries:
        (folder / f"{entry['id']}.tex").write_text(
            f"\\title{{{entry['title']}}}\n\\begin{{document}}\n{entry['body']}\n\\end{{document}}\n", "utf-8"
        )
    made = built(tmp_path / "c", folder)
    sources = {post.source for post in made.posts()}
    assert len(sources) >= len(entries) - 1
    dollars = sum(entry["body"].count("$") - entry["body"].count("$$") for entry in entries) // 2
    assert made.count("formulas") >= 0.95 * dollars


def test_only_regular_files_inside_the_folder_are_read(tmp_path: Path) -> None:
    folder, outside = tmp_path / "notes", tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.md").write_text("# Secret\nsecret $s$")
    folder.mkdir()
    (folder / "own.md").write_text("# Own\nown $o$")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "inner.md").symlink_to(folder / "own.md")
    (folder / "folder").symlink_to(outside)
    os.link(outside / "secret.md", folder / "hard.md")
    os.mkfifo(folder / "pipe.md")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("# Café\n$c$")
    made = built(tmp_path / "c", folder)
    assert [formula.latex for formula in made.formulas()] == ["o"]
    counts = tally(made)
    assert counts["documents", "symbolic link"] == 3
    assert counts["documents", "hard link"] == 1
    assert counts["documents", "not a regular file"] == 1
    assert counts["documents", "name is not UTF-8"] == 1
    assert examples(made, "documents", "name is not UTF-8") == [f"{folder}/caf\\xe9.md"]


def test_hard_links_are_read_where_the_user_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/one.md").write_text("# One\n$o$")
    os.link(tmp_path / "notes/one.md", tmp_path / "snapshot.md")
    monkeypatch.setenv("PORISM_DOCUMENT_LINKS", "2")
    assert built(tmp_path / "c", tmp_path / "notes").count("posts") == 1


def test_a_hard_link_that_is_made_after_the_look_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n$o$")
    os.link(tmp_path / "one.md", tmp_path / "two.md")
    with pytest.raises(OSError, match="hard link"):
        read_regular(tmp_path / "one.md", 1000, 1)
    assert read_regular(tmp_path / "one.md", 1000).startswith(b"# One")


def test_folders_inside_each_other_are_read_at_any_depth(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    found = [path.name for path in documents(tmp_path)]
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)  # Python itself would remove it by recursion
    assert found == ["deep.md"]


def test_a_damaged_notebook_does_not_end_the_build(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Own\nown $o$")
    absurd = ({"cells": [{"cell_type": "heading", "level": "x"}]}, {"cells": [5]}, {"cells": [{"source": [1]}]})
    for at, notebook in enumerate(absurd):
        (folder / f"{at}.ipynb").write_text(json.dumps(notebook))
    made = built(tmp_path / "c", folder)
    assert [post.id for post in made.posts()] == [1]
    assert sum(number for (what, why), number in tally(made).items() if what == "documents" and why != "read") == 3
