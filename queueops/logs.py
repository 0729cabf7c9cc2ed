"""One line per event, for people (text) and for machines (JSON).

Secrets are masked by the setting REDACT, and control characters are escaped. `protect` does this for the loggers of
QueueOps also where a project has its own formatters.

What a call passes as `extra` becomes `key=value`, or a key of the JSON object:

    logger.info("task failed", extra={"id": task_id, "attempt": 2})

A line that a task logs has the task's id and that of its root, as `task` and `root` (`queueops.log_filter`).

Values that the message already contains are passed as `extra={"told": {"id": task_id}}`. The JSON format writes them as
keys, the text format leaves them out.
"""

from __future__ import annotations

import json
import logging
import logging.config
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from queueops.conf import redactor
from queueops.errors import BadOption
from queueops.model.redact import MASK

FORMATS = ("text", "json")
LONGEST = 16_000  # characters of one line

TOLD = "told"
OF_TASK = ("task", "root")
LINE_HANDLER = "queueops.log_handler.LineHandler"
TASK_FILTER = "queueops.log_filter.TaskFilter"
_ESCAPED = (*range(32), *range(127, 160), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Control characters, the separators that end a line for some readers, and those that turn the direction of a text."""
_CONTROL = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _ESCAPED}
_CONTROL |= {10: "\\n", 13: "\\r", 9: "\\t"}
_IN_JSON = {code: f"\\u{code:04x}" for code in _ESCAPED}
OURS = (
    "queueops",
    "queueops.alerts",
    "queueops.audit",
    "queueops.events",
    "queueops.metrics",
    "queueops.observers",
    "queueops.outbox",
    "queueops.push",
    "queueops.redis",
    "queueops.relay",
    "queueops.signals",
    "queueops.tail",
    "queueops.tasks",
    "queueops.waiting",
    "queueops.watchdog",
    "queueops.worker",
    "console.audit",
    "console.kinds",
    "console.probes",
)
FOREIGN = ("django.tasks", "django_tasks")
"""Loggers that tell the start and the end of a task of `django.tasks`, of which a worker has its own line."""
MASKED = "queueops_masked"
"""A record with this attribute has been masked."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", MASKED, TOLD}
_USUAL = _STANDARD.union(OF_TASK)


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
            "filters": {"task": {"()": TASK_FILTER}},
            "handlers": {"stderr": {"class": LINE_HANDLER, "formatter": "chosen", "filters": ["task"]}},
            "loggers": {name: {"level": "CRITICAL"} for name in FOREIGN},
            "root": {"handlers": ["stderr"], "level": level},
        }
    )


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO queueops.worker task failed id=7 attempt=2`."""

    def format(self, record: logging.LogRecord) -> str:
        """The event as one line."""
        time, message, extra = _read(record)
        text = f"{time} {record.levelname} {record.name} {message}"
        if extra:
            text += " " + redactor().text(" ".join(f"{key}={_plain(value)}" for key, value in extra.items()))
        if record.exc_info or record.exc_text:
            text = " ".join((text, *_traceback(self, record)))
        return _escaped(text)[:LONGEST]


class JsonFormatter(logging.Formatter):
    """`{"time": ..., "level": ..., "logger": ..., "message": ..., "id": ...}`; a traceback is under `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        """The event as one line."""
        time, message, extra = _read(record)
        event: dict[str, Any] = {
            "time": time,
            "level": record.levelname,
            "logger": record.name,
            "message": message[:LONGEST],
            "pid": record.process,
        }
        told = getattr(record, TOLD, None)
        given = (told if isinstance(told, dict) else {}) | extra
        event |= {str(key): _jsonable(key, value) for key, value in given.items() if key not in event}
        for text in _traceback(self, record):
            event["exception"] = text[-LONGEST:]
        return json.dumps(event, ensure_ascii=False).translate(_IN_JSON)


class MaskingFilter(logging.Filter):
    """Masks a record before any handler sees it, so that each formatter writes a line without secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the arguments of the message (its text stays, by which error trackers group), and the traceback."""
        if not hasattr(record, MASKED):
            if isinstance(record.args, Mapping):
                record.args = {name: masked(value) for name, value in record.args.items()}
            elif record.args:
                record.args = tuple(map(masked, record.args))
            else:
                record.msg = masked(record.msg)
            if record.exc_info:
                record.exc_text = "".join(_traceback(logging.Formatter(), record)) or record.exc_text
            setattr(record, MASKED, True)
        return True


def protect() -> None:
    """Mask the lines of our own loggers, whatever the project's LOGGING does with them."""
    for name in OURS:
        logger = logging.getLogger(name)
        if not any(isinstance(known, MaskingFilter) for known in logger.filters):
            logger.addFilter(MaskingFilter())


def masked(value: Any) -> Any:
    """An argument of a line without secrets and control characters. Numbers stay what they are, for %d.

    Letters and digits alone, such as those of a ULID, hold no secret that a text can show.
    """
    if isinstance(value, (int, float)):
        return value
    text = str(value)
    return text if text.isascii() and text.isalnum() else _escaped(redactor().text(text))


def _read(record: logging.LogRecord) -> tuple[str, str, dict[str, Any]]:
    """What each format shows of an event: its time, its message, and what its call passed as `extra`."""
    second, micros = divmod(round(record.created * 1_000_000), 1_000_000)
    time = f"{_second(second)}.{micros // 1000:03d}Z"
    message = record.getMessage() if hasattr(record, MASKED) else redactor().text(record.getMessage())
    fields = vars(record)
    if _USUAL.issuperset(fields) and fields.get("task", "") == fields.get("root", "") == "":
        return time, message, {}
    extra = {key: fields[key] for key in fields if key not in _STANDARD and (key not in OF_TASK or fields[key] != "")}
    return time, message, extra


@lru_cache(maxsize=2)
def _second(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().removesuffix("+00:00")


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    if hasattr(record, MASKED) and record.exc_text:
        return [record.exc_text]
    if record.exc_info and record.exc_info[0] is not None:
        return [redactor().text(formatter.formatException(record.exc_info))]
    return []


def _escaped(text: str) -> str:
    """The text with escaped control characters. None of them is printable, which is faster to ask."""
    return text if text.isprintable() else text.translate(_CONTROL)


def _plain(value: Any) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(mark in text for mark in ' "=') else text


def _jsonable(key: object, value: Any) -> Any:
    if redactor().hides(key):
        return MASK
    if value is None or isinstance(value, bool | int | float):
        return value
    return redactor().text(str(value))[:LONGEST]
