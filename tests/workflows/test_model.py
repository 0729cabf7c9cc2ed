"""Random workflows beside a plain interpreter, with crashes between any two writes of the store.

A write is one call. A worker may die before it settles, settle twice, or settle too late; another one then replays.
Meanwhile an operator cancels, suspends, resumes and resets the run, and retries it when it has failed.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queueops.eager.execution import run as run_lease
from queueops.errors.workflows import RunEnded
from queueops.kinds.workflows import events
from queueops.kinds.workflows.code_check.replay_check import replays
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.steps import KEPT_RUNS, kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import TERMINAL, State
from queueops.redis.broker import get_broker, get_role
from tests.composites.channel import CHANNEL
from tests.support.machines import PHASES
from tests.support.servers import use_scripts
from tests.workflows import programs
from tests.workflows.programs import expected, numbered, phases, signals_of

EXAMPLES = int(os.environ.get("QUEUEOPS_TESTS_EXAMPLES", "12"))
MOST_TURNS = 3_000
BOUNDS = settings(
    deadline=None,
    database=None,
    derandomize="CI" in os.environ,  # a run that judges a change must judge the same each time
    phases=PHASES,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


class World:
    """Workers that die, timers that fire and signals that come, in an order that a seed decides."""

    def __init__(self, seed: int, kept: int) -> None:
        self.chance = random.Random(seed)
        self.broker = get_broker()
        self.store = get_role(WorkflowCalls)
        self.late: list[Settlement] = []
        self.resets = 2
        self.resting: dict[str, int] = {}
        programs.attempts.clear()
        self.told: set[tuple[str, str]] = set()
        kept_runs.clear()
        kept_runs.most = kept

    def live(self, handle: WorkflowHandle[Any], *, cancels: bool) -> None:
        """Let everything happen until a workflow has ended."""
        for _ in range(MOST_TURNS):
            state = self.broker.record("default", handle._newest()).state  # type: ignore[union-attr]
            if state in (State.SUCCEEDED, State.CANCELLED):
                return
            if state == State.FAILED:
                assert self.reset(handle) or handle.retry()
            elif self.happens(12):
                self.operate(handle, cancels=cancels)
            self.check_rest(handle)
            if self.work() or self.fire() or self.tell():
                continue
            if self.ends_a_wait(handle, cancels=cancels):
                continue
            raise AssertionError(f"nothing happens any more: {self.rows()}")
        raise AssertionError(f"it does not end: {self.rows()}")

    def check_rest(self, handle: WorkflowHandle[Any]) -> None:
        """A suspended run makes no step."""
        run = handle._newest()
        row = self.store.run_row("default", run)
        assert row is not None
        before = self.resting.get(run, row.history)
        if "vs" in row.fields:
            assert row.history == before, row
            self.resting[run] = row.history
        else:
            self.resting.pop(run, None)

    def operate(self, handle: WorkflowHandle[Any], *, cancels: bool) -> None:
        """An operator acts on the run that has not ended."""
        match self.chance.randrange(4):
            case 0:
                handle.suspend()
            case 1:
                handle.resume()
            case 2:
                self.reset(handle)
            case 3 if cancels:
                self.cancel(handle)

    def ends_a_wait(self, handle: WorkflowHandle[Any], *, cancels: bool) -> bool:
        """What only an operator can end; whether there was something."""
        row = self.store.run_row("default", handle._newest())
        assert row is not None
        if "vs" in row.fields:
            return handle.resume()
        return cancels and self.cancel(handle)

    def cancel(self, handle: WorkflowHandle[Any]) -> bool:
        """Cancel the run once; whether it was not cancelled before."""
        told = [*handle.history(), *map(events.decode, self.store.inbox("default", handle._newest()))]
        return all(entry.kind != "cancel" for entry in told) and handle.cancel()

    def reset(self, handle: WorkflowHandle[Any]) -> bool:
        """Reset the run to any entry of its history, but not each time; whether that was done."""
        length = len(handle.history())
        if not (length and self.resets and self.happens(2)):
            return False
        self.resets -= 1
        handle.reset(self.chance.randint(1, length))
        return True

    def work(self) -> bool:
        """A worker takes one task, and may die at any moment; whether there was one."""
        leases = self.broker.exchange("default", "w1", RoundTrip(want=1)).leases
        for lease in leases:
            if self.happens(5):
                kept_runs.clear()  # it is another process
            if self.happens(6):
                self.lose(lease.id)
                continue
            settlement = run_lease(lease, CHANNEL)
            if self.happens(6):  # it dies with what it has, or comes late with it
                self.lose(lease.id)
                self.late.append(settlement)
                continue
            if lease.kind == "workflow" and self.happens(10):
                settlement = Settlement(lease.id, lease.fence, Outcome.CRASH, b"it was killed")
            self.settle(settlement, "OK")
            if self.happens(6):
                self.settle(settlement, "REPEAT")
            if self.late and self.happens(2):
                self.settle(self.late.pop(), "STALE")
        for id, fields in self.rows().items():  # what is blocked is tried again at once
            if fields["s"] == State.RESTART or (fields["s"] == State.POSTPONED and "vb" in fields):
                self.broker.control("default", "run_now", [id])
        return bool(leases)

    def lose(self, id: str) -> None:
        """The worker of a task is gone."""
        assert self.broker.control("default", "release", [id])[0].word == "OK"

    def settle(self, settlement: Settlement, *words: str) -> None:
        """Send a settlement, and judge the answer."""
        (word,) = self.broker.exchange("default", "w1", RoundTrip(settle=[settlement])).settled
        assert word in (*words, "GONE"), (settlement, word)

    def fire(self) -> bool:
        """A timer fires, or all of those that can; whether there was one."""
        key = self.broker.keys("default").agenda
        timers = [
            entry
            for entry, at in self.broker.client.zrange(key, 0, -1, withscores=True)
            if entry.startswith(b"~timer:") and at < self.now() + 1000 * programs.FAR_S / 2
        ]
        for entry in timers if self.happens(2) else self.chance.sample(timers, min(1, len(timers))):
            self.broker.client.zadd(key, {entry: 1})
        return bool(timers)

    def tell(self) -> bool:
        """A signal comes that some code waits for; whether there was one."""
        for id, fields in self.rows().items():
            for line in fields.get("vw", "").split("\n"):
                name = line.removeprefix("signal ")
                if name.startswith("go:") and fields["s"] == State.IDLE and (id, name) not in self.told:
                    self.signal(id, name)
                    return True
        return False

    def signal(self, id: str, name: str) -> None:
        """Send the signal that the model knows."""
        self.told.add((id, name))
        number = name.partition(":")[2].encode()
        text = events.encode(events.Entry("signal", name=name, payload=events.raw(number)))
        self.store.tell_run("default", "signal", text, run=id)

    def happens(self, one_in: int) -> bool:
        """Whether something happens that does so once in so many times."""
        return self.chance.randrange(one_in) == 0

    def now(self) -> int:
        """The time of the store."""
        return self.broker.exchange("default", "w1", RoundTrip()).now_ms

    def rows(self) -> dict[str, dict[str, str]]:
        """The fields of all runs that have not ended."""
        prefix = self.broker.keys("default").task("")
        keys = self.broker.client.keys(f"{prefix}*")
        ids = [key.decode().removeprefix(prefix) for key in keys if b"#" not in key]
        found = {}
        for id in sorted(ids):
            row = self.store.run_row("default", id)
            if row is not None and row.fields["s"] not in TERMINAL:
                found[id] = row.fields
        return found


def judge(world: World) -> None:
    """Each effect is recorded once, each replay is the same, and nothing is left."""
    prefix = world.broker.keys("default").task("")
    for key in world.broker.client.keys(f"{prefix}*#history"):
        story = [events.decode(text) for text in world.broker.client.lrange(key, 0, -1)]
        begun = Counter(entry.command for entry in story if entry.kind in ("call", "child", "timer", "tell"))
        ended = Counter(entry.command for entry in story if entry.kind in ("done", "failed", "fired"))
        assert set(begun.values()) <= {1}
        assert set(ended.values()) <= {1}
        assert ended.keys() <= begun.keys()
    for replay in replays(ended=True):
        assert replay.reason == "", replay
    for _ in range(MOST_TURNS):  # children that were given up end, too
        if not (world.work() or world.fire()):
            break
    assert world.rows() == {}
    agenda = world.broker.client.zrange(world.broker.keys("default").agenda, 0, -1)
    assert [entry for entry in agenda if entry.startswith(b"~timer")] == []
    assert list(world.broker.check("default", "").faults) == []


@pytest.mark.parametrize(
    ("kept", "has_functions"),
    [(KEPT_RUNS, True), (0, True), (KEPT_RUNS, False)],
    ids=["kept", "replayed", "scripts"],
)
def test_random_workflows_give_what_a_plain_interpreter_gives(namespace: str, kept: int, has_functions: bool) -> None:
    if not has_functions:
        use_scripts(get_broker())

    @settings(BOUNDS, max_examples=EXAMPLES if has_functions else max(1, EXAMPLES // 3))
    @given(program=phases.map(numbered), seed=st.integers(0, 2**32), cancels=st.booleans())
    def check(program: list[Any], seed: int, cancels: bool) -> None:
        get_broker().client.flushall()
        world = World(seed, kept)
        if cancels:
            run = programs.cancelled.start(program)
            result = ["cleaned", "call 0"]
        else:
            run = programs.run.start(program, [])
            result = [expected(node) for node in program]
        if world.happens(2):  # signals come before the code waits
            for name in signals_of(program[0]):
                world.signal(run.id, name)
        world.live(run, cancels=cancels)
        assert run.result(timeout=0) == result
        with pytest.raises(RunEnded):
            run.signal("late")
        judge(world)

    try:
        check()
    finally:
        kept_runs.most = KEPT_RUNS
        kept_runs.clear()
