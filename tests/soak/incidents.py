"""Incidents of tasks that hang and kill: each has one alarm, which names the task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.soak.night import OPEN, Fault, Scene, run_here

PAST_MINUTES = 5


@contextmanager
def hanging_slots(scene: Scene) -> Iterator[None]:
    """All slots run a task that hangs; until then its name was fast."""
    from queueops.redis.broker import get_broker
    from tests.faults import tasks

    keys, name = get_broker().keys("default"), tasks.wait_at_gate.name
    minute = int(time.time()) // 60 - PAST_MINUTES
    get_broker().client.hset(keys.metrics(minute), mapping={f"ok|{name}": 100, f"ms|{name}": 5000})
    scene.ledger.close("hang")
    tasks.wait_at_gate.push_many([("hang",)] * 8)
    yield
    scene.ledger.open("hang")


@contextmanager
def task_that_kills(scene: Scene) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.poison.push_many([()] * 2)
    yield
    control.resume_name(tasks.poison.name)


@contextmanager
def hanging_schedule(scene: Scene) -> Iterator[None]:
    from queueops import Schedule, control
    from tests.faults import tasks

    scene.ledger.close("report")
    control.create_schedule(tasks.wait_at_gate, Schedule("@every 2s", args=["report"], overlap="skip"), id="hangs")
    yield
    control.delete_schedule("hangs")
    scene.ledger.open("report")


def interrupt_all(scene: Scene, words: list[str]) -> None:
    """The question of the command is answered."""
    run_here(scene, [*words, "--yes"])


INCIDENTS = (
    Fault(
        "slots that hang",
        hanging_slots,
        r"4 of 4 slots of pool default run \S+wait_at_gate for over",
        why=(OPEN,),
        cause="wait_at_gate",
        obey=interrupt_all,
    ),
    Fault(
        "a task that kills its worker",
        task_that_kills,
        r"Task \S+poison of pool default kills its worker: \d+ of its starts",
        why=(OPEN,),
        cause="poison",
        mend=("button:Pause",),
        ends=False,
    ),
    Fault(
        "a schedule whose run hangs",
        hanging_schedule,
        r"Schedule hangs of pool default has skipped \d+ runs",
        why=(OPEN,),
        cause="wait_at_gate",
        obey=run_here,
    ),
)
