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
from queueops.redis.query_replies import Beat, whole


def silent_alarms(pool: str, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> Iterator[Alarm]:
    """The alarm of a pool with silent processes. Their supervisors report for them, so they are not late."""
    silent = [beat for beat in live(sampled, beats) if beat.fields.get("state") in UNRESPONSIVE]
    longest = max((sampled["taken"] - whole(beat.fields.get("silent_since")) for beat in silent), default=0)
    if longest > LATE_MS:
        told = f"{len(silent):,} worker {'process is' if len(silent) == 1 else 'processes are'}"
        found = _held(f"Pool {pool}: {told} silent, the longest for {span(longest)}{places(silent)}.", silent)
        yield structs.replace(found, key=f"silent {min(beat.id for beat in silent)}")


def _held(text: str, silent: Sequence[Beat]) -> Alarm:
    """An alarm of silent processes, with their tasks: one of them holds the interpreter, or a process is stopped."""
    if stopped := [beat for beat in silent if fate_of(beat) == "frozen"]:
        return danger(f"{text} A stopped process continues after SIGCONT.", "workers", resumed(stopped))
    tasks = list({task.id: task for beat in silent for task in running_of(beat)}.values())
    page = f"worker?id={quote(silent[0].id)}" if len(silent) == 1 else "workers"
    stacks = manage("queue", "stacks", silent[0].id)
    if len(tasks) != 1:
        told = f" Running there: {_tasks_named(tasks)}." if tasks else ""
        return danger(f"{text}{told} The stacks show what holds the interpreter.", page, stacks)
    (task,) = tasks
    command = manage("queue", "cancel", task.id, "--hard", "--pool", task.pool)
    held = danger(f"{text} The task {_tasks_named(tasks)} holds the interpreter.", page, command)
    return structs.replace(held, verb="interrupt", target=f"{task.pool}/{task.id}")


def _tasks_named(tasks: Sequence[RunningTask]) -> str:
    """The tasks that started last first."""
    latest = sorted(tasks, key=lambda task: -task.since_ms)
    more = f" and {len(tasks) - MOST_PLACES:,} more" if len(tasks) > MOST_PLACES else ""
    return ", ".join(f"{task.name[:100]} {task.id[:40]}".strip() for task in latest[:MOST_PLACES]) + more
