from __future__ import annotations

import os
import signal

from queueops.contracts import Outcome
from queueops.worker import heir
from queueops.worker.process import describe_end
from queueops.worker.slots import NEVER, Farewell, SlotTable


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


def test_the_offender_times_out_and_bystanders_are_released() -> None:
    table = SlotTable(2)
    started(table, 0, "late", 1, deadline=3.5)
    started(table, 1, "bystander", 2)
    offender, _ = table.running()
    judged = heir.judge(table.running(), [offender], "it ran past a hard limit", crashed=False)["mail"]
    assert judged["late"].outcome is Outcome.TIMEOUT
    assert b"did not stop within 2.5 s" in judged["late"].value
    assert judged["bystander"].outcome is Outcome.RELEASE
    table.close()


def test_when_the_process_died_by_itself_everything_that_ran_is_judged_by_the_crash_rule() -> None:
    table = SlotTable(2)
    started(table, 0, "a", 1)
    started(table, 1, "b", 2)
    judged = heir.judge(
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
