"""Batches of pushes, one under way behind the other: each task is created once, whatever happens to their line."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as Disconnected

from queueops.errors import BrokenPool, StoreFull
from queueops.model.contracts import Conflict, Push, RoundTrip
from queueops.redis.broker.exchange import RedisExchanges
from queueops.redis.scripts import ScriptLine
from queueops.redis.store_client import BATCH
from tests.kernel.desk import FOREVER, NEVER_MS, POOL, Desk


def batch(first: int, count: int = BATCH) -> list[Push]:
    """Pushes whose ids were made for them."""
    return [
        Push(id=f"t{number}", name="tests.add", args=b"[[1],{}]", conflict=Conflict.NEW)
        for number in range(first, first + count)
    ]


def test_batches_are_answered_in_their_order(desk: Desk) -> None:
    line = desk.broker.pushes(POOL)
    line.send(batch(0))
    line.send(batch(BATCH, 7))
    answers = line.receive() + line.receive()
    line.close()
    assert [answer.id for answer in answers] == [push.id for push in batch(0) + batch(BATCH, 7)]
    assert {answer.word for answer in answers} == {"OK"}
    assert [answer.uid for answer in answers] == [desk.record(answer.id).uid for answer in answers]


def test_a_batch_whose_reply_was_lost_is_created_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    line = desk.broker.pushes(POOL)
    line.send(batch(0))

    def lose(self: ScriptLine) -> None:
        ScriptLine._read(self)
        raise Disconnected

    monkeypatch.setattr(ScriptLine, "receive", lose)
    line.send(batch(BATCH))
    assert {answer.word for answer in line.receive() + line.receive()} <= {"OK", "REPEAT"}
    assert desk.client.zcard(desk.keys.state("pending")) == 2 * BATCH


def test_a_batch_that_could_not_be_sent_is_pushed_in_the_usual_way(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: ScriptLine, *arguments: object) -> None:
        raise Disconnected

    monkeypatch.setattr(ScriptLine, "send", cut)
    line = desk.broker.pushes(POOL)
    line.send(batch(0))
    assert {answer.word for answer in line.receive()} == {"OK"}


@pytest.mark.parametrize("has_functions", [True, False], ids=["functions", "scripts"])
def test_a_server_that_forgot_the_function_is_given_it_again(desk: Desk, has_functions: bool) -> None:
    if not has_functions:
        desk.broker.scripts.without_functions(FOREVER)
    line = desk.broker.pushes(POOL)
    desk.client.function_flush()
    desk.client.script_flush()
    line.send(batch(0))
    line.send(batch(BATCH))
    assert {answer.word for answer in line.receive() + line.receive()} == {"OK"}
    line.close()


def test_a_full_store_refuses_a_batch(desk: Desk) -> None:
    desk.push("a")
    desk.client.config_set("maxmemory", 1)
    try:
        line = desk.broker.pushes(POOL)
        line.send(batch(0))
        with pytest.raises(StoreFull):
            line.receive()
    finally:
        desk.client.config_set("maxmemory", 0)
    assert desk.client.zcard(desk.keys.state("pending")) == 1


def test_tasks_that_differ_go_where_each_says_in_one_call(desk: Desk) -> None:
    pushes = [
        Push(id="a", name="one", args=b"[[1],{}]", lane="left", tags=("red", "blue"), priority=3),
        Push(id="b", name="one", lane="left", tags=("red", "blue"), priority=3, token="t"),
        Push(id="c", name="two", lane="left", retries=4),
        Push(id="d", name="two", lane="right", delay_ms=NEVER_MS),
        Push(id="e", name="one", lane="left", kind="chunked"),
    ]
    uids = [answer.uid for answer in desk.broker.push(pushes)]
    assert uids == list(range(uids[0], uids[0] + 5))
    records = {push.id: desk.record(push.id) for push in pushes}
    assert [records[push.id].uid for push in pushes] == uids
    assert [records[push.id].lane for push in pushes] == [push.lane for push in pushes]
    assert [records[push.id].args for push in pushes] == [push.args for push in pushes]
    assert [records[push.id].retries for push in pushes] == [push.retries for push in pushes]
    assert desk.states(*"abcde") == ["pending", "pending", "pending", "postponed", "pending"]
    assert desk.client.zrange(desk.keys.tag("red"), 0, -1) == [b"a", b"b"]
    assert [lease.id for lease in desk.claim(9)] == ["a", "b", "c", "e"]


def test_of_one_call_only_the_ids_in_use_are_judged(desk: Desk) -> None:
    first = {answer.id: answer.uid for answer in desk.push("b", "d")}
    answers = desk.broker.push([Push(id=task_id, name="tests.add") for task_id in "abcde"])
    assert [answer.word for answer in answers] == ["OK", "EXISTS", "OK", "EXISTS", "OK"]
    assert [answer.uid for answer in answers] == [first.get(task_id) or desk.record(task_id).uid for task_id in "abcde"]


def test_an_error_of_a_worker_s_round_trip_names_the_file_and_the_line(desk: Desk) -> None:
    desk.client.set(desk.keys.agenda, "text")
    trips = RedisExchanges(desk.broker, POOL, "w1")
    trips.send(RoundTrip(want=1))
    with pytest.raises(BrokenPool) as raised:
        trips.receive()
    trips.close()
    (note,) = raised.value.__cause__.__notes__
    assert note.startswith("In the Lua library: lib/agenda.lua, line ")
    desk.client.delete(desk.keys.agenda)
