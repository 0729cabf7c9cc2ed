"""Replay check: runs the code that is to be deployed through the stored histories of runs. Nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from queueops import inspect
from queueops.errors import QueueOpsError
from queueops.inspect import TaskQuery
from queueops.inspect.spans import clock, span
from queueops.kinds.workflows.awaited import as_task
from queueops.kinds.workflows.definition import WorkflowHandler
from queueops.kinds.workflows.execution import Execution
from queueops.kinds.workflows.payloads import filled
from queueops.kinds.workflows.run_store import HISTORY_PAGE, RunRow, RunStore, get_run_store
from queueops.kinds.workflows.step import RunInfo
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
    name, history = row.fields.get("n", ""), _history(store, pool, run)
    handler = registry.find(WorkflowHandler.kind, name)
    if not isinstance(handler, WorkflowHandler):
        return Replay(pool, run, name, len(history), "no workflow of this code has its name")
    changed = handler.changed_since(history[0]) if history else False
    arguments, meta = row.fields.get("a", "").encode(), row.fields.get("me", "").encode()
    root = row.fields.get("ro", "")
    with as_task(Push(id=run, name=name, pool=pool, root=root, meta=meta), handler, 1):  # the code may read them
        reason, notes = _difference(store, handler, _info(pool, run, row, len(history)), arguments, history)
    return Replay(pool, run, name, len(history), reason, changed, notes)


def _difference(
    store: RunStore, handler: WorkflowHandler, info: RunInfo, arguments: bytes, history: list[bytes]
) -> tuple[str, tuple[str, ...]]:
    execution = None
    try:
        execution = handler.execution(info, arguments)
        execution.replay(filled(history, partial(store.payloads, info.pool, info.id)))
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


def _info(pool: str, run: str, row: RunRow, length: int) -> RunInfo:
    fields = row.fields
    return RunInfo(
        id=run,
        name=fields.get("n", ""),
        instance=fields.get("vi", run),
        pool=pool,
        parent=fields.get("vr", ""),
        length=length,
        origin=fields.get("vo", run),
    )


def _history(store: RunStore, pool: str, run: str) -> list[bytes]:
    found: list[bytes] = []
    while page := store.history(pool, run, len(found)):
        found += page
        if len(page) < HISTORY_PAGE:
            break
    return found
