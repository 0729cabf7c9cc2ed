"""Staying awake for a reply that is about to come."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest

from queueops.redis import connections
from queueops.redis.connections import RARELY, SpinWait
from tests.support.tasks_for_tests import add


class Looks:
    """Counts the looks at a descriptor, which finds a reply at the look of this number (0: never)."""

    def __init__(self, found_at: int) -> None:
        self.found_at = found_at
        self.count = 0

    def poll(self, _seconds: int) -> list[tuple[int, int]]:
        self.count += 1
        return [(0, 1)] if self.count == self.found_at else []


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def looking(monkeypatch: pytest.MonkeyPatch, found_at: int = 0) -> tuple[SpinWait, Looks]:
    monkeypatch.setattr(connections, "_processors", lambda: 1)
    kept, looks = SpinWait(0), Looks(found_at)
    kept._poll = looks  # type: ignore[assignment]
    return kept, looks


def test_it_ends_with_the_reply(line, monkeypatch):
    monkeypatch.setattr(connections, "_processors", lambda: 2)
    monkeypatch.setattr(connections, "AWAKE", 60.0)
    kept = SpinWait(line[0].fileno())
    reply = threading.Timer(0.1, line[1].send, (b"+OK\r\n",))
    reply.start()
    kept.keep()
    assert connections.select.select([line[0]], [], [], 0)[0] == [line[0]]
    reply.join()
    assert line[0].recv(9) == b"+OK\r\n"


def test_it_looks_until_the_reply_is_there(monkeypatch):
    monkeypatch.setattr(connections, "AWAKE", 60.0)
    kept, looks = looking(monkeypatch, found_at=1000)
    kept.keep()
    assert looks.count == 1000


def test_the_more_often_it_was_in_vain_the_seldomer_it_looks(monkeypatch):
    monkeypatch.setattr(connections, "AWAKE", -1.0)  # over at the first look
    kept, looks = looking(monkeypatch)
    looked = []
    for number in range(400):
        before = looks.count
        kept.keep()
        if looks.count > before:
            looked.append(number)
    gaps = [later - earlier - 1 for earlier, later in pairwise(looked)]
    assert gaps[:7] == [1, 3, 7, 15, 31, 63, RARELY]
    assert set(gaps[7:]) <= {RARELY}


def test_a_reply_in_time_makes_it_look_each_time_again(monkeypatch):
    monkeypatch.setattr(connections, "AWAKE", -1.0)
    kept, looks = looking(monkeypatch, found_at=2)
    kept.keep()  # in vain
    kept.keep()  # rests
    kept.keep()  # finds it
    looks.found_at = 3
    kept.keep()
    assert looks.count == 3


def test_with_one_processor_it_does_not_keep_the_server_from_answering(line, monkeypatch):
    monkeypatch.setattr(connections, "_processors", lambda: 1)
    monkeypatch.setattr(connections, "AWAKE", 60.0)
    SpinWait(line[0].fileno()).keep()
    assert connections.select.select([line[0]], [], [], 0)[0] == []


def test_where_there_is_nothing_to_look_with_it_sleeps_at_once(line, monkeypatch):
    monkeypatch.setattr(connections, "_processors", lambda: 2)
    monkeypatch.delattr(connections.select, "poll")
    SpinWait(line[0].fileno()).keep()
    assert connections.select.select([line[0]], [], [], 0)[0] == []


def test_pushes_keep_it_whatever_it_finds(namespace, monkeypatch):
    kept = []
    keep = SpinWait.keep
    monkeypatch.setattr(SpinWait, "keep", lambda self: kept.append(keep(self)))
    handles = [add.push(n) for n in range(5)]
    assert len({handle.id for handle in handles}) == len(kept) == 5
    assert all(handle.state == "pending" for handle in handles)
    assert len(kept) == 5  # to look at them is no haste


def test_the_processors_that_it_may_use_are_counted(monkeypatch):
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 3})
        assert connections._processors() == 2
        monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert connections._processors() == 1
