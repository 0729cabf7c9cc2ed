"""Throughput: rates and percentiles of one pool, from its counters of this minute and the last one. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from queueops.inspect import follow_up_alarms
from queueops.inspect.answers import Answer
from queueops.inspect.estimates import Estimate
from queueops.model import kinds
from queueops.model.histogram import percentile
from queueops.model.history import steps_of
from queueops.model.samples import counted
from queueops.model.sentences import Sentence, say_n
from queueops.model.states import TERMINAL, State

_ENDED = frozenset(str(state) for state in TERMINAL)
FAILING = 0.5
"""From this share of failed attempts on, the cause concerns more than one task."""


class PoolView(Answer, frozen=True, kw_only=True):
    """One pool's counts and rates."""

    name: str
    states: dict[str, int]
    oldest_pending_ms: int | None  # time when the oldest pending task became pending
    in_rate: float
    out_rate: float
    failure_rate: float  # 0..1, share of the attempts that ended within two minutes
    wait_p95_ms: float | None
    run_p95_ms: float | None
    drain_s: float | None  # seconds until all that waits now has run; None: `drain_reason` says why
    workers: int  # live workers
    chunks_pending: int = 0  # chunks of aggregating map-reduce tasks; an estimate if there are very many tasks
    chunks_active: int = 0
    chunks: dict[str, int] = {}  # of the same tasks, by state
    chunk_rate: float = 0.0  # chunks that ended, per second
    attempts: int = 0  # those of tasks and chunks that ended within two minutes
    drain_reason: str = ""  # no worker, paused, limit 0 (never, until that is mended), or no run yet
    held: int = 0  # waiting tasks and chunks in lanes that are paused or have no slots, or of paused names
    start_rate: float = 0.0  # estimated starts per second of the open lanes, as long as they have work
    coming_rate: float = 0.0  # tasks and chunks that became ready, per second
    leaving_rate: float = 0.0  # tasks and chunks that are not ready any more, per second
    expired: int = 0  # tasks that expired within two minutes
    notes: tuple[str, ...] = ()  # sentences of kinds, such as how many events of workflows were dropped

    @property
    def waiting(self) -> int:
        """Pending tasks and pending chunks."""
        return self.states.get("pending", 0) + self.chunks_pending

    @property
    def fails(self) -> bool:
        """Whether the share of failed attempts is that of an alarm."""
        return self.failure_rate >= FAILING


def pool_view(name: str, sampled: Mapping[str, Any], workers: int, estimate: Estimate) -> PoolView:
    """One pool's figures."""
    states = {str(state): int(count) for state, count in (sampled["states"] or {}).items()}
    moves, brought = flows(sampled), kinds.roles("parts.figures")
    coming = sum((rate for flow, rate in moves.items() if flow.startswith(">")), 0.0)
    ending = sum((rate for flow, rate in moves.items() if flow.partition(">")[2] in _ENDED), 0.0)
    both = [*moves.items(), *(move for figures in brought for move in figures.moves(sampled).items())]
    failed, ended = failures(sampled)
    late = expired(sampled).total()
    oldest = (sampled.get("oldest") or {}).get(State.PENDING)
    return PoolView(
        name=name,
        states=states,
        oldest_pending_ms=None if oldest is None else int(oldest),
        in_rate=coming,
        out_rate=ending,
        failure_rate=failed.total() / ended.total() if ended else 0.0,
        wait_p95_ms=percentile(_histogram(sampled, "wait"), 0.95),
        run_p95_ms=percentile(_histogram(sampled, "run"), 0.95),
        workers=workers,
        attempts=ended.total(),
        drain_s=estimate.seconds,
        drain_reason=estimate.reason,
        held=estimate.held,
        start_rate=estimate.per_s,
        coming_rate=sum(rate for flow, rate in both if flow.endswith(f">{State.PENDING}")),
        expired=late,
        leaving_rate=sum(rate for flow, rate in both if flow.startswith(f"{State.PENDING}>")),
        notes=(
            *(note for details in kinds.roles("details") for note in details.notes(sampled)),
            *follow_up_alarms.notes(sampled),
            *_note(late),
        ),
        **{name: value for figures in brought for name, value in figures.of_pool(sampled).items()},
    )


def _note(late: int) -> Iterator[Sentence]:
    """How many tasks expired, also fewer than an alarm needs."""
    if late:
        yield say_n("%(n)s task expired in the last two minutes.", "%(n)s tasks expired in the last two minutes.", late)


def flows(sampled: Mapping[str, Any], of: str = "tr") -> dict[str, float]:
    """Changes of state per second, `pending>locked`, over the last sixty seconds; `tr`: of tasks."""
    share = 1 - (sampled["taken"] % 60_000) / 60_000
    found = dict[str, float]()
    for minute, part in (("minute", 1.0), ("before", share)):
        for path, count in sampled[minute].get(of, {}).items():
            for source, target in steps_of(path):
                flow = f"{source}>{target}"
                found[flow] = found.get(flow, 0.0) + count * part
    return {flow: round(count / 60, 3) for flow, count in found.items()}


def pushed_names(sampled: Mapping[str, Any]) -> set[str]:
    """The names of the tasks pushed in this and the previous minute."""
    return set(counted(sampled, "in"))


def failures(sampled: Mapping[str, Any]) -> tuple[Counter[str], Counter[str]]:
    """Failed attempts, and all ended attempts, by name, in this and the previous minute."""
    failed = counted(sampled, "err")
    return failed, failed + counted(sampled, "ok")


def expired(sampled: Mapping[str, Any]) -> Counter[str]:
    """Tasks that ended because they had not begun in time, by name, in this and the previous minute."""
    return counted(sampled, "ex")


def _histogram(sampled: Mapping[str, Any], kind: str) -> Counter[int]:
    """The buckets of `wait` or `run`, such as `name|bucket`, of this and the previous minute, summed over all names."""
    found: Counter[int] = Counter()
    for path, count in counted(sampled, kind).items():
        number = path.rpartition("|")[2]
        if number.isdigit():
            found[int(number)] += count
    return found
