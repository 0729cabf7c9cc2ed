"""Log handler of many threads: no line is lost, each is whole, and a slow stream holds the threads back."""

from __future__ import annotations

import io
import logging
import os
import threading
from collections.abc import Iterator
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


def test_a_process_that_is_forked_while_a_thread_writes_can_write() -> None:
    reading, writing = os.pipe()
    ended = threading.Event()

    def read_slowly() -> None:
        while os.read(reading, 1 << 16):
            ended.wait(0.02)

    def log() -> None:
        while not ended.wait(0.005):
            logger.info("x" * 60_000)  # nearly all that a pipe holds: most of the time it is being written

    with open(writing, "w") as stream:  # noqa: PTH123
        logger = logger_to(stream)
        reader, writer = threading.Thread(target=read_slowly), threading.Thread(target=log)
        reader.start()
        writer.start()
        try:
            assert [status_of(stream.flush) for _ in range(20)] == [0] * 20
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
