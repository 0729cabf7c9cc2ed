"""Estimates: a model of lanes and slots is compared with what a store and its workers then really do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queueops import inspect
from queueops.inspect.estimates import Model
from queueops.inspect.lanes import LaneRow
from queueops.model.contracts import Lease
from tests.kernel.desk import Desk
from tests.support.monitoring import round_trips

RUN_MS = 1000


def beat(desk: Desk, worker: str = "w1", slots: int = 4, **fields: Any) -> None:
    desk.broker.beat("default", worker, {"names": "", "slots": slots, "state": "live"} | fields)


def ran(desk: Desk, **names: int) -> None:
    """Runs of each name have ended, each after so many milliseconds."""
    desk.exchange(metrics={field: value for name, ms in names.items() for field, value in counts(name, ms).items()})


def counts(name: str, ms: int) -> dict[str, int]:
    return {f"ok|{name}": 10, f"ms|{name}": 10 * ms}


def lane(name: str) -> LaneRow:
    return next(row for row in inspect.snapshot().lanes if row.lane == name)


class Clock:
    """Real lanes of a real store, claimed by slots whose runs take no real time: each takes what its name says.

    At each end of a run the free slots claim again. So the order of the claims is the store's, and the time is exact.
    """

    def __init__(self, desk: Desk, slots: int, run_s: dict[str, float], served: tuple[int, str] = (0, "")) -> None:
        self.desk, self.slots, self.run_s = desk, slots, run_s
        self.own, self.served = served  # slots of a worker that serves some lanes only
        self.now = 0.0
        self.running: list[tuple[float, Lease]] = []
        self.begun: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.by: dict[str, set[str]] = {"own": set(), "w1": set()}

    def go(self) -> None:
        """Run until nothing starts any more."""
        self._claim()
        while self.running:
            self.running.sort(key=lambda run: run[0])
            self.now, lease = self.running.pop(0)
            self.ended[lease.id] = self.now
            assert self.desk.settle(lease) == "OK"
            self._claim()

    def _claim(self) -> None:
        for worker, slots, lanes in (("own", self.own, (self.served,)), ("w1", self.slots, ())):
            while sum(lease.id in self.by[worker] for _, lease in self.running) < slots:
                leases = self.desk.exchange(worker, want=1, lanes=lanes).leases
                if not leases:
                    break
                self.by[worker].add(leases[0].id)
                self.begun[leases[0].id] = self.now
                self.running.append((self.now + self.run_s[leases[0].name], leases[0]))

    def last(self, prefix: str = "") -> float:
        return max(at for task_id, at in self.ended.items() if task_id.startswith(prefix))


def push(desk: Desk, lane: str, count: int, name: str = "f.one") -> None:
    desk.push(*[f"{lane}-{number:04}" for number in range(count)], name=name, lane=lane)


def close(found: float | None, real: float) -> None:
    assert found is not None
    assert 0.75 <= found / real <= 1.25, f"estimated {found:.1f} s, really {real:.1f} s"


def test_a_lane_of_limit_one_is_empty_after_all_its_runs(desk: Desk) -> None:
    desk.broker.lane("default", "bulk", limit=1)
    push(desk, "bulk", 947)
    beat(desk)
    ran(desk, **{"f.one": RUN_MS})
    (pool,) = inspect.snapshot().pools
    close(pool.drain_s, 947.0)
    close(lane("bulk").drain_s, 947.0)
    assert inspect.why("bulk-0500")[-1].text == "Other tasks of its lane come first; it starts in about 8.3 min."


@pytest.mark.parametrize(
    ("lanes", "slots"),
    [
        ({"a": (60, {"limit": 2}, "f.one"), "b": (60, {}, "f.one")}, 6),
        ({"a": (80, {"weight": 3}, "f.one"), "b": (80, {}, "f.one")}, 4),
        ({"a": (40, {"weight": 2}, "f.one"), "b": (40, {}, "f.ten"), "c": (90, {"limit": 1}, "f.one")}, 5),
        ({"a": (50, {}, "f.ten"), "b": (200, {"weight": 4}, "f.one"), "c": (30, {"paused": 1}, "f.one")}, 8),
        ({f"l{number}": (12, {}, "f.one") for number in range(20)}, 8),
        ({"a": (41, {}, "f.one")}, 4),
    ],
    ids=["limit", "weight", "mixed", "paused", "many", "one"],
)
def test_what_is_estimated_for_lanes_is_what_then_happens(
    desk: Desk, lanes: dict[str, tuple[int, dict[str, int], str]], slots: int
) -> None:
    for name, (count, options, task) in lanes.items():
        if options:
            desk.broker.lane("default", name, **options)
        push(desk, name, count, task)
    beat(desk, slots=slots)
    beat(desk, "dead", slots=50)
    desk.client.zadd(desk.keys.workers, {"dead": desk.now() - 20_000})
    beat(desk, "frozen", slots=50, state="silent", silent_since=desk.now())
    ran(desk, **{"f.one": 1000, "f.ten": 10_000})
    (pool,), rows = inspect.snapshot().pools, {row.lane: row for row in inspect.snapshot().lanes}
    starts = {name: inspect.why(f"{name}-{count // 2:04}")[-1].text for name, (count, _, _) in lanes.items()}
    clock = Clock(desk, slots, {"f.one": 1.0, "f.ten": 10.0})
    clock.go()
    assert clock.ended
    close(pool.drain_s, clock.last())
    for name, (count, options, _) in lanes.items():
        if options.get("paused"):
            assert (rows[name].drain_s, rows[name].drain_reason) == (None, "paused")
            assert starts[name].endswith("; it never starts: paused.")
            assert pool.held == count
        else:
            close(rows[name].drain_s, clock.last(f"{name}-"))
            close(seconds(starts[name]), clock.begun[f"{name}-{count // 2:04}"])


def seconds(told: str) -> float:
    """The estimate in a finding: "…; it starts in about 8.3 min."."""
    number, unit = told.rpartition("about ")[2].removesuffix(".").split()
    return float(number) * {"ms": 0.001, "s": 1, "min": 60, "h": 3600}[unit]


def test_the_rate_of_a_lane_bounds_it(desk: Desk) -> None:
    desk.broker.lane("default", "mail", rate=0.5)
    push(desk, "mail", 100)
    beat(desk)
    ran(desk, **{"f.one": 100})
    close(lane("mail").drain_s, 200.0)
    assert lane("mail").start_rate == pytest.approx(0.5)


def test_without_a_worker_and_in_a_paused_lane_nothing_ever_starts(desk: Desk) -> None:
    push(desk, "bulk", 5)
    ran(desk, **{"f.one": RUN_MS})
    (pool,) = inspect.snapshot().pools
    assert (pool.drain_s, pool.drain_reason) == (None, "no worker")
    assert inspect.why("bulk-0003")[-1].text == "Other tasks of its lane come first; it never starts: no worker."
    beat(desk)
    desk.broker.lane("default", "bulk", paused=1)
    (pool,) = inspect.snapshot().pools
    assert (pool.drain_s, pool.drain_reason, pool.held) == (None, "paused", 5)
    desk.broker.lane("default", "bulk", paused=0)
    assert inspect.snapshot().pools[0].drain_s is not None


def test_names_that_never_ran_have_no_estimate_and_running_tasks_give_one(desk: Desk) -> None:
    push(desk, "bulk", 100, "f.slow")
    beat(desk, slots=1)
    (pool,) = inspect.snapshot().pools
    assert (pool.drain_s, pool.drain_reason) == (None, "no run yet")
    now = desk.now()
    beat(desk, slots=1, running=json.dumps([["bulk-0000", "f.slow", now - 30_000, "default"]]))
    close(inspect.snapshot().pools[0].drain_s, 100 * 60.0)


def test_runs_of_an_earlier_minute_are_known(desk: Desk) -> None:
    push(desk, "bulk", 100, "f.rare")
    beat(desk, slots=1)
    minute = desk.now() // 60_000 - 7
    desk.client.hset(f"{desk.keys.prefix}:metrics:{minute}", mapping=counts("f.rare", 90_000))
    close(inspect.snapshot().pools[0].drain_s, 100 * 90.0)


def test_earlier_minutes_of_twenty_names_are_read_at_most(desk: Desk) -> None:
    for number in range(30):
        push(desk, f"lane{number}", 1, f"f.rare{number}")
    beat(desk, slots=1)
    read = round_trips(desk, inspect.snapshot).inside
    assert len({command.split()[-1] for command in read if command.split()[-1].startswith("ms|f.rare")}) == 20


def test_slots_that_run_tasks_of_another_pool_are_not_counted(desk: Desk) -> None:
    push(desk, "bulk", 100)
    ran(desk, **{"f.one": RUN_MS})
    running = [[f"m{number}", "f.one", desk.now(), "mail"] for number in range(3)]
    beat(desk, slots=4, pools="default,mail", running=json.dumps(running))
    close(inspect.snapshot().pools[0].drain_s, 100.0)


def test_a_thousand_lanes_and_very_short_tasks_are_bounded_by_the_engine() -> None:
    lanes = [{"lane": f"l{number}", "ready": 1000, "active": 0, "names": {"f.noop": 1}} for number in range(200)]
    sampled = {
        "taken": 0,
        "states": {"pending": 200_000},
        "lanes": lanes,
        "counted": {"ok": {"f.noop": 1}, "run": {"f.noop|3": 4}},
    }
    model = Model("default", sampled, [worker(slots=8)])
    found = model.pool()
    assert found.seconds is not None
    assert found.seconds >= 200_000 / 25_000
    assert model.start("l0", 0).seconds == 0


def worker(slots: int) -> Any:
    from queueops.redis.query_replies import Beat

    return Beat("w1", 0, {"slots": str(slots)})


def test_a_lane_that_no_worker_serves_never_starts(desk: Desk) -> None:
    push(desk, "to:mail", 40)
    push(desk, "bulk", 30)
    beat(desk, lanes="to:*")
    ran(desk, **{"f.one": RUN_MS})
    (pool,) = inspect.snapshot().pools
    close(pool.drain_s, 10.0)
    assert pool.held == 30
    assert (lane("bulk").drain_s, lane("bulk").drain_reason) == (None, "no worker")
    close(lane("to:mail").drain_s, 10.0)
    shown = inspect.lane("default", "bulk")
    assert shown is not None
    assert shown.row.drain_reason == "no worker"
    assert "it never starts: no worker" in inspect.why("bulk-0020")[-1].text


def test_lanes_share_the_slots_of_the_workers_that_serve_them(desk: Desk) -> None:
    """Two slots for `to:*` alone, four for all: what is estimated is what then happens."""
    push(desk, "to:mail", 60)
    push(desk, "bulk", 60)
    push(desk, "side", 20)
    beat(desk, slots=2, lanes="to:*")
    beat(desk, "w2", slots=4)
    ran(desk, **{"f.one": RUN_MS})
    rows = {row.lane: row.drain_s for row in inspect.snapshot().lanes}
    clock = Clock(desk, 4, {"f.one": 1.0}, served=(2, "to:*"))
    clock.go()
    for name, estimated in rows.items():
        close(estimated, clock.last(f"{name}-"))
