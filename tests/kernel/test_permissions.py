"""A user of the store who may not do everything: what is forbidden leaves nothing half-written."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from queueops import inspect
from queueops.checks import check_store
from queueops.errors import BrokerUnavailable
from queueops.errors.refusals import StoreRefuses
from queueops.model.contracts import Conflict, Outcome
from queueops.redis.scripts import Scripts
from queueops.results import result_listener, waiting
from queueops.results.handle import TaskHandle
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import POOL, Desk, make
from tests.support.waiting import wait_until

MakeUser = Callable[..., str]
NO_CHANNELS = ("allkeys", "+@all", "resetchannels")


@pytest.fixture
def make_user(redis_client: redis.Redis, redis_url: str) -> Iterator[MakeUser]:
    """The store's URL for a user with these rules."""

    def make(*rules: str) -> str:
        redis_client.execute_command("ACL", "SETUSER", "somebody", "reset", "on", ">word", *rules)
        return redis_url.replace("unix://", "unix://somebody:word@")

    yield make
    redis_client.execute_command("ACL", "DELUSER", "somebody")


@pytest.fixture
def deaf(make_user: MakeUser, make_desk: MakeDesk) -> Desk:
    """A desk of a user without channels, as those of Redis 7 are unless they are given some."""
    return make_desk(url=make_user(*NO_CHANNELS))


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.ERROR, Outcome.CANCEL])
def test_without_channels_a_task_that_is_waited_for_ends_as_any_other(deaf: Desk, outcome: Outcome) -> None:
    deaf.push("a", "b")
    for task_id in ("a", "b"):
        assert deaf.broker.wait(POOL, task_id) == "pending"
    first, second = deaf.claim(2)
    assert deaf.settle(first, outcome, fingerprint="f1") == "OK"
    assert deaf.word("b", Conflict.REPLACE) == "REPLACED"
    assert deaf.settle(second) == "STALE"
    assert deaf.drain() == ["b"]


def test_without_channels_work_goes_on_though_somebody_follows_the_events(deaf: Desk) -> None:
    deaf.client.set(deaf.keys.tail, 1, ex=100)
    deaf.push("a", "b", retries=1)
    first, second = deaf.claim(2)
    assert deaf.broker.note(POOL, first.id, first.fence, done=1, line=b"half") == "OK"
    assert deaf.settle(first) == "OK"
    assert deaf.settle(second, Outcome.ERROR, delay_ms=0, fingerprint="f1") == "OK"
    assert deaf.told("cancel", "b") == "OK"
    deaf.client.delete(deaf.keys.tail)


def test_without_channels_a_result_is_looked_for(
    deaf: Desk, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "RECHECK", 1000.0)
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": deaf.broker.settings.url}
    found: list[Any] = []
    deaf.push("a")
    lease = deaf.lease()
    waiter = threading.Thread(target=lambda: found.append(TaskHandle("a").result(timeout=100)))
    waiter.start()
    try:
        wait_until(lambda: "The store refuses pub/sub; polling for results" in caplog.text)
        deaf.settle(lease, value=b"7")
    finally:
        waiter.join(100)
    assert found == [7]
    waiting.close()


class Pauses(tuple[float, ...]):
    """Remembers how far they were taken."""

    most = 0

    def __getitem__(self, number: Any) -> Any:
        self.most = max(self.most, number)
        return super().__getitem__(number)


def test_without_channels_whoever_waits_does_not_connect_again_and_again_without_a_pause(
    deaf: Desk, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = Pauses((0.001, 0.002, 0.003, 0.004))
    monkeypatch.setattr(result_listener, "PAUSES", pauses)
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": deaf.broker.settings.url}
    deaf.push("a")
    lease = deaf.lease()
    waiter = threading.Thread(target=lambda: TaskHandle("a").result(timeout=100))
    waiter.start()
    try:
        wait_until(lambda: pauses.most == 3)
    finally:
        deaf.settle(lease, value=b"7")
        waiter.join(100)
        waiting.close()


def test_who_may_not_use_the_keys_is_told_so(make_user: MakeUser, make_desk: MakeDesk) -> None:
    desk = make_desk()
    other = make_desk(url=make_user("~other*", "+@all", "allchannels"))
    with pytest.raises(StoreRefuses, match="all commands, all channels, and all keys of the namespace"):
        other.push("a")
    with pytest.raises(BrokerUnavailable):
        other.exchange("w1", want=1)
    assert desk.everything() == {}


def test_who_may_not_ask_for_info_sees_all_else(make_user: MakeUser, desk: Desk, settings: Any) -> None:
    desk.push("a")
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": make_user("allkeys", "+@all", "-@dangerous", "allchannels")}
    found = inspect.snapshot()
    assert found.states["pending"] == 1
    assert any("no permission for INFO" in alarm.text for alarm in found.alarms)
    assert not any("append-only" in alarm.text for alarm in found.alarms)
    old = json.loads(desk.broker.sample(POOL)) | {"taken": desk.now() - 3_600_000, "states": {"pending": 9}}
    desk.client.set(desk.keys.snapshot, json.dumps(old), ex=600)
    assert inspect.snapshot().states["pending"] == 1  # by the clock of this process


@pytest.mark.parametrize(
    ("rules", "ids"),
    [
        (("+@all", "allchannels"), []),
        (NO_CHANNELS, ["queueops.W108"]),
        (("+@all", "-info"), ["queueops.W108", "queueops.W109"]),
        (("+@all", "allchannels", "-config"), []),
        (("+@all", "allchannels", "-fcall"), ["queueops.W111"]),
        (("+@all", "allchannels", "-function|load"), ["queueops.W111"]),
        (("+@all", "allchannels", "-rpoplpush", "-zadd"), ["queueops.E114"]),
        (("+@all", "allchannels", "-eval"), []),
        (("+@all", "allchannels", "resetkeys", "~other:*"), ["queueops.E114"]),
    ],
)
def test_what_a_user_may_not_do_is_told_by_the_check(
    make_user: MakeUser, settings: Any, rules: tuple[str, ...], ids: list[str]
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": make_user("allkeys", *rules)}
    told = {"queueops.W102", "queueops.W108", "queueops.W109", "queueops.W111", "queueops.W113", "queueops.E114"}
    assert [message.id for message in check_store() if message.id in told] == ids


@pytest.mark.parametrize("forbidden", ["-fcall", "-function|load", "-function"])
def test_a_user_who_may_not_use_functions_gets_scripts(
    make_user: MakeUser,
    make_desk: MakeDesk,
    redis_client: redis.Redis,
    forbidden: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(Scripts, "has_warned", False)
    redis_client.function_flush()
    desk = make_desk(url=make_user("allkeys", "allchannels", "+@all", forbidden))
    desk.push("a", "b", retries=1)
    assert desk.settle(desk.lease(), Outcome.ERROR, fingerprint="f1") == "OK"
    assert sorted(desk.drain()) == ["a", "b"]
    assert not desk.broker.scripts.has_functions
    line = desk.broker.pushes(POOL)
    redis_client.script_flush()
    line.send([make("c", pool=POOL)])
    assert [answer.word for answer in line.receive()] == ["OK"]
    line.close()
    assert desk.broker.other_libraries(POOL) == {}
    desk.broker.scripts.without_functions(0)  # that time has passed: functions are refused again
    desk.push("d")
    told = [record.levelname for record in caplog.records if "has no functions" in record.getMessage()]
    assert told == ["WARNING"]
