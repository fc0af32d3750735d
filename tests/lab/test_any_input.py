"""Input from outside gives a result or a PorismError, never another error, and never anything that runs."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lab_case import ATTACK, LabCase
from porism.errors import PorismError
from porism.lab.judging.assessments import assessments
from porism.lab.judging.content import ContentRenderer, written_blocks
from porism.lab.judging.journal import Journal
from porism.lab.submissions import Submissions
from porism.lab.turkle.files import REQUIRED_COLUMNS, cell, import_results

FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "<",
            ">",
            "/",
            '"',
            "'",
            "=",
            " ",
            "script",
            "img",
            "onerror",
            "a",
            "href",
            "javascript:",
            "svg",
            "math",
            "mtext",
            "style",
            "<!--",
            "-->",
            "]]>",
            '<span class="math-container" id="1">',
            '<span class="math-container">',
            "</span>",
            "\\text{",
            "}",
            "$",
            "${x}",
            "&lt;",
            "&#x3c;",
            "\ue000",
            "\ue001",
            "0",
            "\x00",
            "∑",
            "\n",
        ]
    ),
    max_size=40,
).map("".join)
RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
DANGEROUS = re.compile(
    r"<\s*/?\s*(script|iframe|svg|style|img|form|input|object|embed|link|meta|base)\b|<[^>]*\son\w+\s*=|<[^>]*href=.?javascript:",
    re.I,
)


@RELAXED
@given(text=FRAGMENTS)
@example(text=ATTACK)
def test_no_content_can_run_scripts(case: LabCase, text: str) -> None:
    content = ContentRenderer(case.collection, lambda thread, post: f"/thread/{thread}#p{post}")
    for shown in (content.render(text), "".join(content.blocks(text)), "".join(written_blocks(text))):
        assert not DANGEROUS.search(shown)
        # Cells for Turkle are ASCII and contain no field.
        assert cell(shown).isascii()
        assert "${" not in cell(shown)


@RELAXED
@given(
    text=st.one_of(
        st.text(max_size=300),
        st.lists(st.lists(st.text(max_size=8), max_size=9), max_size=5).map(
            lambda rows: ",".join(REQUIRED_COLUMNS) + "\n" + "\n".join(",".join(row) for row in rows)
        ),
    )
)
def test_no_results_file_is_imported_unchecked(journal: Journal, text: str) -> None:
    try:
        summary = import_results(journal, text, "r.csv")
    except PorismError:
        return
    assert summary.results == 0
    assert assessments(journal) == []


@RELAXED
@given(name=st.text(max_size=60), data=st.binary(max_size=200))
def test_no_upload_escapes_or_crashes_the_desk(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        submissions = Submissions(Path(folder) / "submissions")
        receipt = submissions.submit("Red", name, data)
        assert receipt.verdict == "refused"
        assert receipt.report
        assert sorted(path.name for path in Path(folder).rglob("*") if path.is_file()) == [".lock", "receipts.jsonl"]
