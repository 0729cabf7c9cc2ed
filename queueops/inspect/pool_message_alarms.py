"""Alarms about messages to other pools that were given up, or that have waited for too long, each with an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarm import Alarm, manage, warning
from queueops.inspect.redaction import redactor
from queueops.inspect.spans import span


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One for those that were given up, and one for those that cannot be delivered now."""
    if count := sampled.get("given_up") or 0:
        told = "1 message to another pool was" if count == 1 else f"{count:,} messages to other pools were"
        error = _shown(sampled.get("given_up_error"))
        text = f"Pool {pool}: {told} given up.{f' The last one: {error}' if error else ''}"
        yield warning(text, "commands?place=dead", _listed("given-up", pool), key=f"messages given-up {pool}")
    if stopped := sampled.get("stopped"):
        count, waited = int(stopped["count"]), sampled["taken"] - int(stopped["since"])
        told = "1 message to another pool waits" if count == 1 else f"{count:,} messages to other pools wait"
        error = _shown(stopped.get("error"))
        text = f"Pool {pool}: {told} for {span(waited)}, and cannot be delivered{f': {error}' if error else '.'}"
        yield warning(text, "commands?place=due", _listed("waiting", pool), key=f"messages waiting {pool}")


def _shown(error: object) -> str:
    """The error of a delivery: it may repeat what a task's code said."""
    return redactor().words_of_task(str(error)) if error else ""


def _listed(place: str, pool: str) -> str:
    return manage("queue", "pool-messages", "--place", place, "--pool", pool)
