"""The loop of a worker process, in a thread of this one."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

import pytest

from queueops import chain, current, task
from queueops.errors import BrokerUnavailable
from queueops.model.states import TERMINAL
from queueops.redis.broker import get_broker
from queueops.worker import heartbeat
from queueops.worker.execution.time_limits import PRECISION
from queueops.worker.loop.main_loop import Loop
from queueops.worker.loop.pool_client import PoolClient
from queueops.worker.options import BATCH, WorkerOptions
from queueops.worker.self_pipe import SelfPipe
from queueops.worker.shared_slot_table import Condition, SlotTable
from queueops.worker.supervisor.child_main import work_in_the_background
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("namespace")


class Running:
    """A loop that runs until it is told to stop, and what it ended with."""

    now: Running

    def __init__(self, pools: tuple[str, ...] = ("default",), threads: int = 2, name: str = "w1", **more: Any) -> None:
        self.table, self.self_pipe = SlotTable(2 * threads), SelfPipe()
        options = WorkerOptions(pools=pools, threads=threads, **more)
        self.loop = Loop(options, name, get_broker(), self.table, self.self_pipe)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        Running.now = self
        self.thread.start()

    def _run(self) -> None:
        try:
            self.loop.run()
        except RuntimeError as error:
            self.error = error

    def turn_in(self, call) -> None:
        """Have this called before each turn."""
        turn = self.loop._turn

        def called(now: float) -> None:
            call()
            turn(now)

        self.loop._turn = called

    def end(self) -> None:
        self.loop.stop("the test is over")
        self.self_pipe.ring()
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.loop._executor.close(60)
        for line, _ in self.loop._lines:  # which stand where an error ended it
            line.close()
        self.self_pipe.close()
        self.table.close()


@pytest.fixture
def running(request):
    running = Running(*getattr(request, "param", ()))
    yield running
    running.end()


def sleeps(running) -> bool:
    """Whether the loop waits, so that another thread may make its turn."""
    return running.loop._executor.waiting and not running.loop._executor.awake.locked()


@task(name="tests.ends-while-the-loop-sleeps")
def wait_for_the_loop() -> None:
    wait_until(lambda: sleeps(Running.now))


def test_a_tasks_thread_makes_the_turn_of_a_loop_that_sleeps(running):
    turns = []
    running.turn_in(lambda: turns.append(threading.get_ident()))
    chain(*[wait_for_the_loop.si()] * 10).push().result(60)
    assert set(turns) - {running.thread.ident}


def test_a_process_that_wakes_up_after_its_supervisor_spoke_for_it_says_so_and_goes_on(running):
    broker = get_broker()
    key = broker.keys("default").worker("w1")
    wait_until(lambda: broker.client.hget(key, "state") == b"live")
    broker.beat("default", "w1", {"state": "silent"})
    running.table.condition = Condition.SILENT
    running.self_pipe.ring()
    wait_until(lambda: broker.client.hget(key, "state") == b"live")
    told_at, *others = map(int, broker.client.hmget(key, "beat", "clock", "started"))
    assert all(abs(ms - told_at) < 600_000 for ms in others)  # one unit, and the clock of one host
    wait_for_the_loop.push().result(60)


@pytest.mark.parametrize("running", [(("north", "south"),)], indirect=True, ids=["two pools"])
def test_a_command_that_could_not_be_brought_is_brought_later_without_a_worker_of_its_pool(running, monkeypatch):
    broker = get_broker()
    real, refused = broker.post, []

    def post(pool, *, apply=(), **values):
        of_worker = threading.current_thread().name.startswith("queueops-outbox")
        is_second = bool(apply) and (apply[0].pool, apply[0].to) == ("unserved", "south")
        if of_worker and is_second and not refused:
            refused.extend(apply)
            raise BrokerUnavailable(url="redis://south", attempts=1, reason="refused")
        return real(pool, apply=apply, **values)

    monkeypatch.setattr(broker, "post", post)
    monkeypatch.setattr(heartbeat, "EVERY", 0.2)
    first, second = (wait_for_the_loop.using(pool=pool).si() for pool in ("north", "south"))
    for _ in range(20):  # on a busy machine the caller that pushes brings the command itself
        assert chain(first, second).using(pool="unserved").push().result(60) is None
        if refused:
            break
    assert [command.to for command in refused] == ["south"]


def test_a_task_whose_outcome_has_been_told_is_no_suspect_when_the_process_dies(running):
    for _ in range(20):
        wait_for_the_loop.push().result(60)
        wait_until(lambda: running.table.ended() == [])


def test_a_loop_that_sleeps_tells_until_when(running):
    wait_until(lambda: running.table.last_sign > time.monotonic() + 1)


promises: list[float] = []


@task(name="tests.reads-until-when-the-loop-sleeps")
def note_promise() -> None:
    promises.append(Running.now.table.last_sign - time.monotonic())


def test_a_loop_has_taken_its_promise_to_sleep_back_before_a_task_begins(running):
    for _ in range(50):
        wait_until(lambda: sleeps(running) and running.table.last_sign > time.monotonic() + 1)
        note_promise.push().result(60)
    assert max(promises) < 2 * PRECISION


released = threading.Event()


@task(name="tests.extends-its-limit", timeout=60)
def extend_and_wait() -> None:
    current().extend(1000)
    assert released.wait(60)


def test_the_supervisor_is_told_the_new_hard_limit_of_a_task_that_asks_for_more_time(running):
    released.clear()
    handle = extend_and_wait.push()
    try:
        wait_until(lambda: limits(running) == [1060 + 106], say=lambda: limits(running))
    finally:
        released.set()
    handle.result(60)
    wait_until(lambda: limits(running) == [])


def limits(running) -> list[int]:
    """The hard limits in the table that the supervisor reads, in seconds after the start of each task."""
    return [round(found.deadline - found.started) for found in running.table.running()]


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="this system has no such policy")
def test_a_process_for_which_another_policy_was_chosen_keeps_it(monkeypatch):
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_IDLE)
    monkeypatch.setattr(os, "sched_setscheduler", lambda *given: pytest.fail(f"it was changed: {given}"))
    work_in_the_background()


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="this system has no such policy")
def test_where_no_policy_may_be_chosen_a_process_runs_as_any_other(monkeypatch):
    asked = []

    def forbidden(pid, policy, parameters):
        asked.append(policy)
        raise PermissionError

    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_OTHER)
    monkeypatch.setattr(os, "sched_setscheduler", forbidden)
    work_in_the_background()
    assert asked == [os.SCHED_BATCH]


def test_an_error_in_a_turn_that_a_tasks_thread_makes_ends_the_process_as_one_of_the_loop_does(running):
    def break_down() -> None:
        if threading.get_ident() != running.thread.ident:
            raise RuntimeError("a turn failed")

    running.turn_in(break_down)
    for _ in range(20):
        handle = wait_for_the_loop.push()
        wait_until(lambda handle=handle: handle.state in TERMINAL or not running.thread.is_alive())
        if not running.thread.is_alive():
            break
    assert str(running.error) == "a turn failed"


def test_a_process_gives_a_sign_of_life_before_its_first_turn_which_may_begin_what_holds_the_interpreter():
    table, self_pipe, signs = SlotTable(2), SelfPipe(), []
    loop = Loop(WorkerOptions(threads=1), "w1", get_broker(), table, self_pipe)

    def turn(now: float) -> None:
        signs.append(table.last_sign)
        loop.stop("the test is over")

    loop._turn = turn
    begun = time.monotonic()
    loop.run()
    assert signs[0] >= begun
    self_pipe.close()
    table.close()


@task(name="tests.pauses")
def pause_now_and_then(number: int) -> None:
    if number % 1000 == 500:
        time.sleep(0.1)  # longer than the worker fetches ahead for


@pytest.mark.parametrize("running", [(("default",), 8)], indirect=True, ids=["8 threads"])
def test_batches_are_full_through_a_backlog_whatever_pauses_one_task_makes(running, monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "queueops.tasks")  # pytest's handlers cost more time than these tasks
    wanted, send = [], PoolClient.send

    def sent(client, now, want, **values):
        wanted.append(want)
        return send(client, now, want, **values)

    monkeypatch.setattr(PoolClient, "send", sent)
    tasks = pause_now_and_then.push_many([(number,) for number in range(5_000)])
    broker = get_broker()
    wait_until(lambda: broker.client.zcard(broker.keys("default").state("succeeded")) == len(tasks))
    claims = [want for want in wanted if want > 0]
    assert len(claims) <= 2.5 * len(tasks) / BATCH, claims
