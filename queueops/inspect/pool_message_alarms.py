"""Alarms about messages to other pools that were given up, or that have waited for too long, each with an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect.alarm import Alarm, manage, warning
from queueops.inspect.redaction import redactor
from queueops.inspect.spans import span
from queueops.model.sentences import join, say, say_n


def alarms(pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
    """One for those that were given up, and one for those that cannot be delivered now."""
    if count := sampled.get("given_up") or 0:
        text = say_n(
            "Pool %(pool)s: %(n)s message to another pool was given up.",
            "Pool %(pool)s: %(n)s messages to other pools were given up.",
            count,
            pool=pool,
        )
        if error := _shown(sampled.get("given_up_error")):
            text = join(text, say("The last one: %(error)s", error=error))
        yield warning(text, "commands?place=dead", _listed("given-up", pool), key=f"messages given-up {pool}")
    if stopped := sampled.get("stopped"):
        count, waited = int(stopped["count"]), sampled["taken"] - int(stopped["since"])
        text = say_n(
            "Pool %(pool)s: %(n)s message to another pool waits for %(waited)s, and cannot be delivered%(reason)s",
            "Pool %(pool)s: %(n)s messages to other pools wait for %(waited)s, and cannot be delivered%(reason)s",
            count,
            pool=pool,
            waited=span(waited),
            reason=f": {error}" if (error := _shown(stopped.get("error"))) else ".",
        )
        yield warning(text, "commands?place=due", _listed("waiting", pool), key=f"messages waiting {pool}")


def _shown(error: object) -> str:
    """The error of a delivery: it may repeat what a task's code said."""
    return redactor().words_of_task(str(error)) if error else ""


def _listed(place: str, pool: str) -> str:
    return manage("queue", "pool-messages", "--place", place, "--pool", pool)
