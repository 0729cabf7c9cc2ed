"""Libraries of other versions are deleted a day after the watchdog first saw them."""

from __future__ import annotations

from queueops.redis.library import library
from queueops.watchdog.old_libraries import EVERY_S, KEPT_S, OldLibraries
from tests.kernel.desk import POOL, Desk

TEXT = "#!lua name={0}\nredis.register_function('f_{0}', function() return 1 end)\n"


def test_another_version_is_deleted_after_a_day_and_no_other_library(desk: Desk) -> None:
    times = [0.0]
    desk.client.function_flush()
    old = OldLibraries(desk.broker, lambda: times[-1])
    desk.push("a")
    for name in ("queueops_older", "mine"):
        desk.client.function_load(TEXT.format(name), replace=True)
    assert old.look(POOL) == []
    times.append(KEPT_S - 1)
    assert old.look(POOL) == []
    times.append(times[-1] + EVERY_S)
    assert old.look(POOL) == ["queueops_older"]
    names = {row[row.index(b"library_name") + 1] for row in desk.client.function_list()}
    assert {library().name.encode(), b"mine"} <= names
    assert b"queueops_older" not in names
    desk.client.function_delete("mine")


def test_a_server_is_asked_once_an_hour(desk: Desk) -> None:
    times = [0.0]
    desk.client.function_flush()
    old = OldLibraries(desk.broker, lambda: times[-1])
    desk.client.config_resetstat()
    for minute in range(0, 121, 10):
        times.append(60.0 * minute)
        assert old.look(POOL) == []
    calls = desk.client.info("commandstats")["cmdstat_function|list"]["calls"]
    assert calls == 3


def test_a_library_that_came_back_waits_for_a_day_again(desk: Desk) -> None:
    times = [0.0]
    desk.client.function_flush()
    old = OldLibraries(desk.broker, lambda: times[-1])
    desk.client.function_load(TEXT.format("queueops_older"), replace=True)
    assert old.look(POOL) == []
    desk.client.function_delete("queueops_older")
    times.append(EVERY_S)
    assert old.look(POOL) == []
    desk.client.function_load(TEXT.format("queueops_older"), replace=True)
    for hour in range(2, 26):
        times.append(EVERY_S * hour)
        assert old.look(POOL) == []
    times.append(EVERY_S * 26)
    assert old.look(POOL) == ["queueops_older"]
    desk.client.function_load(TEXT.format("queueops_older"), replace=True)
    times.append(EVERY_S * 27)
    assert old.look(POOL) == []
    desk.client.function_delete("queueops_older")
