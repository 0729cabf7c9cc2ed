"""Log handler of many threads: no line is lost, each is whole, and a slow stream holds the threads back."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import TextIO

import pytest

from queueops import log_handler
from queueops.log_handler import MOST_WAITING, LineHandler
from tests.support.forked import status_of
from tests.support.waiting import wait_until


class SlowStream(io.StringIO):
    """A stream whose writes wait until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.opened = threading.Event()

    def write(self, text: str) -> int:
        self.writes += 1
        self.opened.wait(60)
        return super().write(text)


@pytest.fixture
def stream() -> Iterator[SlowStream]:
    made = SlowStream()
    yield made
    made.opened.set()


def logger_to(stream: TextIO) -> logging.Logger:
    logger = logging.Logger("queueops.sample")
    logger.addHandler(LineHandler(stream))
    return logger


def in_threads(count: int, logger: logging.Logger, lines: int) -> list[threading.Thread]:
    def log(thread: int) -> None:
        for line in range(lines):
            logger.info("%d %d", thread, line)

    threads = [threading.Thread(target=log, args=(thread,)) for thread in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_no_line_of_many_threads_is_lost_and_those_of_a_thread_keep_their_order() -> None:
    stream = io.StringIO()
    for thread in in_threads(16, logger_to(stream), 200):
        thread.join(60)
    found = [tuple(map(int, line.split())) for line in stream.getvalue().splitlines()]
    assert sorted(found) == [(thread, line) for thread in range(16) for line in range(200)]
    for thread in range(16):
        assert [line for of, line in found if of == thread] == list(range(200))


def test_a_thread_leaves_its_line_to_the_one_that_writes(stream: SlowStream) -> None:
    logger = logger_to(stream)
    (writing,) = in_threads(1, logger, 1)
    wait_until(lambda: stream.writes == 1)
    for number in range(5):
        logger.info("left %d", number)  # it does not wait for the stream
    stream.opened.set()
    writing.join(60)
    assert stream.getvalue().splitlines() == ["0 0", *(f"left {number}" for number in range(5))]
    assert stream.writes == 2


def test_a_stream_that_is_far_behind_holds_a_thread_back(stream: SlowStream) -> None:
    logger = logger_to(stream)
    (handler,) = logger.handlers
    assert isinstance(handler, LineHandler)
    threads = in_threads(1, logger, 1)
    wait_until(lambda: stream.writes == 1)
    threads += in_threads(1, logger, MOST_WAITING + 500)
    wait_until(lambda: len(handler._lines) > MOST_WAITING)
    assert len(handler._lines) == MOST_WAITING + 1
    stream.opened.set()
    for thread in threads:
        thread.join(60)
    assert len(stream.getvalue().splitlines()) == MOST_WAITING + 501


def test_a_child_process_writes_while_a_thread_of_its_parent_wrote(stream: SlowStream) -> None:
    logger = logger_to(stream)
    (writing,) = in_threads(1, logger, 1)
    wait_until(lambda: stream.writes == 1)
    logger.info("of the parent")
    if not (child := os.fork()):
        stream.opened.set()
        logger.info("of the child")
        os._exit(0 if stream.getvalue() == "of the child\n" else 1)
    assert os.waitpid(child, 0)[1] == 0
    stream.opened.set()
    writing.join(60)
    assert stream.getvalue() == "0 0\nof the parent\n"


def test_a_filter_keeps_lines_away() -> None:
    stream = io.StringIO()
    logger = logger_to(stream)
    logger.handlers[0].addFilter(lambda record: "secret" not in record.getMessage())
    logger.info("a secret")
    logger.info("here")
    assert stream.getvalue() == "here\n"


def test_a_line_that_cannot_be_written_raises_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    stream.close()
    logger_to(stream).info("lost")
    assert "Logging error" in capsys.readouterr().err


def test_a_process_that_is_forked_while_a_thread_writes_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_handler, "LONGEST_HOLD_S", 60.0)  # the pipe is read all the time, however slow the machine
    reading, writing = os.pipe()
    ended = threading.Event()

    def read_slowly() -> None:
        while os.read(reading, 1 << 16):
            ended.wait(0.02)

    def log() -> None:
        while not ended.wait(0.005):
            if not handler._writing.locked():  # else the thread that forks would write line after line of this one
                logger.info("x" * 60_000)  # nearly all that a pipe holds: most of the time it is being written

    with open(writing, "w") as stream:  # noqa: PTH123
        logger = logger_to(stream)
        (handler,) = logger.handlers
        assert isinstance(handler, LineHandler)
        reader, writer = threading.Thread(target=read_slowly), threading.Thread(target=log)
        reader.start()
        writer.start()
        try:
            assert [status_of(stream.flush) for _ in range(10)] == [0] * 10
            assert writer.is_alive()
        finally:
            ended.set()
            writer.join(60)
    reader.join(60)
    os.close(reading)


def test_the_lines_that_come_during_a_fork_are_written_behind_it() -> None:
    stream = io.StringIO()
    logger = logger_to(stream)
    log_handler._hold_all()
    (writing,) = in_threads(1, logger, 3)
    writing.join(60)
    assert stream.getvalue() == ""
    log_handler._release_all()
    assert stream.getvalue().splitlines() == ["0 0", "0 1", "0 2"]


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> SimpleQueue[None]:
    """Batches whose thread is not there: what a thread leaves for it."""
    wanted: SimpleQueue[None] = SimpleQueue()
    monkeypatch.setattr(log_handler, "_batches", wanted)
    return wanted


def test_a_batch_waits_for_its_thread_and_is_one_write(batches: SimpleQueue[None]) -> None:
    stream = SlowStream()
    stream.opened.set()
    logger = logger_to(stream)
    for number in range(5):
        logger.info("left %d", number)
    assert batches.qsize() == 1
    assert stream.getvalue() == ""
    logger.handlers[0].flush()
    assert stream.getvalue().splitlines() == [f"left {number}" for number in range(5)]
    assert stream.writes == 1


def test_more_lines_than_may_wait_are_written_without_the_thread(batches: SimpleQueue[None]) -> None:
    stream = io.StringIO()
    logger = logger_to(stream)
    for number in range(MOST_WAITING + 1):
        logger.info("%d", number)
    assert len(stream.getvalue().splitlines()) == MOST_WAITING + 1


def test_a_forked_process_has_no_thread_for_batches_and_writes_at_once(batches: SimpleQueue[None]) -> None:
    def log_and_look() -> None:
        stream = io.StringIO()
        logger_to(stream).info("here")
        os._exit(0 if stream.getvalue() == "here\n" else 1)

    assert status_of(log_and_look) == 0


def test_the_thread_writes_the_lines_also_after_a_stream_failed() -> None:
    code = """
import io, logging, sys, time
from queueops import log_handler
from queueops.log_handler import LineHandler
logging.raiseExceptions = False
broken = io.StringIO()
broken.close()
loggers = []
for stream in (broken, sys.stdout):
    loggers.append(logging.Logger("x"))
    loggers[-1].addHandler(LineHandler(stream))
log_handler.write_in_batches()
for line in ("first", "second"):
    for logger in loggers:
        logger.warning(line)
    while any(handler._lines or handler._writing.locked() for (handler,) in (each.handlers for each in loggers)):
        time.sleep(0.01)
import os
os._exit(0)  # no handler is flushed
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "first\nsecond\n"


def test_lines_that_came_while_another_thread_was_writing_for_long_are_written_behind_it() -> None:
    code = """
import logging, sys, threading
from queueops import log_handler
tried = threading.Event()
class Handler(log_handler.LineHandler):
    def flush(self):
        super().flush()
        tried.set()
log_handler.LONGEST_HOLD_S = 0.01
log_handler.write_in_batches()
handler, logger = Handler(sys.stdout), logging.Logger("x")
logger.addHandler(handler)
handler._writing.acquire()  # as a thread in the middle of a flush
logger.warning("late")
tried.wait(60)
handler._writing.release()
for _ in range(1000):
    if handler._lines:
        threading.Event().wait(0.01)
import os
with handler._writing:
    os._exit(0)  # no handler is flushed
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "late\n"


def test_the_end_of_a_process_writes_the_lines_that_wait() -> None:
    code = """
import logging, sys
from queueops import log_handler
from queueops.log_handler import LineHandler
log_handler.BATCH_S = 3600.0
logging.getLogger().addHandler(LineHandler(sys.stdout))
log_handler.write_in_batches()
logging.warning("last words")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "last words\n"


def test_the_end_of_a_process_waits_for_the_lines_that_are_being_written(stream: SlowStream) -> None:
    logger = logger_to(stream)
    (writing,) = in_threads(1, logger, 1)
    wait_until(lambda: stream.writes == 1)
    logger.info("last words")
    ending = threading.Thread(target=logger.handlers[0].flush)
    ending.start()
    stream.opened.set()
    ending.join(60)
    assert stream.getvalue().splitlines() == ["0 0", "last words"]
    writing.join(60)
