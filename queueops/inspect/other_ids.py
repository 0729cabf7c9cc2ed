"""Other ids: what a text is that is not the id of a task, and the command that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from queueops.inspect.kind_details import OtherId
from queueops.inspect.lookup import look_up
from queueops.inspect.schedules import schedules
from queueops.inspect.snapshot import snapshot
from queueops.inspect.store import open_reader
from queueops.model import kinds

LOOKED_AT = 200
"""The most names, lanes and workers with this part among which the exact text is sought."""


def other_ids(id: str) -> list[OtherId]:
    """What has exactly this id or name; empty if nothing is known. It is read for an error message only."""
    return list(_other_ids(id)) if id else []


def _other_ids(id: str) -> Iterator[OtherId]:
    found = look_up(id, LOOKED_AT)
    for row in found.tasks:
        yield OtherId(f"a task of the pool {row.pool}", ("show", id), row.id)
    if any(part(id, "") is not None for part in _readers_of_parts() if "#" in id):
        task = id.partition("#")[0]
        yield OtherId(f"a part of the task {task}", ("why", id), task)
    for details in kinds.roles("details"):
        yield from details.other_ids(id, found)
    if any(row.id == id for row in schedules()):
        yield OtherId("a schedule", ("schedule", id))
    if any(error.id == id for error in found.errors):
        yield OtherId("the fingerprint of an error", ("list", "--error", id))
    if _is_alarm(id):
        yield OtherId("an alarm", ("status",))
    named = (
        ("the name of tasks", found.names, ("name", id)),
        ("a tag", found.tags, ("list", "--tag", id)),
        ("a pool", found.pools, ("pool", id)),
        ("a worker", [worker.name for worker in found.workers], ("history", "--worker", id)),
    )
    yield from (OtherId(what, words) for what, known, words in named if id in known)
    for lane in found.lanes:
        if id == lane.name:
            yield OtherId(f"a lane of the pool {lane.about}", ("list", "--pool", lane.about, "--lane", id))


def _readers_of_parts() -> Iterator[Callable[[str, str], object]]:
    return (part for why in kinds.roles("why") if (part := getattr(why, "part", None)))


def _is_alarm(id: str) -> bool:
    """Whether an alarm of now has this key, or an alert about one has this id, or its last message."""
    incidents = open_reader().broker.alert_state().incidents.values()
    alerted = any(id in (incident.id, incident.message_id, incident.key) for incident in incidents)
    return alerted or any(alarm.key == id for alarm in snapshot().alarms)
