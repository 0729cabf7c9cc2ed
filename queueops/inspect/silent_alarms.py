"""Alarms about silent worker processes: a task holds the interpreter, or the process is stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import structs

from queueops.inspect.alarm import Alarm, danger, manage
from queueops.inspect.alarms import MOST_PLACES, live, places, resumed
from queueops.inspect.spans import span
from queueops.inspect.store import LATE_MS, UNRESPONSIVE
from queueops.inspect.workers import RunningTask, fate_of, running_of
from queueops.model.sentences import Sentence, join, say, say_n
from queueops.redis.query_replies import Beat, whole


def silent_alarms(pool: str, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """The alarm of a pool with silent processes. Their supervisors report for them, so they are not late."""
    silent = [beat for beat in live(sampled, beats) if beat.fields.get("state") in UNRESPONSIVE]
    longest = max((sampled["taken"] - whole(beat.fields.get("silent_since")) for beat in silent), default=0)
    if longest > LATE_MS:
        text = say_n(
            "Pool %(pool)s: %(n)s worker process is silent, the longest for %(time)s%(places)s.",
            "Pool %(pool)s: %(n)s worker processes are silent, the longest for %(time)s%(places)s.",
            len(silent),
            pool=pool,
            time=span(longest),
            places=places(silent),
        )
        found = _held(text, silent)
        yield structs.replace(found, key=f"silent {min(beat.id for beat in silent)}")


def _held(text: Sentence, silent: Sequence[Beat]) -> Alarm:
    """An alarm of silent processes, with their tasks: one of them holds the interpreter, or a process is stopped."""
    if stopped := [beat for beat in silent if fate_of(beat) == "frozen"]:
        text = join(text, say("A stopped process continues after SIGCONT."))
        return danger(text, "workers", resumed(stopped))
    tasks = list({task.id: task for beat in silent for task in running_of(beat)}.values())
    page = f"worker?id={quote(silent[0].id)}" if len(silent) == 1 else "workers"
    stacks = manage("queue", "stacks", silent[0].id)
    if len(tasks) != 1:
        told = say("Running there: %(tasks)s.", tasks=_tasks_named(tasks)) if tasks else ""
        return danger(join(text, told, say("The stacks show what holds the interpreter.")), page, stacks)
    (task,) = tasks
    command = manage("queue", "cancel", task.id, "--hard", "--pool", task.pool)
    told = say("The task %(task)s holds the interpreter.", task=_tasks_named(tasks))
    held = danger(join(text, told), page, command)
    return structs.replace(held, verb="interrupt", target=f"{task.pool}/{task.id}")


def _tasks_named(tasks: Sequence[RunningTask]) -> str:
    """The tasks that started last first."""
    latest = sorted(tasks, key=lambda task: -task.since_ms)
    names = ", ".join(f"{task.name[:100]} {task.id[:40]}".strip() for task in latest[:MOST_PLACES])
    if len(tasks) <= MOST_PLACES:
        return names
    return say("%(names)s and %(more)s more", names=names, more=len(tasks) - MOST_PLACES)
