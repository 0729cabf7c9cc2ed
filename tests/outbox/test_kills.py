"""Processes that are killed (SIGKILL) at each line of the outbox: nothing is lost, and nothing is pushed twice."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction

from queueops import task
from queueops.contrib import outbox as package
from queueops.contrib.outbox.database_outbox import DatabaseOutbox
from queueops.contrib.outbox.models import OutboxRow
from queueops.contrib.outbox.relay import take_turn
from queueops.contrib.outbox.relaying import relay_all
from queueops.redis.broker import close_brokers, get_broker
from queueops.testing import run_worker
from tests.outbox.conftest import BOX, box
from tests.support.forked import status_of

pytestmark = [pytest.mark.django_db(transaction=True, databases="__all__"), pytest.mark.faults]
CODE = str(Path(package.__file__).parent)
ran: list[str] = []


@task(name="outbox.effect", keep=1)
def effect(name: str) -> None:
    """What must happen once."""
    ran.append(name)


@pytest.fixture(params=["sqlite", "postgresql", "mysql"])
def vendor(request: pytest.FixtureRequest, app: Any, tmp_path: Path, django_db_blocker: Any) -> Iterator[str]:
    """The database of the outbox."""
    ran.clear()
    with django_db_blocker.unblock(), box(request.param, tmp_path):
        yield request.param


def killed_at(number: int, call: Callable[[], object]) -> bool:
    """Whether a process that makes the call was killed before the n-th new line of the outbox that it runs."""
    seen: set[tuple[str, int]] = set()

    def trace(frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
            if len(seen) == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    def main() -> None:
        sys.settrace(trace)
        call()

    connections[BOX].close()  # a forked process has its own
    connections["default"].close()
    close_brokers()
    status = status_of(main, 300)
    assert status in (0, -signal.SIGKILL), status
    return status != 0


def each_line(call: Callable[[int], object]) -> int:
    """Kill processes at one line after the other until one of them comes to its end; how many were killed."""
    line = 1
    while killed_at(line, partial(call, line)):
        line += 1
    return line - 1


def write(lane: str, *names: str) -> None:
    """A transaction: rows of the truth, and a push for each."""
    with transaction.atomic(using=BOX):
        for name in names:
            with connections[BOX].cursor() as cursor:
                cursor.execute("INSERT INTO truth VALUES (%s)", [name])
            effect.using(lane=lane).push(name)


def check_truth() -> list[str]:
    """What was committed has run, each once and in its order, and no row is left."""
    run_worker()  # what was pushed ends before a relay meets the rows that are left
    relay_all()
    run_worker()
    with connections[BOX].cursor() as cursor:
        cursor.execute("SELECT id FROM truth ORDER BY id")
        truth = [row[0] for row in cursor.fetchall()]
    assert sorted(ran) == truth
    assert not OutboxRow.objects.using(BOX).exists()
    found = list(ran)
    ran.clear()
    with connections[BOX].cursor() as cursor:
        cursor.execute("DELETE FROM truth")
    return found


def test_processes_that_are_killed_at_any_line_lose_nothing_and_push_nothing_twice(
    vendor: str, monkeypatch: Any
) -> None:
    if vendor != "mysql":
        killed = each_line(lambda line: write(f"lane{line}", f"{line:03}a", f"{line:03}b"))
        assert killed > 40
        assert 2 < len(check_truth()) < 2 * killed, "some were killed before the commit, others after it"
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)

    def relay(line: int) -> None:
        write(f"lane{line}", f"{line:03}a", f"{line:03}b")
        assert take_turn(get_broker(), BOX, "default", f"lane{line}").sent

    if vendor != "mysql":
        killed = each_line(relay)
        assert killed > 40
        check_truth()
    two_relays_send_each_row_once()


def two_relays_send_each_row_once() -> None:
    """Several threads take turns on one lane."""
    for batch in range(4):
        write("busy", *(f"{batch}{number:03}" for number in range(30)))
    connections[BOX].close()
    sent: list[str] = []

    def relay() -> None:
        while OutboxRow.objects.using(BOX).exists():
            sent.extend(take_turn(get_broker(), BOX, "default", "busy", batch=7).sent)
        connections[BOX].close()

    threads = [threading.Thread(target=relay) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == len(set(sent)) == 120
    found = check_truth()
    assert found == sorted(found), "in the order of the rows"
