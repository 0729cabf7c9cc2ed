"""The alarm of a worker's loop: readable at its moment, and not before."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator

import pytest

from queueops.worker import alarm as alarms
from queueops.worker.alarm import Alarm

rings: list[float] = []


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    rings.clear()
    alarm = Alarm(lambda: rings.append(time.monotonic()))
    yield alarm
    alarm.close()


def is_readable(alarm: Alarm, seconds: float) -> bool:
    return bool(select.select([alarm], [], [], seconds)[0])


def test_it_is_readable_from_its_moment_on(alarm: Alarm) -> None:
    moment = time.monotonic() + 0.05
    alarm.set(moment)
    assert is_readable(alarm, 60)
    assert time.monotonic() >= moment
    alarm.answer()
    assert not is_readable(alarm, 0)
    assert not rings


def test_a_moment_that_has_passed_is_readable_at_once(alarm: Alarm) -> None:
    alarm.set(time.monotonic() - 1)
    assert is_readable(alarm, 60)


def test_a_later_moment_replaces_an_earlier_one(alarm: Alarm) -> None:
    alarm.set(time.monotonic() - 1)
    later = time.monotonic() + 0.1
    alarm.set(later)
    assert is_readable(alarm, 60)
    assert time.monotonic() >= later


def test_what_was_cleared_is_not_readable(alarm: Alarm) -> None:
    alarm.set(time.monotonic() - 1)
    alarm.clear()
    assert not is_readable(alarm, 0)
    alarm.set(time.monotonic() - 1)  # and it can be set again
    assert is_readable(alarm, 60)


def test_an_answer_that_comes_after_another_moment_was_set_takes_nothing(alarm: Alarm) -> None:
    alarm.set(time.monotonic() + 60)
    alarm.answer()
    assert not is_readable(alarm, 0)


def test_without_timers_of_the_system_a_moment_rings_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rings.clear()
    monkeypatch.setattr(alarms, "_timer", lambda: (-1, lambda moment: pytest.fail("there is no timer")))
    alarm = Alarm(lambda: rings.append(1))
    alarm.set(time.monotonic() + 60)
    alarm.clear()
    alarm.close()
    assert (alarm.works, rings) == (False, [1])


def test_it_can_be_closed_twice(alarm: Alarm) -> None:
    alarm.close()
    alarm.close()
    assert alarm.fileno() == -1


def test_a_descriptor_that_a_task_has_closed_is_an_error(alarm: Alarm) -> None:
    os.close(alarm.fileno())
    with pytest.raises(OSError, match="Bad file descriptor"):
        alarm.set(time.monotonic() + 60)
    alarm._descriptor = -1
