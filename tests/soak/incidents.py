"""Incidents whose symptom is not their cause: each has one alarm, which names the cause."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.soak.night import OPEN, Fault, Scene, run_here

PAST_MINUTES = (4, 5)
"""How long ago: alarms look at some earlier minutes only, and the next minute may begin before they do."""
SKEW = "+90s"


def usual(name: str, runs: int, run_ms: int) -> None:
    """What a name took some minutes ago."""
    from queueops.redis.broker import get_broker

    figures = {f"ok|{name}": runs, f"ms|{name}": runs * run_ms, f"in|{name}": runs}
    for ago in PAST_MINUTES:
        minute = int(time.time()) // 60 - ago
        get_broker().client.hset(get_broker().keys("default").metrics(minute), mapping=figures)


@contextmanager
def going_on(push: Callable[[], object]) -> Iterator[None]:
    """Push something again and again within this block."""
    ended = threading.Event()

    def produce() -> None:
        while not ended.wait(0.1):
            push()

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        yield
    finally:
        ended.set()
        producer.join()


@contextmanager
def hanging_slots(scene: Scene, count: int = 8) -> Iterator[None]:
    """All slots run a task that hangs; until then its name was fast."""
    from tests.faults import tasks

    usual(tasks.wait_at_gate.name, runs=100, run_ms=50)
    scene.ledger.close("hang")
    tasks.wait_at_gate.push_many([("hang",)] * count)
    yield
    scene.ledger.open("hang")


@contextmanager
def task_that_kills(scene: Scene, count: int = 2) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.poison.push_many([()] * count)
    yield
    control.resume_name(tasks.poison.name)


@contextmanager
def hanging_schedule(scene: Scene, id: str = "hangs") -> Iterator[None]:
    from queueops import Schedule, control
    from tests.faults import tasks

    scene.ledger.close("report")
    control.create_schedule(tasks.wait_at_gate, Schedule("@every 2s", args=["report"], overlap="skip"), id=id)
    yield
    control.delete_schedule(id)
    scene.ledger.open("report")


@contextmanager
def slow_dependency(scene: Scene, count: int = 10, seconds: float = 1.2) -> Iterator[None]:
    """Names, each of which took 20 ms until now, and takes over a second."""
    from tests.faults import tasks

    for each in tasks.shops[:count]:
        usual(each.name, runs=100, run_ms=20)
    with going_on(lambda: [each.push_many([(seconds,)]) for each in tasks.shops[:count]]):
        yield
    cancel_waiting()


@contextmanager
def runaway_producer(scene: Scene, number: int = 0, pushes: int = 100) -> Iterator[None]:
    """One name of which 1,000 a second arrive, more than the slots end."""
    from queueops import control
    from tests.faults import tasks

    usual(tasks.echo.name, runs=100, run_ms=1)
    task = tasks.shops[number]
    usual(task.name, runs=10, run_ms=20)
    with going_on(lambda: task.push_many([(0.02,)] * pushes)):
        yield
    cancel_waiting()
    control.resume_name(task.name)


@contextmanager
def wrong_rate(scene: Scene, lane: str = "mails", count: int = 41) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.echo.using(lane=lane).push(0)
    control.set_lane("default", lane, rate=0.01)
    tasks.echo.using(lane=lane).push_many([(0,)] * count)
    yield
    control.set_lane("default", lane, rate=None)


@contextmanager
def held_interpreter(scene: Scene) -> Iterator[None]:
    from tests.faults import hogs

    scene.ledger.close("lock")
    hogs.hold_while_closed.push("lock")
    yield
    scene.ledger.open("lock")


@contextmanager
def host_away(scene: Scene, host: str, count: int, each: int) -> Iterator[None]:
    """Several names fail, since one host does not answer them."""
    from tests.faults import tasks

    tasks.echo.push_many([(0,)] * 10)
    for task in tasks.away[:count]:
        task.push_many([(host, task.name)] * each)
    yield


@contextmanager
def wrong_clock(scene: Scene) -> Iterator[None]:
    """The clock of the worker is ahead, as that of its host would be."""
    assert shutil.which("faketime"), "faketime is not installed: apt-get install faketime"
    scene.worker.end()
    scene.worker = scene.start("runworker", "--threads", "4", launcher=("faketime", "-f", SKEW))
    yield
    scene.worker.end()
    scene.worker = scene.start("runworker", "--threads", "4")


def cancel_waiting() -> None:
    """Take away what waits."""
    run_here(None, ["manage.py", "queue", "cancel", "--state", "pending", "--yes"])


def pending() -> int:
    """How many tasks wait, as the store counts them."""
    from queueops.redis.broker import get_broker

    return int(get_broker().client.zcard(get_broker().keys("default").state("pending")))


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
    Fault(
        "a slow dependency of ten names",
        slow_dependency,
        r"The backlog of the pool default grows: ([\d,]+) tasks.* names take \d+ times longer than before: \S+op_",
        why=(OPEN,),
        cause="shop",
        obey=run_here,
        figure=pending,
        ends=False,
    ),
    Fault(
        "a runaway producer",
        runaway_producer,
        r"The backlog of the pool default grows: ([\d,]+) tasks wait.* of the arrivals are \S+shop_0",
        why=(OPEN,),
        cause="shop_0",
        mend=("button:Pause",),
        figure=pending,
        ends=False,
    ),
    Fault(
        "a lane with a wrong rate",
        wrong_rate,
        r"Lane mails .*rate of 0\.01/s.*\b4[01] tasks",
        why=(OPEN,),
        cause=r"rate of 0\.01",
        obey=run_here,
        lasts_s=60.0,
        ends=False,
    ),
    Fault(
        "a task that holds the interpreter",
        held_interpreter,
        r"The task \S+hold_while_closed \S+ holds the interpreter",
        why=(OPEN,),
        cause="hold_while_closed",
        obey=run_here,
    ),
    Fault(
        "a clock that is wrong",
        wrong_clock,
        r"The clock of the host \S+ is \S+ min ahead of that of the store",
        why=(OPEN,),
        cause="ahead",
        obey=lambda scene, words: None,
        ends=False,
    ),
)
