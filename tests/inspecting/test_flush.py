"""`queue flush` empties a pool or the namespace: it asks, records, and refuses while workers live."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import CommandError

from queueops import Schedule, chain, control, inspect, schedules
from queueops.control import PoolInUse
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support import tasks_for_tests as tasks
from tests.support.tasks_for_tests import Letters, Nothing


def fill() -> None:
    """Tasks of every kind and in many states, in two pools."""
    for pool in ("default", "mail"):
        add = tasks.add.using(pool=pool)
        add.push_many([(1,)] * 20)
        add.using(lane="slow", tags=["a"]).postpone(60, 1)
        tasks.fail.using(pool=pool, retries=0).push("x")
        Letters.using(pool=pool).push("a", "b")
        Nothing.using(pool=pool).push()
        chain(add.s(1), add.s(2)).using(pool=pool).push()
        schedules.create(add, Schedule("@every 1h", args=(1,)), id=f"hourly-{pool}")
        run_worker(pools=[pool], at_most=10_000)
        control.delete([add.push(7).id], pool)
        add.push_many([(1,)] * 5)
        control.pause_lane(pool, "slow")


def keys(namespace: str, pool: str, client: redis.Redis) -> list[bytes]:
    return list(client.scan_iter(match=f"{{{namespace}:{pool}}}*", count=1000))


def flush(*arguments: str, answer: str | None = None) -> str:
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("" if answer is None else f"{answer}\n"))
        call_command("queue", "flush", *arguments, stdout=output)
    return output.getvalue()


@pytest.mark.django_db
def test_a_pool_is_emptied_and_the_others_are_left_alone(namespace: str, redis_client: redis.Redis) -> None:
    fill()
    kept = sorted(keys(namespace, "default", redis_client))
    foreign = f"{{{namespace}:mailbox}}:task:x"
    redis_client.set(foreign, "1")
    assert len(keys(namespace, "mail", redis_client)) > 20
    said = flush("--pool", "mail", "--yes")
    assert keys(namespace, "mail", redis_client) == []
    assert sorted(keys(namespace, "default", redis_client)) == kept
    assert redis_client.exists(foreign)
    assert said.startswith("The pool mail is empty: ")
    handle = tasks.add.using(pool="mail").push(1)
    assert run_worker() > 0
    assert handle.result(timeout=0) == 2
    assert "mail" in get_broker().pools()


@pytest.mark.django_db
def test_without_a_pool_the_whole_namespace_is_emptied(namespace: str, redis_client: redis.Redis) -> None:
    fill()
    redis_client.set("of another application", "1")
    redis_client.set(f"{{{namespace}-other:default}}:task:x", "1")
    answer = json.loads(flush("--yes", "--json"))
    assert set(answer["pools"]) == {"default", "mail"}
    assert all(count > 20 for count in answer["pools"].values())
    assert keys(namespace, "default", redis_client) == keys(namespace, "mail", redis_client) == []
    assert redis_client.exists("of another application", f"{{{namespace}-other:default}}:task:x") == 2
    assert inspect.snapshot().states.get("pending", 0) == 0


@pytest.mark.django_db
def test_it_asks_first_and_says_what_goes(namespace: str, capsys: pytest.CaptureFixture[str]) -> None:
    tasks.add.using(pool="mail").push_many([(1,)] * 3)
    with pytest.raises(CommandError, match="Nothing was done"):
        flush("--pool", "mail", answer="n")
    asked = capsys.readouterr().err
    assert "Delete everything in the pool mail for good: 3 tasks" in asked
    assert "schedules" in asked
    with pytest.raises(CommandError, match="No terminal can answer the question; add --yes"):
        flush("--pool", "mail")
    assert len(inspect.tasks(inspect.TaskQuery(pool="mail")).rows) == 3
    flush("--pool", "mail", answer="y")
    assert inspect.tasks(inspect.TaskQuery(pool="mail")).rows == ()


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", [("--pool", "default"), ()])
def test_it_refuses_while_workers_live_unless_it_is_forced(desk: Desk, arguments: tuple[str, ...]) -> None:
    handle = tasks.add.push(1)
    beat(desk, "w1")
    beat(desk, "w2")
    with pytest.raises(CommandError, match=r"not flushed: 2 live workers serve it \(w1, w2\)\. Stop"):
        flush(*arguments, "--yes")
    with pytest.raises(PoolInUse):
        control.flush("default")
    assert handle.state == "pending"
    flush(*arguments, "--yes", "--force")
    assert handle.state is None


@pytest.mark.django_db
def test_of_several_pools_none_is_emptied_when_one_is_in_use(desk: Desk) -> None:
    handle = tasks.add.using(pool="mail").push(1)
    beat(desk, "w1")
    with pytest.raises(CommandError, match="The pool default is not flushed"):
        flush("--yes")
    assert handle.state == "pending"


@pytest.mark.django_db
def test_a_worker_that_loses_its_tasks_goes_on(desk: Desk) -> None:
    tasks.add.push(1)
    lease = desk.lease()
    control.flush("default", force=True)
    assert desk.settle(lease) in ("GONE", "STALE")
    handle = tasks.add.push(2)
    run_worker()
    assert handle.result(timeout=0) == 3
    desk.check()


@pytest.mark.django_db
def test_a_pool_that_is_not_there_is_an_error(namespace: str) -> None:
    tasks.add.push(1)
    with pytest.raises(CommandError, match=r"There is no pool 'defalt'; did you mean 'default'\?"):
        flush("--pool", "defalt", "--yes")


@pytest.mark.django_db
def test_it_is_in_the_audit_log_before_anything_is_deleted(namespace: str) -> None:
    from console.models import AuditEntry

    tasks.add.using(pool="mail").push_many([(1,)] * 3)
    flush("--pool", "mail", "--yes")
    (entry,) = AuditEntry.objects.filter(verb="flush")
    assert (entry.target, entry.outcome, entry.before) == ("mail", "done", {"tasks": {"pending": 3}})
    assert entry.changed > 3
    assert "(command line)" in entry.actor_name


def test_nothing_is_deleted_that_cannot_be_recorded(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from queueops.management.queue import audit

    def broken(act: object) -> Any:
        raise OSError("the log is full")

    monkeypatch.setattr(audit, "_keepers", [broken])
    handle = tasks.add.push(1)
    with pytest.raises(OSError, match="the log is full"):
        flush("--yes")
    assert handle.state == "pending"
