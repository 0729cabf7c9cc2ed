"""A forked worker process: what a signal does that comes before its handlers."""

from __future__ import annotations

import os
import signal

from queueops.worker.self_pipe import SelfPipe
from queueops.worker.supervisor.child_handle import fork
from queueops.worker.supervisor.os_signals import CaughtSignals, release_signals


def test_a_signal_that_comes_before_the_handlers_waits_for_them() -> None:
    reader, writer = os.pipe()

    def main() -> int:
        os.read(reader, 1)
        signals = CaughtSignals(SelfPipe(), signal.SIGTERM)
        release_signals()
        return 10 + signals.count(signal.SIGTERM)

    pid = fork(main, holds=True)
    os.kill(pid, signal.SIGTERM)
    os.write(writer, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 11
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    os.close(reader)
    os.close(writer)


def test_a_process_without_handlers_of_its_own_ends_by_the_signal() -> None:
    pid = fork(lambda: signal.pause() or 0)
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
