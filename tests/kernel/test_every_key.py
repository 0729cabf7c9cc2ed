"""Garbage under every kind of key, on the paths of a producer, a worker and a watchdog: the other tasks still run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from queueops import inspect
from queueops.errors import BrokenPool
from queueops.model.contracts import Conflict, Extend, Outcome, RoundTrip
from queueops.watchdog import Watchdog
from tests.composites.trees import group_of
from tests.kernel.desk import NEVER_MS, end
from tests.support.specimens import EXAMPLES, NEIGHBOURS, TYPES, VALUES, WELL, Shelf, Specimens, plant_in, specimens

BLOCKING = {"agenda", "lanes:ready"}
"""Without these no task of the pool is claimed: each call names the key, and the tasks run once it is gone."""
REPLACED = {"sampler", "snapshot", "seq"}
"""The watchdog writes these anew, whatever was there."""
RECORDS = {
    "task:<id>": ("n: its record cannot be read", "n was put right: its record", "1 task is quarantined"),
    "command:<id>": ("~command:x: it is not a command", "command:x holds something else", "1 message to another pool"),
    "task:<id>#<number>": ("m#0: ", "m#0 was put right: ", ""),
}
"""Of records the task, the chunk or the command is named: by the check, in the log and in an alarm."""
ACTIONS: list[Callable[[Specimens], object]] = [
    lambda desk: desk.push("new", tags=("red",)),
    lambda desk: desk.push("new1", "new2", "new3", lane="narrow"),
    lambda desk: desk.push("later", delay_ms=NEVER_MS),
    lambda desk: desk.push("p", conflict=Conflict.REPLACE),
    lambda desk: desk.push("s", "l", conflict=Conflict.RUN_AFTER),
    lambda desk: plant_in(desk, group_of("g9", "a9", "b9")),
    lambda desk: desk.exchange(extend=[Extend("l", 1, -1), Extend("m#0", 1, -1)], idle=True),
    lambda desk: desk.broker.note(desk.pool, "l", 1, done=1, line=b"x"),
    lambda desk: desk.broker.beat(desk.pool, "w1", {"names": "x"}),
    lambda desk: work(desk),
    lambda desk: desk.broker.held(desk.pool, "w1"),
    lambda desk: desk.broker.recover(desk.pool, "w1", {}),
    lambda desk: work(desk),
    lambda desk: make_all_due(desk),
    lambda desk: desk.tick(),
    lambda desk: desk.exchange(want=1, idle=True, take=20),
    lambda desk: desk.broker.post(desk.pool, take=20),
    *(
        lambda desk, verb=verb, id=id, value=value: desk.control(verb, id, value=value)
        for verb, id, value in (
            *(("cancel", "n", ""), ("retry", "f", ""), ("retry", "g", ""), ("retry", "m", ""), ("restore", "t", "")),
            *(("delete", "s", ""), ("delete", "g", ""), ("delete", "i", ""), ("delete", "m", "")),
            *(("postpone", "n", str(NEVER_MS)), ("priority", "n", "5"), ("move", "n", "other"), ("cancel", "c", "")),
        )
    ),
    lambda desk: desk.broker.mend_chunks(desk.pool, "m", "retry", whole="failed"),
    lambda desk: work(desk),
    lambda desk: make_all_due(desk),
    lambda desk: desk.tick(),
    lambda desk: desk.broker.leave(desk.pool, "w1"),
]
"""What producers, workers, supervisors, operators and the watchdog do with the pool, once each."""


def work(desk: Specimens) -> None:
    """Claim and settle until nothing is ready; each task by itself, as a worker settles what ends."""
    for _ in range(20):
        leases = desk.exchange("w2", want=9, take=20).leases
        for lease in leases:  # what the calls below claim comes behind
            outcome = Outcome.RESTART if lease.kind == "iterator" else Outcome.SUCCESS
            settle = [end(lease, outcome, b"1", delay_ms=NEVER_MS)]
            leases += desk.exchange("w2", settle=settle, idle=lease is leases[-1], want=1).leases
        if not leases:
            return


def make_all_due(desk: Specimens) -> None:
    """The time of everything on the agenda has come, and that of the schedule."""
    if desk.client.type(desk.keys.agenda) == b"zset":
        desk.make_due(*desk.client.zrange(desk.keys.agenda, 0, -1), "n", "x")
    if desk.client.type(desk.keys.schedules) == b"zset":
        desk.client.zadd(desk.keys.schedules, {"hourly": desk.now() - 1}, xx=True)


@pytest.fixture
def desk(namespace: str) -> Iterator[Specimens]:
    """A pool with an example of every kind of key."""
    with specimens() as desk:
        yield desk


@contextmanager
def watching(desk: Specimens) -> Iterator[Watchdog]:
    """A watchdog of all pools whose rounds the test makes."""
    watchdog = Watchdog(desk.broker, period_s=0.001)
    try:
        yield watchdog
    finally:
        watchdog.stop()
        watchdog.run()


def fsck(desk: Specimens) -> str:
    """What the check says of the pool."""
    said, after = [], ""
    while True:
        try:
            page = inspect.fsck(desk.pool, after)
        except BrokenPool as error:
            return str(error)
        said += [f"{fault.id}: {fault.text}" for fault in page.faults]
        if not (after := page.next):
            return "\n".join(said)


def watch(desk: Specimens, watchdog: Watchdog, is_found: Callable[[], bool]) -> None:
    """Rounds until the key is found; at most as many as the walk through all keys of the pool takes."""
    for _ in range(15):
        desk.client.delete(desk.keys.sampler)
        watchdog.round()
        if is_found():
            return


def alarms() -> str:
    """What the alarms say now."""
    return "\n".join(alarm.text for alarm in inspect.snapshot().alarms)


def test_every_kind_of_key_has_an_example_of_its_type(desk: Specimens) -> None:
    assert EXAMPLES.keys() == TYPES.keys()
    assert {kind: desk.client.type(desk.name(kind)).decode() for kind in TYPES} == TYPES


quarters = pytest.mark.parametrize("kinds", [list(TYPES)[number::4] for number in range(4)], ids=range(4))
"""The kinds of a quarter share one pool, which is put back for each: to make it costs more than a case does."""


def failures(kinds: list[str], case: Callable[[str], None]) -> list[str]:
    """What the case says of each kind for which it fails."""
    found = []
    for kind in kinds:
        try:
            case(kind)
        except AssertionError as error:
            found.append(f"{kind}: {error}")
    return found


@quarters
def test_the_check_the_log_and_an_alarm_name_a_key_of_another_type(
    desk: Specimens, kinds: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    shelf = Shelf(desk.client)
    caplog.set_level(logging.INFO)

    def case(kind: str) -> None:
        shelf.put_back()
        (value, *_) = (value for value in sorted(VALUES, reverse=True) if value != TYPES[kind])
        key = desk.spoil(kind, value)
        checked, logged, alarm = RECORDS.get(kind, (key, key, key))
        assert checked in fsck(desk)
        caplog.clear()
        with watching(desk) as watchdog:
            watch(desk, watchdog, lambda: kind not in REPLACED and logged in caplog.text and alarm in alarms())
            if kind in REPLACED:
                assert desk.client.type(key).decode() in (TYPES[kind], "none")
                return
            assert logged in caplog.text
            assert alarm in alarms()

    assert failures(kinds, case) == []


def attempt(act: Callable[[Specimens], object], desk: Specimens) -> str:
    """What BrokenPool says of it; empty when it could be done."""
    try:
        act(desk)
    except BrokenPool as error:
        return str(error)
    return ""


def values_for(kind: str) -> list[str]:
    """Garbage of the key's own type, and two other types, which change from one kind of key to the next.

    The server answers WRONGTYPE to every command of another type: which one that is makes no difference.
    """
    others = [value for value in VALUES if value != TYPES[kind]]
    first = list(TYPES).index(kind)
    return [TYPES[kind], *(others[(first + step) % len(others)] for step in (0, 2))]


@quarters
def test_the_other_tasks_run_whatever_stands_in_a_key(desk: Specimens, kinds: list[str]) -> None:
    shelf = Shelf(desk.client)

    def case(kind: str) -> None:
        with watching(desk) as watchdog:
            for value in values_for(kind):
                shelf.put_back()
                the_others_run(desk, watchdog, kind, value)

    assert failures(kinds, case) == []


def the_others_run(desk: Specimens, watchdog: Watchdog, kind: str, value: str) -> None:
    """With this garbage in the place of the kind's key."""
    key = desk.spoil(kind, value)
    blocks = kind in BLOCKING and value != TYPES[kind]
    said = attempt(work, desk)
    assert (key in said) is blocks, (value, said)
    if kind not in BLOCKING:
        assert desk.states(*NEIGHBOURS) == ["succeeded"] * 2, value
    for number, action in enumerate(ACTIONS):
        said = attempt(action, desk)
        assert not said or (key in said and value != TYPES[kind]), (value, number, said)
    watchdog.round()
    assert desk.broker.exchange(WELL, "w1", RoundTrip(want=5)).leases, value
    desk.client.delete(key)
    repair(desk)
    desk.push("last")
    work(desk)
    assert desk.state("last") == "succeeded", value
    if kind in BLOCKING:  # those that ran meanwhile are not kept any more
        assert set(desk.states(*NEIGHBOURS)) <= {"succeeded", ""}, value


def repair(desk: Specimens) -> None:
    """Put right what the check finds."""
    after = desk.broker.check(desk.pool, repair=True).next
    while after:
        after = desk.broker.check(desk.pool, after, repair=True).next
