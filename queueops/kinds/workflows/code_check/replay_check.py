"""Replay check: runs the code that is to be deployed through the stored histories of runs. Nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from queueops import inspect
from queueops.errors import QueueOpsError
from queueops.inspect import TaskQuery
from queueops.inspect.spans import clock, span
from queueops.kinds.workflows.awaited import as_task
from queueops.kinds.workflows.code_check.saved_run import SavedRun, saved
from queueops.kinds.workflows.definition import WorkflowHandler
from queueops.kinds.workflows.replay.execution import Execution
from queueops.kinds.workflows.store.payloads import Load
from queueops.kinds.workflows.store.run_store import RunStore, get_run_store
from queueops.model.contracts import Push
from queueops.model.states import TERMINAL
from queueops.tasks import registry

PAGE = 200


class Replay(NamedTuple):
    """The outcome of one run: its reason is empty if the code repeats its history.

    ``changed``: the source of the workflow is not that of the run's first step. It may give the same commands.
    ``notes``: what the code does otherwise, and what a run goes on with nevertheless: timers with another duration.
    """

    pool: str
    run: str
    name: str
    entries: int
    reason: str = ""
    changed: bool = False
    notes: tuple[str, ...] = ()

    def told(self) -> str:
        """The outcome in one line."""
        return f"{self._place}: {self.reason or 'the same'}"

    def told_notes(self) -> Iterator[str]:
        """The notes, each in one line."""
        return (f"{self._place}: note: {note}" for note in self.notes)

    @property
    def _place(self) -> str:
        return f"{self.pool}/{self.run}: {self.name}"


def replays(
    names: Iterable[str] = (),
    *,
    pool: str = "",
    ended: bool = False,
    most: int = 1_000,
    left_out: Counter[str] | None = None,
) -> Iterator[Replay]:
    """Replay the open runs of workflows, and with `ended` those that have ended: at most so many of each name.

    ``left_out`` counts the others by name.
    Raises QueueOpsError if a pool cannot be read in full.
    """
    wanted, store = set(names), get_run_store()
    counts = Counter[str]()
    after = ""
    while True:
        page = inspect.tasks(TaskQuery(kind="workflow", pool=pool), after, PAGE)
        if page.broken:  # a run that cannot be read may differ
            raise QueueOpsError(" ".join(map(str, page.broken)))
        for row in page.rows:
            if (wanted and row.name not in wanted) or (row.state in TERMINAL and not ended):
                continue
            counts[row.name] += 1
            if counts[row.name] > most:
                if left_out is not None:
                    left_out[row.name] += 1
            elif (found := _replayed(store, row.pool, row.id)) is not None:
                yield found
        after = page.next
        if not after:
            return


def _replayed(store: RunStore, pool: str, run: str) -> Replay | None:
    """One run; None if it has made no step, or is gone."""
    row = store.run_row(pool, run)
    if row is None or not row.history:
        return None
    return replayed(saved(store, pool, run, row), partial(store.payloads, pool, run))


def _no_payloads(fields: Sequence[str]) -> list[bytes | None]:
    """A file has the payloads in its entries."""
    return [None] * len(fields)


def replayed(run: SavedRun, load: Load = _no_payloads) -> Replay:
    """Replay one run. ``load`` reads the payloads that its entries do not have."""
    handler, length = registry.find(WorkflowHandler.kind, run.name), len(run.history)
    if not isinstance(handler, WorkflowHandler):
        return Replay(run.pool, run.run, run.name, length, "no workflow of this code has its name")
    changed = handler.changed_since(bytes(run.history[0])) if run.history else False
    push = Push(id=run.run, name=run.name, pool=run.pool, root=run.root, meta=run.meta.encode())
    with as_task(push, handler, 1):  # the code may read them
        reason, notes = _difference(handler, run, load)
    return Replay(run.pool, run.run, run.name, length, reason, changed, notes)


def _difference(handler: WorkflowHandler, run: SavedRun, load: Load) -> tuple[str, tuple[str, ...]]:
    execution = None
    try:
        execution = handler.execution(run.info, run.arguments.encode())
        execution.replay(run.texts(load))
        return "", tuple(_told_timers(execution))
    except Exception as error:  # the code of the project runs here, and whatever it raises is the finding
        return f"{type(error).__name__}: {error}", ()
    finally:
        if execution is not None:
            execution.dispose()


def _told_timers(execution: Execution) -> Iterator[str]:
    """The timers that wait, and that the code sets to another time."""
    for entry, at_ms in execution.changed_timers():
        when = f"{span(abs(at_ms - entry.at_ms))} {'later' if at_ms > entry.at_ms else 'earlier'}"
        yield f"timer number {entry.command} stays due at {clock(entry.at_ms)}; this code sets it {when}"
