"""Log lines as text or as JSON. No request can forge a line: whatever comes from outside is escaped."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

LogFormat = Literal["text", "json"]
LOG_FORMATS: tuple[LogFormat, ...] = ("text", "json")
MOST_PATH = 200  # characters of a path in a log line
# The id of the request that is being answered; JSON lines contain it.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
LOG = logging.getLogger("porism.web")


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped, so that no request can forge a line of the log."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


class TextFormatter(logging.Formatter):
    """One line for each record. The lines of a traceback follow it, indented."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        line = f"{self.formatTime(record)} {printable(record.getMessage())}"
        return "\n".join((line, *(f"    {printable(one)}" for one in traceback_of(record).splitlines())))


class JsonFormatter(logging.Formatter):
    """One JSON object on a line for each record: time, level, process, message, request id, fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields: Mapping[str, object] = getattr(record, "fields", {})
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "message": record.getMessage(),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        line |= fields
        if text := traceback_of(record):
            line["traceback"] = text
        return json.dumps(line, default=str)  # only ASCII: separators of lines are escaped, too


FORMATTERS = {"text": TextFormatter, "json": JsonFormatter}


def traceback_of(record: logging.LogRecord) -> str:
    """Return the traceback of a record, or nothing."""
    return logging.Formatter().formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""


def configure_logging(log_format: LogFormat) -> None:
    """Write all log lines of this process, and of those forked from it, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FORMATTERS[log_format]())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def log_request(request_id: str, method: str, path: str, status: int, seconds: float) -> None:
    """Log a request that was answered."""
    shown, milliseconds = printable(path[:MOST_PATH]), round(seconds * 1000, 1)
    fields = {
        "event": "request",
        "request_id": request_id,
        "method": method,
        "path": shown,
        "status": status,
        "milliseconds": milliseconds,
    }
    LOG.info("%s %s %s %s %.1f ms", request_id, method, shown, status, milliseconds, extra={"fields": fields})


def log_address(line: str, address: str, log_format: LogFormat, event: str = "serving") -> None:
    """Say where a server answers: as a line for people, or as a record."""
    if log_format == "json":
        LOG.info("%s", line, extra={"fields": {"event": event, "address": address}})
    else:
        print(line, file=sys.stderr, flush=True)
