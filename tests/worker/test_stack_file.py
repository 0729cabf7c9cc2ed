"""The stack file: a process writes its stacks into it, by itself or at a signal of another process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from queueops.worker import stack_file
from queueops.worker.stack_file import LONGEST, StackFile
from tests.support.waiting import wait_until


@pytest.fixture
def stacks() -> Iterator[StackFile]:
    found = StackFile()
    yield found
    found.close()


def test_it_has_the_stacks_of_all_threads(stacks: StackFile) -> None:
    end = threading.Event()
    waiter = threading.Thread(target=end.wait)
    waiter.start()
    try:
        text = stacks.write()
    finally:
        end.set()
        waiter.join()
    assert "test_it_has_the_stacks_of_all_threads" in text
    assert text.count("hread 0x") >= 2
    assert stacks.write().count("test_it_has_the_stacks_of_all_threads") == 1  # the earlier one is gone


def test_a_dump_is_bounded(stacks: StackFile) -> None:
    end = threading.Event()

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            end.wait()

    threads = [threading.Thread(target=deep, args=(90,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    try:
        text = stacks.write()
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert text.endswith("\n(cut)")
    assert len(text) == LONGEST + len("\n(cut)")


def test_a_process_answers_the_signal_and_one_that_serves_no_file_ignores_it(stacks: StackFile) -> None:
    was = signal.getsignal(stack_file.SIGNAL)
    stack_file.allow()
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        stacks.serve()
        os.write(writer, b"x")
        signal.pause()
        os._exit(0)
    other = os.fork()
    if not other:
        os.write(writer, b"x")
        signal.pause()
        os._exit(0)
    try:
        wait_until(lambda: len(os.read(reader, 1)) == 1)
        wait_until(lambda: len(os.read(reader, 1)) == 1)
        assert "test_a_process_answers" in stacks.ask(pid)
        assert stacks.ask(other) == ""
        assert os.waitpid(other, os.WNOHANG) == (0, 0)  # it lives
    finally:
        for each in (pid, other):
            os.kill(each, signal.SIGKILL)
            os.waitpid(each, 0)
        signal.signal(stack_file.SIGNAL, was)
        os.close(reader)
        os.close(writer)
