"""Arguments of other workers: what `manage.py runworker` has in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from django.core.management.base import CommandParser

_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "Write --processes N --threads 1 for tasks that compute, or --threads N for tasks that wait.": (
        "-c", "--concurrency", "-w", "--workers", "--autoscale", "-P",
    ),
    "Write --pool NAME, once for each pool.": ("-Q", "--queues", "-q", "--queue", "--pools"),
    "Tasks are found in tasks.py of each installed app.": ("-A", "--app"),
    "Set the level in LOGGING; the format is --log-format.": ("-l", "--loglevel", "--logging_level"),
    "Run `manage.py watchdog` beside the worker: it runs what has a cron=.": ("-B", "--beat", "--with-scheduler"),
    "Write --max-tasks N.": ("--max-tasks-per-child",),
    "Write --max-memory MB.": ("--max-memory-per-child",),
}  # fmt: skip
_ADVICE = {name: instead for instead, names in _INSTEAD.items() for name in names}
_UNKNOWN = "unrecognized arguments: "


def explain(parser: CommandParser) -> CommandParser:
    """Let the error of the parser about an argument of another worker say what to write."""
    error: Callable[[str], NoReturn] = parser.error

    def explained(message: str) -> NoReturn:
        error(message + advice_about(message))

    parser.error = explained  # type: ignore[method-assign]
    return parser


def advice_about(message: str) -> str:
    """The end of a message about the first argument that is not known; empty if there is no advice."""
    if not message.startswith(_UNKNOWN):
        return ""
    first = message.removeprefix(_UNKNOWN).split()[0]
    if not first.startswith("-"):
        return f". Write --pool {first}"
    name = first.partition("=")[0]
    instead = _ADVICE.get(name) or ("" if name.startswith("--") else _ADVICE.get(name[:2], ""))
    return f". {instead}" if instead else ""
