"""Libraries of other versions are deleted a day after their last use, and none that is in use."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queueops.redis.keys import libraries
from queueops.redis.library import Library, library
from queueops.watchdog import Watchdog
from queueops.watchdog.old_libraries import EVERY_S, KEPT_S, OldLibraries
from tests.kernel.desk import POOL, Desk

TEXT = "#!lua name={0}\nredis.register_function('f_{0}', function() return 1 end)\n"
OLDER = "queueops_older"


@pytest.fixture(autouse=True)
def flushed(desk: Desk) -> None:
    """No library is there at the start."""
    desk.client.function_flush()


def load(desk: Desk, *names: str) -> None:
    """Libraries with nothing in them."""
    for name in names:
        desk.client.function_load(TEXT.format(name), replace=True)


def loaded(desk: Desk) -> set[str]:
    """The libraries of the server."""
    return {row[row.index(b"library_name") + 1].decode() for row in desk.client.function_list()}


def let_pass(desk: Desk, seconds: float) -> None:
    """So much time passes for what is noted."""
    (key,) = libraries(desk.broker.settings.namespace)
    for name, at in desk.client.zrange(key, 0, -1, withscores=True):
        desk.client.zadd(key, {name: at - seconds})


def look(desk: Desk) -> list[str]:
    """What a watchdog that has just been started deletes."""
    return OldLibraries(desk.broker).look(POOL)


def test_another_version_is_deleted_a_day_after_its_last_use_and_no_other_library(desk: Desk) -> None:
    load(desk, OLDER, "mine")
    desk.push("a")
    assert look(desk) == []
    let_pass(desk, KEPT_S - 60)
    assert look(desk) == []
    let_pass(desk, 61)
    assert look(desk) == [OLDER]
    assert loaded(desk) == {library().name, "mine"}
    desk.client.function_delete("mine")


@pytest.mark.parametrize(
    "use",
    [
        lambda older: older.push("b"),
        lambda older: older.broker.beat(POOL, "w1", {"names": "x"}),
        lambda older: Watchdog(older.broker, pools=[POOL]).round(),
    ],
    ids=["producer", "worker", "watchdog"],
)
def test_what_a_process_uses_stays(desk: Desk, make_desk: Callable[..., Desk], use: Callable[[Desk], object]) -> None:
    older = make_desk()
    text = library().text.replace(library().digest, "older")
    older.broker.scripts.library = Library("older", text)
    for _ in range(3):
        use(older)
        look(desk)
        let_pass(desk, KEPT_S - 60)
        older.broker.library_use.due_at = 0.0  # a minute has passed
        use(older)
        let_pass(desk, KEPT_S - 60)
        assert look(desk) == []
    assert OLDER in loaded(desk)
    let_pass(desk, 61)
    assert look(desk) == [OLDER]


def test_watchdogs_of_two_versions_leave_each_other_their_library(desk: Desk, make_desk: Callable[..., Desk]) -> None:
    desk.push("a")
    let_pass(desk, KEPT_S + 1)
    desk.broker.library_use.due_at = 0.0  # a minute has passed, too
    newer = make_desk()
    newer.broker.scripts.library = Library("newer", library().text.replace(library().digest, "newer"))
    watchdogs = [Watchdog(each.broker, pools=[POOL]) for each in (desk, newer)]
    for watchdog in watchdogs:
        watchdog.round()
    for each in (desk, newer):
        assert look(each) == []
    assert {library().name, "queueops_newer"} <= loaded(desk)


def test_a_process_notes_its_use_once_a_minute(desk: Desk) -> None:
    (key,) = libraries(desk.broker.settings.namespace)
    for number in range(3):
        desk.push(f"a{number}")
    assert desk.client.zrange(key, 0, -1) == [b"keys:", library().name.encode()]
    desk.client.delete(key)
    desk.push("b")
    assert not desk.client.exists(key)


def test_the_set_is_bounded_and_a_broken_one_stops_no_work(desk: Desk) -> None:
    (key,) = libraries(desk.broker.settings.namespace)
    desk.client.zadd(key, {f"queueops_{number}": 4e9 + number for number in range(200)})
    load(desk, OLDER)
    assert look(desk) == []
    assert desk.client.zcard(key) <= 50
    desk.client.set(key, "rubbish")
    desk.broker.library_use.due_at = 0.0
    desk.push("a")
    assert desk.drain() == ["a"]


def test_a_server_is_asked_once_an_hour(desk: Desk) -> None:
    times = [0.0]
    old = OldLibraries(desk.broker, lambda: times[-1])
    desk.client.config_resetstat()
    for minute in range(0, 121, 10):
        times.append(60.0 * minute)
        assert old.look(POOL) == []
    calls = desk.client.info("commandstats")["cmdstat_function|list"]["calls"]
    assert calls == 2 * 3600 / EVERY_S + 1


def test_a_library_that_came_back_waits_for_a_day_again(desk: Desk) -> None:
    load(desk, OLDER)
    assert look(desk) == []
    let_pass(desk, KEPT_S + 1)
    assert look(desk) == [OLDER]
    load(desk, OLDER)
    assert look(desk) == []
    let_pass(desk, KEPT_S + 1)
    assert look(desk) == [OLDER]
