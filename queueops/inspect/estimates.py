"""Estimates: when waiting tasks start and when a queue is empty, from limits, rates, weights, slots and run times.

One model serves the time to empty and the estimate in Why. Each open lane starts tasks at the least of three speeds:
what its limit permits at the observed run time, its rate, and its fair share of the live slots. Lanes take turns by
weight, so lanes with enough tasks start in the ratio of their weights. A lane that is empty leaves its share to the
others: the model goes from one such moment to the next. Parts of a task wait in a lane of their own.

The model counts what waits now. Tasks that arrive later are not part of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from queueops.inspect.answers import Answer
from queueops.inspect.slot_groups import SlotGroups
from queueops.inspect.store import LATE_MS, NOT_TAKING
from queueops.inspect.workers import lanes_of, matches_lane
from queueops.model import kinds
from queueops.model.histogram import mean
from queueops.model.samples import counted
from queueops.model.sentences import say
from queueops.model.states import State
from queueops.redis.query_replies import Beat, maybe_whole, whole

PROCESS_S = 0.00005
"""The least time between two starts of one process, in seconds: very short tasks are bounded by the engine."""
SAME_TIME = 1.02
"""Lanes that are empty within 2 % of each other count as one moment: many equal lanes cost one step."""
PAUSED_NAMES = "~names"
"""The key of the tasks that left their lanes because their names are paused; no lane has it."""
PAUSED, NO_WORKER, NO_SLOT, UNKNOWN = say("paused"), say("no worker"), say("limit 0"), say("no run yet")
"""Why there is no estimate. All but the last mean: never, until that is mended. No worker: none serves the lane."""
CLOSED = (PAUSED, NO_SLOT, NO_WORKER)


class Estimate(Answer, frozen=True, kw_only=True):
    """When waiting tasks will have run: `seconds`, or None with the `reason`.

    The reason is `no worker`, `paused` or `limit 0` (never, until that is mended), or `no run yet` (unknown).
    """

    seconds: float | None = None
    reason: str = ""
    held: int = 0  # waiting tasks and parts that do not start before a pause or a limit is changed
    per_s: float = 0.0  # starts per second now

    @property
    def never(self) -> bool:
        """Whether nothing starts until an operator acts."""
        return self.seconds is None and self.reason != UNKNOWN


class PartLine(NamedTuple):
    """The waiting parts of one task, or of tasks without a name, as their kind finds them in a sample."""

    key: str  # `#` and the id of the task
    waiting: int
    name: str = ""
    lane: str = ""
    active: int = 0
    limit: int | None = None
    paused: bool = False


class Line(msgspec.Struct):
    """One lane of the model: of tasks, or of the parts of one task."""

    key: str  # the lane's name, or `#` and the id of the task whose parts these are
    lane: str  # the lane by whose name workers are chosen; empty: any worker
    waiting: float
    active: float
    run_s: float | None
    limit: int | None = None
    rate: float | None = None
    weight: int = 1
    paused: bool = False
    slots: float = 0.0  # of the workers that serve it
    left: float = 0.0  # starts that are left, with a half of each active run
    end_s: float = 0.0

    @property
    def reason(self) -> str:
        """Why nothing of it starts, or why that is unknown; empty if it is open."""
        if self.paused:
            return PAUSED
        if self.limit == 0:
            return NO_SLOT
        if not self.slots:
            return NO_WORKER
        return UNKNOWN if self.run_s is None else ""

    @property
    def most(self) -> float:
        """The highest number of starts per second that the lane itself permits."""
        by_limit = float("inf") if self.limit is None or not self.run_s else self.limit / self.run_s
        return by_limit if self.rate is None else min(by_limit, self.rate)


class Model:
    """One pool's lanes and slots."""

    def __init__(self, pool: str, sampled: Mapping[str, Any], beats: Sequence[Beat]) -> None:
        """Use a pool's sample, and the heartbeats of its workers."""
        taking = [
            beat
            for beat in beats
            if sampled["taken"] - beat.beat_ms <= LATE_MS and beat.fields.get("state") not in NOT_TAKING
        ]
        self.slots = sum(slots_for(pool, beat) for beat in taking)
        self._floor_s = PROCESS_S * self.slots / len(taking) if taking else PROCESS_S
        self._times = run_times(sampled, beats)
        self.lines = {line.key: line for line in (*self._lanes(sampled), *self._of_parts(sampled))}
        self._groups = SlotGroups(self.lines, [(slots_for(pool, beat), self._served_by(beat)) for beat in taking])
        for line in self.lines.values():
            line.slots = self._groups.slots_of(line.key)

    def pool(self) -> Estimate:
        """When all that waits in the pool has run: the sum of its lanes."""
        waiting = [line for line in self.lines.values() if line.waiting]
        if not waiting:
            return Estimate(seconds=0.0)
        open_lines = [line for line in waiting if not line.reason]
        closed = [line for line in waiting if line.reason in CLOSED]
        held = round(sum(line.waiting for line in closed))
        if not self.slots:
            return Estimate(reason=NO_WORKER, held=round(sum(line.waiting for line in waiting)))
        if not open_lines:
            unknown = any(line.reason == UNKNOWN for line in waiting)
            return Estimate(reason=UNKNOWN if unknown else closed[0].reason, held=held)
        return Estimate(
            seconds=max(self._emptied[line.key].seconds or 0.0 for line in open_lines),
            held=held,
            per_s=sum(found.per_s for found in self._emptied.values()),
        )

    def lane(self, key: str) -> Estimate:
        """When all that waits in one lane has run."""
        line = self.lines.get(key)
        if line is None or not line.waiting:
            return Estimate(seconds=0.0)
        if reason := line.reason:
            return Estimate(reason=reason, held=0 if reason == UNKNOWN else round(line.waiting))
        return self._emptied[key]

    def start(self, key: str, ahead: int) -> Estimate:
        """When a task of the lane starts that has `ahead` others before it."""
        line = self.lines.get(key)
        if line is None:
            return Estimate(reason=UNKNOWN)
        if reason := line.reason:
            return Estimate(reason=reason)
        starts = ahead + 1 if self._is_full(line) else ahead
        if not starts:
            return Estimate(seconds=0.0)
        self._go(self._open(), stop_at=key, starts=starts)
        return Estimate(seconds=line.end_s)

    @cached_property
    def _emptied(self) -> dict[str, Estimate]:
        """When each open lane has run all that waits now."""
        lines = self._open()
        speeds = self._groups.share(lines)
        self._go(lines)
        return {
            line.key: Estimate(seconds=self._with_last_run(line, speeds[line.key]), per_s=speeds[line.key])
            for line in lines
        }

    def _open(self) -> list[Line]:
        return [line for line in self.lines.values() if line.waiting and not line.reason]

    def _is_full(self, line: Line) -> bool:
        """Whether a task has to end before one of the lane can start."""
        if line.limit is not None and line.active >= line.limit:
            return True
        return self._groups.is_full(line.key, lambda key: self.lines[key].active)

    def _served_by(self, beat: Beat) -> Callable[[str], bool]:
        """Whether a worker serves the lane of a key."""
        patterns = lanes_of(beat)
        return lambda key: not self.lines[key].lane or matches_lane(patterns, self.lines[key].lane)

    def _lanes(self, sampled: Mapping[str, Any]) -> Iterable[Line]:
        listed = 0
        for row in sampled["lanes"] or ():
            ready = int(row["ready"])
            listed += ready
            yield Line(
                key=str(row["lane"]),
                lane=str(row["lane"]),
                waiting=ready,
                active=int(row["active"]),
                run_s=self._run_s(row.get("names") or {}) if ready else None,
                limit=maybe_whole(row.get("limit")),
                rate=float(row.get("rate") or 0) or None,
                weight=int(row.get("weight") or 1),
                paused=bool(row.get("paused")),
            )
        states, held = sampled.get("states") or {}, sum(int(row["held"]) for row in sampled.get("paused_names") or ())
        listed += held
        if held:
            yield Line(key=PAUSED_NAMES, lane="", waiting=held, active=0, run_s=None, paused=True)
        if (others := int(states.get(State.PENDING) or 0) - listed) > 0:
            yield Line(key="", lane="", waiting=others, active=0, run_s=self._run_s({}))

    def _of_parts(self, sampled: Mapping[str, Any]) -> Iterable[Line]:
        for figures in kinds.roles("parts.figures"):
            for part in figures.waiting(sampled):
                yield Line(
                    key=part.key,
                    lane=part.lane,
                    waiting=part.waiting,
                    active=part.active,
                    run_s=self._run_s({part.name: 1} if part.name else {}) if part.waiting else None,
                    limit=part.limit,
                    paused=part.paused,
                )

    def _run_s(self, names: Mapping[str, int]) -> float | None:
        """The mean run time of a lane's next tasks; of all tasks of the pool if their names never ran."""
        known = [(self._times[name], count) for name, count in names.items() if name in self._times]
        if not known:
            known = [(found, 1) for found in (self._times.get(""),) if found is not None]
        if not known:
            return None
        return max(self._floor_s, sum(ms * count for ms, count in known) / sum(count for _, count in known) / 1000)

    def _go(self, lines: Sequence[Line], stop_at: str = "", starts: float = 0.0) -> None:
        """Run the model until all lanes are empty, or until the lane `stop_at` has made so many starts."""
        for line in lines:
            line.left = starts if line.key == stop_at and starts else line.waiting + line.active / 2
        now, left = 0.0, list(lines)
        while left:
            speeds = self._groups.share(left)
            step = SAME_TIME * min(line.left / speeds[line.key] for line in left)
            for line in left:
                line.end_s = now + min(step, line.left / speeds[line.key])
                line.left -= speeds[line.key] * step
            now += step
            left = [line for line in left if line.left > 0]
            if starts and self.lines[stop_at].left <= 0:
                return

    def _with_last_run(self, line: Line, speed: float) -> float:
        """The end of the last run: with few tasks for many slots, some slots are idle while the last ones run."""
        run_s = line.run_s or 0.0
        together = min(line.slots, speed * run_s)
        if line.waiting <= together and not line.active:
            return max(line.end_s, run_s)
        return max(run_s, line.end_s + run_s * max(0.0, together - 1) / (2 * max(1.0, together)))


def slots_for(pool: str, beat: Beat) -> float:
    """The slots of a worker that serve this pool: those that run no task of another pool, and one in any case."""
    slots = whole(beat.fields.get("slots"))
    elsewhere = sum(str(row[3]) != pool for row in _running(beat))
    return min(slots, max(1, slots - elsewhere))


def run_times(sampled: Mapping[str, Any], beats: Iterable[Beat]) -> dict[str, float]:
    """The mean run time in ms of each name, and under '' that of all.

    It is the mean of the runs that ended in this minute and the previous one, or else of an earlier minute. Of a name
    without any, the runs that still go on tell it: at a random moment half of a run is over.
    """
    ended: dict[str, list[float]] = {}
    histograms: dict[str, dict[int, int]] = {}
    for word in ("ok", "err", "ms"):
        for name, count in counted(sampled, word).items():
            sums = ended.setdefault(name, [0, 0])
            sums[word == "ms"] += count
    for path, count in counted(sampled, "run").items():
        name, _, number = path.rpartition("|")
        histograms.setdefault(name, {})[int(number)] = count
    found = {name: ms / count for name, (count, ms) in ended.items() if count and ms}
    for name, counts in histograms.items():  # of workers of an earlier version, which send no sums
        if name not in found and (ms := mean(counts)) is not None:
            found[name] = ms
    weights = {name: ended.get(name, [1])[0] or 1 for name in found}
    for name, (count, ms) in (sampled.get("earlier") or {}).items():
        if count and name not in found:
            found[name], weights[name] = ms / count, 1
    going: dict[str, list[int]] = {}
    for beat in beats:
        for _, name, since, _ in _running(beat):
            going.setdefault(str(name), []).append(max(0, beat.beat_ms - int(since)))
    for name, ages in going.items():
        longest = 2 * sum(ages) / len(ages)
        if name not in found and longest:
            found[name], weights[name] = longest, len(ages)
    if found:
        found[""] = sum(found[name] * weights[name] for name in found) / sum(weights[name] for name in found)
    return found


def _running(beat: Beat) -> list[list[Any]]:
    """The running tasks of a heartbeat, [[id, name, start in ms, pool], ...]; empty if it is unreadable."""
    try:
        rows = json.loads(beat.fields.get("running") or "[]")
        return [row for row in rows if len(row) == 4 and isinstance(row[2], int | float)]
    except (ValueError, TypeError):
        return []
