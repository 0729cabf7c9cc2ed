from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest

from queueops.errors import Interrupt
from queueops.model.contracts import Lease, Outcome
from queueops.tasks.context import Context
from queueops.worker.execution.slot import Slot
from queueops.worker.shared_slot_table import NEVER, Condition, Farewell, SlotTable
from queueops.worker.supervisor import crash_recovery
from queueops.worker.supervisor.child_handle import describe_end
from tests.support.waiting import wait_until


def started(table: SlotTable, slot: int, task_id: str, fence: int, deadline: float = NEVER) -> None:
    table.start(slot, task_id, "mail", fence, 1.0, deadline, 1)


def test_what_a_dead_process_was_running_can_still_be_read() -> None:
    table = SlotTable(4)
    pid = os.fork()
    if not pid:
        started(table, 0, "a" * 200, 7)
        started(table, 2, "ended", 8)
        table.clear(2)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    (running,) = table.running()
    assert (running.slot, running.id, running.pool, running.fence) == (0, "a" * 200, "mail", 7)
    assert table.farewell is Farewell.NONE
    table.close()


def test_an_orderly_end_is_told_by_the_table_and_not_by_the_exit_status() -> None:
    table = SlotTable(1)
    pid = os.fork()
    if not pid:
        table.farewell = Farewell.RETIRED
        os._exit(0)
    os.waitpid(pid, 0)
    assert table.farewell is Farewell.RETIRED
    table.close()


class Late(Slot):
    """A slot whose `close` was met by the interrupt, as can be when that comes with the task's last line."""

    def _raise(self, kind: type[Interrupt]) -> None: ...


class Watched:
    """A lock that tells who came to it."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self.asked.append(threading.get_ident())
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Halting(SlotTable):
    """A table that halts before it writes anew, until it may go on."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.written, self.halts, self.goes_on = 0, threading.Event(), threading.Event()

    def start(self, *record: Any) -> int:
        self.written += 1
        if self.written > 1:
            self.halts.set()
            assert self.goes_on.wait(300)
        return super().start(*record)


def test_a_hard_cancel_at_the_very_end_of_a_task_leaves_no_limit_to_be_killed_for() -> None:
    table, lease = Halting(1), Lease(id="t", fence=1, pool="default")
    slot: Any = Late(0, table)
    slot.lock = Watched()
    slot.open(lease, Context(lease, None, None), 1.0)  # type: ignore[arg-type]
    ending, clearing = (threading.Thread(target=call) for call in (lambda: slot.end(lease), slot.clear))
    ending.start()
    assert table.halts.wait(300)
    clearing.start()
    wait_until(lambda: clearing.ident in slot.lock.asked or not clearing.is_alive())
    table.goes_on.set()
    for thread in (ending, clearing):
        thread.join()
    assert (table.running(), table.written) == ([], 2)
    table.close()


def test_only_what_is_past_its_hard_limit_is_overdue() -> None:
    table = SlotTable(3)
    started(table, 0, "late", 1, deadline=10.0)
    started(table, 1, "early", 2, deadline=30.0)
    started(table, 2, "unlimited", 3)
    assert [running.id for running in table.overdue(20.0)] == ["late"]
    table.close()


def test_whether_a_process_began_anything_can_still_be_read_when_nothing_runs() -> None:
    table = SlotTable(2)
    assert (table.used, table.retiring) == (False, False)
    started(table, 1, "ended", 8)
    table.clear(1)
    table.retiring = True
    assert (table.used, table.retiring, table.farewell) == (True, True, Farewell.NONE)
    table.close()


def test_the_newest_fence_that_was_started_is_known_for_each_pool_after_its_task_has_ended() -> None:
    table = SlotTable(2, ("mail", "default"))
    table.start(0, "a", "mail", 7, 1.0, NEVER, 1)
    table.clear(0)
    table.start(0, "b", "default", 3, 1.0, NEVER, 1)
    table.start(1, "c", "default", 2, 1.0, NEVER, 1)
    table.clear(1)
    assert (table.newest_started("mail"), table.newest_started("default")) == (7, 3)
    assert [(running.slot, running.id, running.pool) for running in table.running()] == [(0, "b", "default")]
    table.close()


def test_a_process_is_alive_until_the_moment_that_it_has_told_or_has_answered() -> None:
    table = SlotTable(1)
    table.answer(5.0)
    assert table.last_sign == 0.0  # its main loop has not begun
    table.expect(3.0)
    assert table.last_sign == 5.0
    table.expect(8.0)
    assert table.last_sign == 8.0
    table.close()


def test_what_has_ended_is_known_until_its_outcome_has_been_told() -> None:
    table = SlotTable(3)
    for slot, task_id in enumerate(("ended", "refused", "runs")):
        started(table, slot, task_id, slot + 1)
    table.clear(0)
    table.withdraw(1)
    assert [record.id for record in table.ended()] == ["ended"]
    assert [record.id for record in table.running()] == ["runs"]
    assert table.has_ended
    table.forget_ended()
    assert ([record.id for record in table.running()], table.ended(), table.has_ended) == (["runs"], [], False)
    table.close()


def test_each_time_that_the_supervisor_takes_over_is_an_epoch() -> None:
    table = SlotTable(1)
    epochs = []
    for condition in (Condition.SILENT, Condition.HUNG, Condition.LIVE, Condition.HUNG, Condition.LIVE):
        table.condition = condition
        epochs.append(table.epoch)
    assert epochs == [1, 1, 1, 2, 2]
    table.close()


def test_a_task_is_condemned_only_as_long_as_it_runs() -> None:
    table = SlotTable(2, ("default", "mail"))
    started(table, 1, "t", 4)
    (running,) = table.running()
    assert table.condemned() is None
    table.condemn(running)
    assert table.condemned() == running
    table.clear(1)
    assert table.condemned() is None
    started(table, 1, "other", 5)
    assert table.condemned() is None
    table.close()


@pytest.mark.parametrize(
    ("timeout_ms", "ran_s", "cancelled"), [(None, 0, True), (9_000_000, 0, True), (1000, 60, False)]
)
def test_the_table_tells_a_hard_cancel_from_a_time_limit(timeout_ms: int | None, ran_s: float, cancelled: bool) -> None:
    table, lease = SlotTable(1), Lease(id="t", fence=1, pool="default", timeout_ms=timeout_ms)
    slot: Any = Late(0, table)
    context: Any = Context(lease, None, None)  # type: ignore[arg-type]

    def told() -> list[bool]:
        return [running.cancelled for running in table.running()]

    slot.open(lease, context, time.monotonic() - ran_s)
    assert told() == [False]
    slot.end(lease)
    assert told() == [cancelled]
    slot.clear()
    slot.open(lease, context, time.monotonic())
    assert told() == [False]
    table.close()


def test_the_offender_times_out_and_bystanders_are_released() -> None:
    table = SlotTable(2)
    started(table, 0, "late", 1, deadline=3.5)
    started(table, 1, "bystander", 2)
    offender, _ = table.running()
    judged = crash_recovery.judge(table.running(), [offender], "it ran past a hard limit", crashed=False)["mail"]
    assert judged["late"].outcome is Outcome.TIMEOUT
    assert b"did not stop within 2.5 s" in judged["late"].value
    assert judged["bystander"].outcome is Outcome.RELEASE
    table.close()


def test_when_the_process_died_by_itself_everything_that_ran_is_judged_by_the_crash_rule() -> None:
    table = SlotTable(2)
    started(table, 0, "a", 1)
    started(table, 1, "b", 2)
    judged = crash_recovery.judge(
        table.running(), (), describe_end(-9), crashed=True, company={("mail", "a"): 0, ("mail", "b"): 2}
    )["mail"]
    assert {end.outcome for end in judged.values()} == {Outcome.CRASH}
    assert (judged["a"].value, judged["a"].delay_ms) == (b"its worker process died: SIGKILL", 0)
    assert b"others ran in it" in judged["b"].value
    assert judged["b"].delay_ms == -2
    table.close()


def test_how_a_process_ended_is_said_in_words() -> None:
    assert [describe_end(status) for status in (0, 7, -11, -64)] == [
        "exit status 0",
        "exit status 7",
        "SIGSEGV",
        "SIGRTMAX",
    ]
