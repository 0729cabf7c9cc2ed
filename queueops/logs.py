"""One line per event, for people (text) and for machines (JSON).

Passwords of URLs are replaced, and control characters escaped.

What a call passes as `extra` becomes `key=value`, or a key of the JSON object:

    logger.info("task failed", extra={"id": task_id, "attempt": 2})

What the message says already goes under `told`, for machines: `extra={"told": {"id": task_id}}` is in JSON alone.
"""

from __future__ import annotations

import json
import logging
import logging.config
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from queueops.errors import BadOption
from queueops.scrub import scrub

FORMATS = ("text", "json")
LONGEST = 16_000  # characters of one line

TOLD = "told"
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), 127)} | {10: "\\n", 13: "\\r", 9: "\\t"}


def configure(log_format: str = "text", level: str = "INFO") -> None:
    """Send the logs of this process to stderr in the format, in place of what the settings say. Raises BadOption."""
    if log_format not in FORMATS:
        raise BadOption(name="--log-format", value=log_format, expected=" or ".join(FORMATS))
    formatter = JsonFormatter if log_format == "json" else TextFormatter
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"chosen": {"()": formatter}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "chosen"}},
            "root": {"handlers": ["stderr"], "level": level},
        }
    )


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO queueops.worker task failed id=7 attempt=2`."""

    def format(self, record: logging.LogRecord) -> str:
        """The event as one line."""
        parts = [_time(record), record.levelname, record.name, record.getMessage()]
        parts += [f"{key}={_plain(value)}" for key, value in _extra(record) if key != TOLD]
        parts += _traceback(self, record)
        return scrub(" ".join(parts)).translate(_CONTROL)[:LONGEST]


class JsonFormatter(logging.Formatter):
    """`{"time": ..., "level": ..., "logger": ..., "message": ..., "id": ...}`; a traceback is under `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        """The event as one line."""
        event: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": scrub(record.getMessage())[:LONGEST],
            "pid": record.process,
        }
        extra = dict(_extra(record))
        told = extra.pop(TOLD, None)
        given = (told if isinstance(told, dict) else {}) | extra
        event |= {str(key): _jsonable(value) for key, value in given.items() if key not in event}
        for text in _traceback(self, record):
            event["exception"] = scrub(text)[-LONGEST:]
        return json.dumps(event, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _extra(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in vars(record).items() if key not in _STANDARD)


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    if record.exc_info and record.exc_info[0] is not None:
        return [formatter.formatException(record.exc_info)]
    return []


def _plain(value: Any) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(mark in text for mark in ' "=') else text


def _jsonable(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return scrub(str(value))[:LONGEST]
