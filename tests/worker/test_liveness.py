"""Which processes a supervisor takes for silent, and for hung. The processes are real; the clock is the test's."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from unittest import mock

import pytest

from queueops.worker.shared_slot_table import Condition, SlotTable
from queueops.worker.stack_file import StackFile
from queueops.worker.supervisor.child_handle import ChildProcess
from queueops.worker.supervisor.liveness import KILL_AFTER, LATE_AFTER, Liveness
from queueops.worker.supervisor.os_signals import PING

HUNG_AFTER = 60.0
LIVE, SILENT, HUNG = Condition.LIVE, Condition.SILENT, Condition.HUNG
NOW = 1_000_000.0


def sleeper() -> int:
    """A process that answers no ping."""
    program = shutil.which("sleep")
    assert program
    return os.posix_spawn(program, [program, "3600"], os.environ)


class Watched:
    """A process, its liveness, and the last signs for which keepers were started."""

    def __init__(self, lease: float) -> None:
        self.signs: list[float] = []
        self.table = SlotTable(1)
        self.process = ChildProcess(number=0, worker="w1", table=self.table, stacks=StackFile(), pid=sleeper())
        self.liveness = Liveness(lease, HUNG_AFTER, self._keep)
        self.liveness.begin_again(0.0)

    def _keep(self, process: ChildProcess, sign: float) -> int:
        self.signs.append(sign)
        return sleeper()

    def looks(self, *moments: float) -> list[Condition]:
        """What the process is taken for at these seconds after NOW."""
        found = []
        for moment in moments:
            self.liveness.look(self.process, NOW + moment)
            found.append(self.table.condition)
        return found

    def end(self) -> None:
        self.liveness.dismiss(self.process)
        self.process.signal(signal.SIGKILL)
        os.waitpid(self.process.pid, 0)
        self.table.close()
        self.process.stacks.close()


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched(lease=30.0)
    yield watched
    watched.end()


def test_the_lease_keeper_of_a_process_that_has_ended_is_reaped(watched: Watched) -> None:
    keeper = watched.process.keeper = sleeper()
    watched.liveness.dismiss(watched.process)
    with pytest.raises(ChildProcessError):
        os.waitpid(keeper, os.WNOHANG)


def test_a_process_that_has_not_begun_its_first_turn_is_not_judged(watched: Watched) -> None:
    assert watched.looks(0, 1000, 2000) == [LIVE] * 3


def test_a_process_that_sleeps_until_a_moment_is_late_after_it(watched: Watched) -> None:
    watched.table.expect(NOW + 5)
    assert watched.looks(1, 5, 5.2, 5.4, 5.7, 6.0) == [LIVE, LIVE, LIVE, LIVE, LIVE, SILENT]
    assert watched.signs == [NOW + 5]


def test_one_look_alone_makes_nobody_silent_for_the_ping_has_to_come_first(watched: Watched) -> None:
    watched.table.expect(NOW)
    assert watched.looks(10, 10.25) == [LIVE, SILENT]


def test_a_process_that_answers_pings_is_alive_while_its_main_loop_waits(watched: Watched) -> None:
    watched.table.expect(NOW)
    for second in range(1, 200):
        watched.looks(second)
        watched.table.answer(NOW + second)
    assert (watched.signs, watched.table.epoch) == ([], 0)


def test_a_lease_keeper_is_started_once_and_again_when_it_has_died(watched: Watched) -> None:
    watched.table.expect(NOW)
    watched.looks(1, 1.25, 1.5, 1.75)
    assert watched.signs == [NOW]
    os.kill(watched.process.keeper, signal.SIGKILL)
    os.waitid(os.P_PID, watched.process.keeper, os.WEXITED | os.WNOWAIT)
    watched.looks(2)
    assert watched.signs == [NOW, NOW]


def test_a_process_that_wakes_up_is_live_again_and_the_next_silence_is_another_epoch(watched: Watched) -> None:
    watched.table.expect(NOW)
    assert watched.looks(1, 1.25) == [LIVE, SILENT]
    watched.table.expect(NOW + 2)
    assert watched.looks(2, 3, 3.25) == [LIVE, LIVE, SILENT]
    assert watched.table.epoch == 2


@pytest.mark.parametrize(("lease", "first"), [(30.0, 0.75), (1.5, 0.5)])
def test_a_short_lease_is_looked_after_sooner(lease: float, first: float) -> None:
    watched = Watched(lease)
    watched.table.expect(NOW)
    assert watched.looks(LATE_AFTER, first - 0.01, first) == [LIVE, LIVE, SILENT]
    watched.end()


def test_a_hung_process_is_killed_a_little_later_unless_it_wakes_up(watched: Watched) -> None:
    watched.table.expect(NOW)
    assert watched.looks(1, 2, HUNG_AFTER, HUNG_AFTER + KILL_AFTER - 1) == [LIVE, SILENT, HUNG, HUNG]
    assert not watched.process.killed
    watched.looks(HUNG_AFTER + KILL_AFTER)
    assert (watched.process.killed, watched.process.hung_for) == (True, HUNG_AFTER + KILL_AFTER)


def test_a_hung_process_that_wakes_up_in_time_lives(watched: Watched) -> None:
    watched.table.expect(NOW)
    watched.looks(1, 2, HUNG_AFTER)
    watched.table.expect(NOW + HUNG_AFTER + 3)
    assert watched.looks(HUNG_AFTER + KILL_AFTER - 1) == [LIVE]
    assert not watched.process.killed


def test_what_was_silent_while_the_supervisor_was_stopped_is_not_silent(watched: Watched) -> None:
    watched.table.expect(NOW)
    watched.liveness.begin_again(NOW + 500)
    assert watched.looks(500, 500.25) == [LIVE, LIVE]


def test_a_process_that_is_late_is_pinged_and_one_that_is_not_is_left_alone(watched: Watched) -> None:
    watched.table.expect(NOW)
    with mock.patch.object(ChildProcess, "signal") as sent:
        watched.looks(LATE_AFTER - 0.01)
        sent.assert_not_called()
        watched.looks(LATE_AFTER)
        sent.assert_called_once_with(PING)
