"""Read documents in another process, whose processor time and memory are limited.

Documents are of any origin, and the libraries that read them promise no bounds: a headline of 4 KB kept orgparse busy
for minutes."""

from __future__ import annotations

import atexit
import signal
from collections.abc import Callable

from porism.corpus.sources.documents.latex import read_latex
from porism.corpus.sources.documents.markdown import read_markdown, read_notebook
from porism.corpus.sources.documents.page import read_page, read_rst
from porism.corpus.sources.documents.plain import read_org, read_text
from porism.corpus.sources.documents.section import Document, Section
from porism.limited_process import Ended, LimitedProcess, answer_questions

READERS: dict[str, Callable[[str], Document]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".tex": read_latex,
    ".ltx": read_latex,
    ".html": read_page,
    ".htm": read_page,
    ".xhtml": read_page,
    ".ipynb": read_notebook,
    ".txt": read_text,
    ".rst": read_rst,
    ".org": read_org,
}
# Processor time that a document may take, and for each of its characters; an ordinary one takes a tenth of that.
SECONDS, SECONDS_OF_CHARACTER = 10.0, 50e-6
MEMORY_BYTES = 2 << 30
PATIENCE = 20.0  # times the processor time that the clock may show, on a busy machine
ENDED = {
    -getattr(signal, "SIGPROF", 0): "takes more than {:.0f} seconds of processor time",
    -signal.SIGABRT: f"takes more than {MEMORY_BYTES >> 30} GB of memory",
}


def read_document(suffix: str, text: str) -> Document:
    """Read a file with this suffix. Raise ValueError if it is no document, or takes too much time or memory."""
    seconds = SECONDS + SECONDS_OF_CHARACTER * len(text)
    try:
        made = _process.ask([suffix, text], seconds, PATIENCE * seconds)
    except Ended as ended:
        raise ValueError(ENDED.get(ended.code, "its reader died").format(seconds)) from None
    if isinstance(made, str):
        raise ValueError(made)
    title, tags, sections, unexpanded = made
    return Document(title, tuple(tags), [Section(*section) for section in sections], unexpanded)


_process = LimitedProcess(__name__)
atexit.register(_process.stop)


def serve() -> None:
    """Read documents. The work of the process."""
    answer_questions(_answer, MEMORY_BYTES)


def _answer(question: tuple[str, str]) -> object:
    suffix, text = question
    try:
        document = READERS[suffix](text)
    except MemoryError:
        return ENDED[-signal.SIGABRT]
    except Exception as error:  # one damaged document must not end a build of thousands
        return str(error) or type(error).__name__
    sections = [(section.title, section.body) for section in document.sections]
    return document.title, document.tags, sections, document.unexpanded
