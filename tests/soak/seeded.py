"""Seeded incidents: faults of the drill with a lane, name, count and moment that a number draws, some two at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.soak import incidents, night
from tests.soak.night import OPEN, Fault, run_here

SINGLE, PAIRS = 9, 3
LATEST_S = 12.0
_LANES = ("mails", "imports", "images", "api-eu", "reports")
_HOSTS = ("api.example:443", "db.example:5432", "10.1.2.3:6379", "search.example:9200")
_USUAL = {fault.name: fault for fault in (*night.FAULTS, *incidents.INCIDENTS)}


def drawn(seed: int) -> list[tuple[Fault, ...]]:
    """Twelve incidents: nine faults alone, and three pairs of faults at once."""
    rng = random.Random(seed)
    alone = [(_draw(rng, way),) for way in rng.sample([*BESIDE, *ALONE], SINGLE)]
    pairs = [tuple(_draw(rng, way) for way in rng.sample(BESIDE, 2)) for _ in range(PAIRS)]
    return [*alone, *pairs]


def _draw(rng: random.Random, way: Callable[[random.Random], Fault]) -> Fault:
    return way(rng)._replace(after_s=round(rng.uniform(0, LATEST_S), 1))


def _like(usual: str, name: str, plant: Callable[..., Any], values: dict[str, Any], **more: Any) -> Fault:
    """A fault of the drill with other values."""
    return _USUAL[usual]._replace(name=name, plant=partial(plant, **values), **more)


def _failing(rng: random.Random) -> Fault:
    count = rng.randint(12, 40)
    alarm = rf"Task \S+returns_an_object of pool default: {count} of {count} attempts"
    return _like("a failing name", f"{count} failures of a name", night.failing_name, {"count": count}, alarm=alarm)


def _paused_lane(rng: random.Random) -> Fault:
    lane, count = rng.choice(_LANES), rng.randint(2, 30)
    alarm = rf"Lane {lane} .* is paused; ({count}|{count + 1}) tasks wait"  # also the task that made the lane
    values = {"lane": lane, "count": count}
    return _like("a paused lane", f"lane {lane} paused with {count} tasks", night.paused_lane, values, alarm=alarm)


def _paused_name(rng: random.Random) -> Fault:
    number, count = rng.randrange(10), rng.randint(2, 30)
    alarm = rf"Task name \S+shop_{number} of pool default is paused: {count} tasks wait"
    values = {"number": number, "count": count}
    return _like("a paused name", f"shop_{number} paused with {count} tasks", night.paused_name, values, alarm=alarm)


def _paused_schedule(rng: random.Random) -> Fault:
    id = f"report-{rng.randint(1, 99)}"
    alarm = rf"[Ss]chedule {id} .*paused"
    return _like("a paused schedule", f"schedule {id} paused", night.paused_schedule, {"id": id}, alarm=alarm)


def _blocked_run(rng: random.Random) -> Fault:
    id = f"order/{rng.randint(10, 9999)}"
    alarm = rf"The run {id} of faults\.wrong_code has been blocked"
    return _like("a blocked run", f"run {id} blocked", night.blocked_run, {"id": id}, alarm=alarm)


def _host_away(rng: random.Random) -> Fault:
    host, count, each = rng.choice(_HOSTS), rng.randint(2, 6), rng.randint(6, 12)
    return Fault(
        f"host {host} away from {count} names",
        partial(incidents.host_away, host=host, count=count, each=each),
        rf"The host {host} fails: {count * each} of {count * each} attempts of {count} names",
        why=(OPEN,),
        cause=f"cannot connect to {host}",
        obey=run_here,
        ends=False,
    )


def _hanging_slots(rng: random.Random) -> Fault:
    count = rng.randint(5, 20)
    return _like("slots that hang", f"{count} tasks that hang", incidents.hanging_slots, {"count": count})


def _killing(rng: random.Random) -> Fault:
    count, usual = rng.randint(2, 4), "a task that kills its worker"
    return _like(usual, f"{count} tasks that kill their worker", incidents.task_that_kills, {"count": count})


def _hanging_schedule(rng: random.Random) -> Fault:
    id = f"night-{rng.randint(1, 99)}"
    alarm = rf"Schedule {id} of pool default has skipped \d+ runs"
    usual = "a schedule whose run hangs"
    return _like(usual, f"schedule {id} whose run hangs", incidents.hanging_schedule, {"id": id}, alarm=alarm)


def _slow(rng: random.Random) -> Fault:
    count, seconds = rng.randint(3, 9), round(rng.uniform(1, 2), 1)
    values = {"count": count, "seconds": seconds}
    name = f"a dependency of {count} names that takes {seconds} s"
    return _like("a slow dependency of ten names", name, incidents.slow_dependency, values)


def _runaway(rng: random.Random) -> Fault:
    number, pushes = rng.randrange(10), rng.randint(60, 150)
    alarm = rf"The backlog of the pool default grows: ([\d,]+) tasks wait.* of the arrivals are \S+shop_{number}"
    values, name = {"number": number, "pushes": pushes}, f"{pushes * 10} pushes a second of shop_{number}"
    return _like("a runaway producer", name, incidents.runaway_producer, values, alarm=alarm, cause=f"shop_{number}")


def _wrong_rate(rng: random.Random) -> Fault:
    lane, count = rng.choice(_LANES), rng.randint(20, 60)
    alarm = rf"Lane {lane} .*rate of 0\.01/s.*\b({count - 1}|{count}) tasks"
    values, name = {"lane": lane, "count": count}, f"lane {lane} with a wrong rate"
    return _like("a lane with a wrong rate", name, incidents.wrong_rate, values, alarm=alarm)


def _dead_worker(_: random.Random) -> Fault:
    return _USUAL["a dead worker"]


def _frozen_worker(_: random.Random) -> Fault:
    return _USUAL["a frozen worker"]


BESIDE = (_failing, _paused_lane, _paused_name, _paused_schedule, _blocked_run, _host_away)
"""Faults that leave slots free, so that each can happen beside another one."""
ALONE = (
    _hanging_slots, _killing, _hanging_schedule, _slow, _runaway, _wrong_rate, _dead_worker, _frozen_worker,
)  # fmt: skip
