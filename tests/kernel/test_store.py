"""The server itself: full, flushed of its functions, restarted; and what a task takes of its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis import exceptions

from queueops.conf import Settings
from queueops.errors import BrokerUnavailable, NotDurable, QueueOpsError, StoreFull
from queueops.errors.refusals import DurabilityUnsupported, StoreRefuses, WritesRefused
from queueops.model.contracts import Node, Outcome, RoundTrip, Settlement
from queueops.model.ids import new_id
from queueops.model.records import Undecodable
from queueops.redis import durability, embedded
from queueops.redis.broker import RedisBroker
from queueops.redis.error_translation import is_later, translate
from queueops.redis.library import Library
from queueops.redis.library import library as current_library
from queueops.redis.store_client import BATCH
from tests.kernel.conftest import MakeDesk
from tests.kernel.desk import FOREVER, POOL, Desk, end, make
from tests.support.for_each import for_each
from tests.support.waiting import wait_until

QUEUED = 20_000


def test_a_queued_no_op_task_takes_at_most_450_bytes(desk: Desk) -> None:
    desk.push("first")
    before = used(desk)
    for _ in range(QUEUED // 500):
        desk.broker.push([make(new_id(), retries=2) for _ in range(500)])
    assert (used(desk) - before) / QUEUED <= 450
    desk.client.flushall()


def used(desk: Desk) -> int:
    """The bytes that the server uses."""
    return int(desk.client.info("memory")["used_memory"])


@pytest.fixture
def full(desk: Desk) -> Iterator[Desk]:
    """A desk with tasks in many states, at a server that has no memory left."""
    desk.push(*[f"t{number}" for number in range(10)], retries=1)
    desk.push("later", delay_ms=5_000_000)
    desk.broker.beat(POOL, "w1", {"host": "here"})
    desk.exchange("w9", want=0, idle=True)
    desk.client.config_set("maxmemory", used(desk) // 2)
    yield desk
    desk.client.config_set("maxmemory", 0)


@pytest.mark.parametrize("ids", [["new"], ["new", "t1"], [f"n{number}" for number in range(500)]])
def test_a_full_store_refuses_a_push_and_keeps_nothing_of_it(full: Desk, ids: list[str]) -> None:
    before = full.everything()
    for conflict in ("ignore", "replace"):
        with pytest.raises(StoreFull):
            full.push(*ids, conflict=conflict, args=b"[[1],{}]", tags=("red",))
    assert full.everything() == before
    full.check()


def test_a_full_store_is_asked_once(full: Desk) -> None:
    """It stays full for longer than a push would wait."""

    def refused() -> int:
        return int(full.client.info("errorstats")["errorstat_OOM"]["count"])

    with pytest.raises(StoreFull):
        full.push("new")
    before = refused()
    with pytest.raises(StoreFull):
        full.push("new")
    assert refused() == before + 1


def test_a_full_store_can_be_drained(full: Desk) -> None:
    leases = full.claim(6)
    assert len(leases) == 6
    outcomes = [Outcome.SUCCESS, Outcome.ERROR, Outcome.RELEASE, Outcome.CANCEL, Outcome.UNKNOWN]
    ends = [end(lease, outcome, delay_ms=5_000_000) for lease, outcome in zip(leases, outcomes, strict=False)]
    assert full.exchange(settle=ends).settled == ["OK"] * 5
    assert full.broker.note(POOL, leases[5].id, leases[5].fence, done=1, line=b"half") == "OK"
    assert full.extend(leases[5]).lost == []
    assert full.broker.recover(POOL, "w1", {leases[5].id: Settlement(leases[5].id, 1, Outcome.CRASH)}) == 1
    assert full.tick() == {}
    full.broker.beat(POOL, "w1", {"host": "here"})
    assert full.broker.wait(POOL, "t9") == "pending"
    assert full.told("cancel", "t9") == "OK"
    full.broker.tell(POOL, "w1", "quiet")
    assert full.broker.draw(POOL, "watchdog", 60_000)
    assert not full.broker.draw(POOL, "another", 60_000)
    assert sorted(full.drain()) == ["t2", "t5", "t6", "t7", "t8"]
    full.check()


def test_a_worker_can_begin_to_drain_a_full_store(full: Desk) -> None:
    fresh = Desk(RedisBroker(full.broker.settings))
    assert fresh.drain()
    fresh.broker.close()


def test_a_push_goes_through_as_soon_as_there_is_room(full: Desk) -> None:
    full.client.config_set("maxmemory", 0)
    assert full.push("new")[0].word == "OK"


@pytest.fixture
def append_only(desk: Desk) -> Iterator[None]:
    """What the test changes of the append-only file is put back."""
    before = desk.client.config_get("append*")
    yield
    for name in ("appendonly", "appendfsync"):
        desk.client.config_set(name, before[name])


def durable_pushes(desk: Desk) -> dict[str, Callable[[str], object]]:
    """Each way to push something durable, by the id of the task."""

    def in_batches(task_id: str) -> object:
        pushes = desk.broker.pushes(POOL, durable=True)
        pushes.send([make(task_id)])
        answers = pushes.receive()
        pushes.close()
        return answers

    return {
        "one": lambda task_id: desk.broker.push([make(task_id)], durable=True),
        "batches": in_batches,
        "composite": lambda task_id: desk.broker.plant([Node(make(task_id))], durable=True),
    }


@pytest.mark.parametrize("way", ["one", "batches", "composite"])
@pytest.mark.usefixtures("append_only")
def test_a_durable_push_is_on_disk_when_it_returns(desk: Desk, way: str) -> None:
    desk.client.config_set("appendfsync", "always")
    durable_pushes(desk)[way]("a")
    assert desk.record("a") is not None


@pytest.mark.parametrize("way", ["one", "batches", "composite"])
@pytest.mark.usefixtures("append_only")
def test_a_durable_push_to_a_server_without_an_append_only_file_is_refused_before_anything_is_written(
    desk: Desk, way: str
) -> None:
    desk.client.config_set("appendonly", "no")
    before = desk.everything()
    with pytest.raises(DurabilityUnsupported, match=r"appendonly is disabled.*Nothing was written.*without durable"):
        durable_pushes(desk)[way]("a")
    assert desk.everything() == before
    desk.push("a")


@pytest.mark.usefixtures("append_only")
def test_a_durable_push_that_was_written_and_not_confirmed_says_so(desk: Desk) -> None:
    pushes = desk.broker.pushes(POOL, durable=True)
    pushes.send([make(f"t{number}") for number in range(BATCH)])
    desk.client.config_set("appendonly", "no")
    with pytest.raises(NotDurable, match=r"was written, but the append-only file \(.*appendonly is disabled\)"):
        pushes.receive()
    pushes.close()
    assert len(desk.claim(BATCH)) == BATCH


def test_a_durable_push_that_is_not_on_disk_in_time_says_so(
    empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = embedded.start(empty_directory)
    desk = Desk(RedisBroker(Settings(url=server.url, lease=1000.0)))
    desk.push("first")
    # A rewrite of the append-only file goes on for minutes, and the server syncs nothing meanwhile.
    desk.client.config_set("no-appendfsync-on-rewrite", "yes")
    desk.client.config_set("rdb-key-save-delay", 600_000_000)
    desk.client.bgrewriteaof()
    monkeypatch.setattr(durability, "DURABLE_S", 0.001)

    def refused() -> str:
        try:
            desk.broker.push([make(new_id())], durable=True)
        except NotDurable as error:
            return str(error)
        return ""  # of a file that was just opened, the server had synced all

    assert "was written, but the append-only file did not confirm it as durable within 0.001 s" in wait_until(refused)
    desk.broker.close()


@pytest.mark.usefixtures("append_only")
def test_a_durable_push_that_fails_leaves_no_connection_open(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.push("first")
    before = len(desk.client.client_list())
    monkeypatch.setattr(desk.broker, "_push_pools", lambda *_: desk.client.config_set("appendonly", "no"))
    with pytest.raises(NotDurable) as caught:
        desk.broker.push([make("a"), make("b", pool="north")], durable=True)
    wait_until(lambda: len(desk.client.client_list()) <= before)
    assert caught.value.__traceback__ is not None  # it would have kept the connections


@pytest.mark.usefixtures("append_only")
def test_a_durable_push_to_several_pools_is_refused_when_one_of_their_servers_cannot_confirm_it(desk: Desk) -> None:
    desk.client.config_set("appendonly", "no")
    before = desk.everything()
    with pytest.raises(DurabilityUnsupported):
        desk.broker.push([make("a"), make("b", pool="north")], durable=True)
    assert desk.everything() == before


def test_a_durable_push_by_a_user_who_may_not_ask_is_refused_before_anything_is_written(desk: Desk) -> None:
    desk.client.acl_setuser("asker", enabled=True, nopass=True, keys="*", channels="*", commands=["+@all", "-waitaof"])
    asker = RedisBroker(replace(desk.broker.settings, connect={"username": "asker", "password": "any"}))
    try:
        with pytest.raises(DurabilityUnsupported, match="permissions"):
            asker.push([make("a")], durable=True)
        assert desk.record("a") is None
        assert asker.push([make("a")])[0].word == "OK"
    finally:
        asker.close()
        desk.client.acl_deluser("asker")


@pytest.mark.parametrize("has_functions", [True, False], ids=["functions", "scripts"])
def test_what_the_server_forgot_is_loaded_again(desk: Desk, has_functions: bool) -> None:
    if not has_functions:
        desk.broker.scripts.without_functions(FOREVER)

    def forget() -> None:
        desk.client.script_flush()
        desk.client.function_flush()

    forget()
    desk.push("a", "b")
    forget()
    lease = desk.lease()
    forget()
    assert desk.settle(lease) == "OK"
    forget()
    assert desk.tick() == {}
    assert desk.broker.scripts.has_functions is has_functions


def test_two_versions_of_the_library_work_side_by_side(desk: Desk, make_desk: MakeDesk) -> None:
    desk.client.function_flush()
    newer = make_desk()
    text = current_library().text.replace(current_library().digest, "newer")
    newer.broker.scripts.library = Library("newer", text)
    desk.push("a", "b")
    newer.push("c")
    assert newer.settle(desk.lease("w1"), worker="w1") == "OK"
    assert desk.settle(newer.lease("w2"), worker="w2") == "OK"
    assert desk.drain() == ["c"]
    names = {row[row.index(b"library_name") + 1] for row in desk.client.function_list("queueops_*")}
    assert {current_library().name.encode(), b"queueops_newer"} <= names
    assert list(desk.broker.other_libraries(POOL)) == ["queueops_newer"]
    desk.broker.delete_library(POOL, "queueops_newer")
    newer.push("d")
    assert desk.drain() == ["d"]
    desk.client.function_delete("queueops_newer")


def test_a_library_that_does_not_fit_into_a_full_store_is_sent_as_scripts(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    desk.client.function_flush()
    desk.client.config_set("maxmemory", 1)
    try:
        assert desk.settle(lease) == "OK"
        with pytest.raises(StoreFull):
            desk.push("b")
    finally:
        desk.client.config_set("maxmemory", 0)
    desk.push("b")
    assert desk.drain() == ["b"]
    assert not desk.broker.scripts.has_functions
    desk.broker.scripts.without_functions(0)  # that time has passed
    desk.push("c")
    assert desk.drain() == ["c"]
    assert desk.broker.scripts.has_functions
    assert desk.client.function_list(current_library().name)


HALF = "redis.register_function('enqueue_half', function() return 1 end)\nundefined()\n"


def test_a_library_that_the_server_refuses_is_an_error_that_names_it(desk: Desk) -> None:
    desk.broker.scripts.library = Library("broken", "#!lua name=queueops_broken\nlocal function")
    with pytest.raises(QueueOpsError, match="rror compiling function"):
        desk.push("a")
    assert desk.client.function_list("queueops_broken") == []
    desk.broker.scripts.library = Library("half", "#!lua name=queueops_half\n" + HALF)
    with pytest.raises(QueueOpsError, match=r"rror registering functions.*undefined"):
        desk.push("a")
    assert desk.client.function_list("queueops_half") == []
    del desk.broker.scripts.library
    desk.push("a")
    assert desk.drain() == ["a"]


def test_a_restarted_server_has_lost_nothing(empty_directory: Path) -> None:
    server = embedded.start(empty_directory)
    desk = Desk(RedisBroker(Settings(url=server.url, lease=1000.0)))
    desk.push("a", "b", "c")
    settled, held = desk.claim(2)
    desk.settle(settled)
    before = desk.everything()
    embedded.stop(empty_directory)
    with pytest.raises(BrokerUnavailable):
        desk.settle(held)
    embedded.start(empty_directory)
    assert desk.everything() == before
    assert desk.push("d")[0].word == "OK"
    assert desk.settle(held) == "OK"
    desk.check()
    desk.broker.close()


def test_a_record_of_a_wrong_type_is_no_record_and_the_connection_lives_on(desk: Desk) -> None:
    desk.push("right")
    desk.client.set(desk.broker.keys(POOL).task("wrong"), "no hash")
    with pytest.raises(Undecodable, match="the key of task wrong holds no record"):
        desk.broker.record(POOL, "wrong")
    assert desk.broker.record(POOL, "right").state == "pending"  # type: ignore[union-attr]
    assert desk.broker.record(POOL, "nowhere") is None
    desk.client.delete(desk.broker.keys(POOL).task("wrong"))


def test_a_call_to_a_server_that_is_gone_says_so(tmp_path: Path) -> None:
    from queueops.conf import BrokerRetry

    broker = RedisBroker(Settings(url=f"unix://{tmp_path}/none.sock", retry=BrokerRetry(attempts=2, base=0.001)))
    with pytest.raises(BrokerUnavailable, match="attempts: 2"):
        broker.push([make("a")])
    with pytest.raises(BrokerUnavailable):
        broker.exchange(POOL, "w1", RoundTrip(want=1))


@for_each(
    ("answer", "advice"),
    [
        (exceptions.AuthenticationError("Authentication required."), "Name a user and a password in the URL"),
        (exceptions.AuthenticationError("WRONGPASS invalid username-password pair"), "password is wrong"),
        (exceptions.NoPermissionError("this user has no permissions to run 'hget'"), "Give the user of the URL all"),
        (exceptions.ResponseError("DB index is out of range"), "no database of the number in the URL"),
        (exceptions.ReadOnlyError("READONLY You can't write against a read only replica."), "name the primary"),
    ],
)
def test_a_store_that_refuses_us_is_not_one_that_is_away(answer: Exception, advice: str) -> None:
    error = translate(answer, "redis://user:hunter2@h", 3)
    assert isinstance(error, StoreRefuses)
    assert advice in str(error)
    assert "refuses this client" in str(error)
    assert "hunter2" not in str(error)
    assert ".." not in str(error)


WRAPPED = "Error running script (call to f_8a36fa8e80e8cf808ab945960bc952e52321cc1a): @user_script:1: @user_script: 1: "


@for_each(
    ("answer", "expected", "text"),
    [
        ("-OOM command not allowed when used memory > 'maxmemory'.", StoreFull, "OOM command not allowed"),
        ("-READONLY You can't write against a read only replica.", StoreRefuses, "name the primary"),
        ("-NOREPLICAS Not enough good replicas to write.", WritesRefused, "min-replicas-to-write"),
        ("The user executing the script can't run this command or subcommand", StoreRefuses, "all commands"),
    ],
)
def test_what_a_server_older_than_7_says_of_a_script_is_understood(
    answer: str, expected: type[Exception], text: str
) -> None:
    error = exceptions.ResponseError(WRAPPED + answer)
    assert type(translate(error, "redis://h", 1)) is expected
    assert text in str(translate(error, "redis://h", 1))
    assert ".." not in str(translate(error, "redis://h", 1))
    assert is_later(error) is (answer[:4] in ("-REA", "-NOR"))


def test_a_fault_in_a_script_is_none_of_the_store() -> None:
    text = "@user_script:1: WRONGTYPE Operation against a key holding the wrong kind of value"
    assert translate(exceptions.ResponseError(f"Error running script (call to f_8a): {text}"), "redis://h") is None


def test_a_store_that_is_away_says_how_often_it_was_asked() -> None:
    error = translate(exceptions.ConnectionError("Connection refused."), "redis://h", 1)
    assert str(error) == (
        "The store at redis://h did not answer (attempts: 1): ConnectionError: Connection refused."
        " Is it running, and is its URL right?"
    )
