"""Worker view: one process, its memory over the last hour, what it runs, and its runs among the latest tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.shared_readings import SharedReadings
from queueops.inspect.store import open_reader
from queueops.inspect.workers import WorkerRow, names_of, worker_rows
from queueops.model.memory_line import read
from queueops.redis.query_replies import read_beats, text, whole

LOOKED_AT, RUNS = 300, 300
"""The latest tasks of each state that are looked at for runs of the worker, and the most ended runs of an answer."""


class WorkerRun(Answer, frozen=True, kw_only=True):
    """The last run of one task; `ended_ms` is None while it runs."""

    id: str
    pool: str
    name: str
    state: str
    begun_ms: int
    ended_ms: int | None = None

    def took_ms(self, now_ms: int) -> int:
        """How long it ran, or has run so far."""
        return max(0, (self.ended_ms or now_ms) - self.begun_ms)


class Stacks(Answer, frozen=True, kw_only=True):
    """The stacks of a worker's threads, or a request for them that is not answered yet."""

    TEXTS: ClassVar = ("text",)

    asked_ms: int | None = None  # of a request that is not answered
    at_ms: int | None = None  # of the text
    text: str = ""


class WorkerView(Answer, frozen=True, kw_only=True):
    """A worker process in full. Of its earlier runs it has those of the latest tasks."""

    row: WorkerRow
    now_ms: int  # of the store
    python: str
    done: int  # tasks since its start
    names: tuple[str, ...]  # that it reports
    memory: tuple[tuple[int, int | None], ...]  # time in ms and bytes of each minute, the oldest first
    runs: tuple[WorkerRun, ...]  # the first begun first; those that go on are among them
    stacks: Stacks | None = None  # as they were last asked for, within an hour
    broken: tuple[Broken, ...] = ()


_READINGS: SharedReadings[WorkerView | None] = SharedReadings()


def worker(id: str, max_age_s: float = 0.0) -> WorkerView | None:
    """One worker; None if it is not in the registry of any pool.

    With `max_age_s` the reading may be shared with other callers. It costs two round trips. What it reads does not grow
    with the number of tasks.
    """
    return _READINGS.read(id, max_age_s, lambda: _read(id))


def _read(id: str) -> WorkerView | None:
    reader = open_reader()
    replies = reader.ask("worker", dict.fromkeys(reader.pools(), (id, LOOKED_AT)))
    found = {pool: reply for pool, reply in replies.items() if reply[1]}
    if not found:
        return None
    now = max(int(reply[0]) for reply in found.values())
    beats = read_beats((id.encode(), reply[1], reply[2]) for reply in found.values())
    beat = max(beats, key=lambda each: each.beat_ms)
    (row,) = worker_rows(now, [beat])
    ended = [run for pool, reply in found.items() for run in _runs(pool, reply[3])]
    running = [
        WorkerRun(id=task.id, pool=task.pool, name=task.name, state="locked", begun_ms=task.since_ms)
        for task in row.running
    ]
    latest = sorted(ended, key=_begin)[-RUNS:]  # those that go on are never left out
    return WorkerView(
        row=row,
        now_ms=now,
        python=beat.fields.get("python", ""),
        done=whole(beat.fields.get("done")),
        names=tuple(names_of(beat)),
        memory=read(beat.fields.get("memory", "")),
        stacks=max(filter(None, (_stacks(reply[4]) for reply in found.values())), key=_newest, default=None),
        runs=tuple(sorted([*latest, *running], key=_begin)),
        broken=broken_pools(reader.broken, reader.silent),
    )


def _begin(run: WorkerRun) -> tuple[int, str]:
    return run.begun_ms, run.id


def _stacks(reply: Sequence[bytes | None]) -> Stacks | None:
    asked, at, said = reply or (None, None, None)
    if asked is None and at is None:
        return None
    times = {key: whole(text(value)) for key, value in (("asked_ms", asked), ("at_ms", at)) if value is not None}
    return Stacks(text=text(said or b""), **times)


def _newest(stacks: Stacks) -> int:
    return max(stacks.asked_ms or 0, stacks.at_ms or 0)


def _runs(pool: str, rows: Iterable[Sequence[Any]]) -> Iterable[WorkerRun]:
    for id, fields in rows:
        state, name, begun, ended, *_ = (text(value or b"") for value in fields)
        if whole(ended) >= whole(begun) > 0:
            yield WorkerRun(
                id=text(id), pool=pool, name=name, state=state, begun_ms=whole(begun), ended_ms=whole(ended)
            )
