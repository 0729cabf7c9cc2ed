"""Recorder: notes what is pushed in a test, and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from queueops.errors.kinds import NeedsStore
from queueops.kinds.jobs.store import NewJob
from queueops.model.contracts import Conflict, LeaseRef, Node, Push, Pushed
from queueops.tasks.encoding import decode_arguments
from queueops.testing.memory import MemoryBroker


class RecordedPush(NamedTuple):
    """What one push, or one start of a workflow, would have left to workers.

    ``kind``: such as "task", "chain", "mapreduce", "job" or "workflow". ``args`` and ``kwargs`` are plain JSON values.
    ``parts``: those of a chain or a group. ``instance``: that of a workflow. ``push``: all other options.
    """

    kind: str
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    id: str
    pool: str
    parts: tuple[RecordedPush, ...]
    instance: str
    push: Push


@contextmanager
def recorder() -> Iterator[Recorder]:
    """Record all pushes in this block, and starts of workflows, in all threads of the process. Nothing runs.

    The state of each handle is "pending". Its `result()` raises NeedsStore. No store, server or code of the tasks is
    needed. A push or a start `on_commit` is recorded at the commit.
    """
    broker = Recorder()
    with broker.in_place():
        yield broker


class Recorder(MemoryBroker):
    """What was pushed: `calls`, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[RecordedPush] = []

    def of(self, task: Any) -> list[RecordedPush]:
        """The pushes of a task, a class or a workflow, or of a name; also as parts of chains and groups."""
        name = task if isinstance(task, str) else task.name
        return [each for each in _all(self.calls) if each.name == name]

    def wait(self, pool: str, task_id: str, uid: int = 0, *, after: bool = False) -> NoReturn:
        """Refuse to wait for a result. Raises NeedsStore."""
        raise NeedsStore(what="Waiting for a result")

    def plant(self, nodes: Sequence[Node], *, durable: bool = False, under: LeaseRef | None = None) -> Pushed:
        """Record a chain or a group with its parts."""
        return self._take(nodes[0].push, _parts(nodes, 0))

    def submit_jobs(self, pool: str, jobs: Sequence[NewJob], *, under: LeaseRef | None = None) -> list[Pushed]:
        """Record jobs."""
        return [self._take(job.push) for job in jobs]

    def start_run(
        self,
        instance: str,
        push: Push,
        *,
        ignores: bool = False,
        durable: bool = False,
        under: LeaseRef | None = None,
    ) -> tuple[str, str]:
        """Record the start of a workflow's instance."""
        return "OK", self._take(push, instance=instance).id

    def _push(self, push: Push, under: LeaseRef | None) -> Pushed:
        return self._take(push)

    def _take(self, push: Push, parts: tuple[RecordedPush, ...] = (), instance: str = "") -> Pushed:
        if (known := self.record(push.pool, push.id)) is not None:
            return Pushed(push.id, known.uid, "REJECTED" if push.conflict is Conflict.REJECT else "EXISTS")
        self.calls.append(_recorded(push, parts, instance))
        return Pushed(push.id, self.create(push).uid, "OK")


def _recorded(push: Push, parts: tuple[RecordedPush, ...], instance: str = "") -> RecordedPush:
    args, kwargs = decode_arguments(push.name, push.args)
    return RecordedPush(push.kind, push.name, list(args), kwargs, push.id, push.pool, parts, instance, push)


def _parts(nodes: Sequence[Node], parent: int) -> tuple[RecordedPush, ...]:
    below = [number for number, node in enumerate(nodes) if node.parent == parent]
    return tuple(_recorded(nodes[number].push, _parts(nodes, number)) for number in below)


def _all(found: Sequence[RecordedPush]) -> Iterator[RecordedPush]:
    for each in found:
        yield each
        yield from _all(each.parts)
