"""Tasks as their users push them."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from queueops import task
from queueops.errors import (
    BadArguments,
    BadId,
    BadOption,
    DuplicateName,
    IdInUse,
    NotEncodable,
    PayloadTooLarge,
    StoreFull,
    UnknownOption,
    UnknownTask,
)
from queueops.errors.tasks import BadTask
from queueops.model.retry import Retry
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.tasks.pipelined_push import BATCH
from queueops.testing import run_worker
from tests.support import tasks_for_tests as tasks
from tests.support.for_each import for_each


def record(handle):
    return get_broker().record(handle.pool, handle.id)


def test_a_call_runs_here_and_now():
    assert tasks.add(1, b=2) == 3
    assert asyncio.run(tasks.add_later(1)) == 2
    assert list(tasks.count_to(3)) == [0, 1, 2]
    assert tasks.with_session() == "session"
    assert tasks.with_session(session="mine") == "mine"
    assert tasks.add.__doc__ == "Add two numbers."


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("add", (1, 2), 3),
        ("add_later", (1, 2), 3),
        ("count_to", (3,), [0, 1, 2]),
        ("sum_up_to", (4,), 6),
        ("count_later", (3,), [0, 1, 2]),
        ("fail_for_good", (), None),
    ],
)
def test_every_sort_of_function_is_a_task(namespace, name, args, result):
    handle = getattr(tasks, name).push(*args)
    assert (handle.word, handle.state) == ("OK", State.PENDING)
    run_worker()
    if result is None:
        assert handle.state is State.FAILED
    else:
        assert handle.result(1) == result


def test_a_generator_shows_its_progress(namespace):
    handle = tasks.count_to.push(5)
    run_worker()
    assert handle.progress.done == 5


def test_the_name_is_the_module_and_the_function():
    assert tasks.add.name == "tests.support.tasks_for_tests.add"

    @task
    def local(): ...

    assert local.name == f"{__name__}.test_the_name_is_the_module_and_the_function.local"
    registry.unregister("task", local.name)


def test_two_tasks_of_one_name_are_refused_with_both_places():
    with pytest.raises(DuplicateName) as caught:

        @task(name="tests.support.tasks_for_tests.add")
        def other(): ...

    assert "tasks_for_tests.py:" in caught.value.first
    assert "test_task_api.py:" in caught.value.second


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(UnknownTask, match=r"did you mean 'tests.support.tasks_for_tests.add'"):
        registry.get("task", "tests.support.tasks_for_tests.ad")


@pytest.mark.parametrize(
    ("args", "kwargs", "error"),
    [
        ((), {}, BadArguments),
        (("x",), {}, BadArguments),
        ((1,), {"c": 2}, BadArguments),
        ((User(pk=1),), {}, NotEncodable),
        ((10**2_000_000,), {}, Exception),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_pushed(namespace, redis_client, args, kwargs, error):
    with pytest.raises(error):
        tasks.add.push(*args, **kwargs)
    assert redis_client.keys(f"*{namespace}*:task:*") == []


def test_too_large_arguments_are_refused(namespace):
    with pytest.raises(PayloadTooLarge):
        tasks.fail.push("x" * 2_000_000)


def test_options_go_into_the_record(namespace):
    bound = tasks.add.using(
        priority=10,
        pool="mail",
        lane="tenant-7",
        id="x",
        tags=["a", "b"],
        retries=5,
        retry=Retry(1),
        timeout=1.5,
        keep=60,
    )
    stored = record(bound.push(42))
    assert (stored.priority, stored.pool, stored.lane, stored.id) == (10, "mail", "tenant-7", "x")
    assert (stored.tags, stored.retries, stored.timeout, stored.keep) == (("a", "b"), 5, 1500, 60_000)
    assert stored.retry == Retry(1).text()
    plain = record(tasks.add.push(42))
    assert (plain.priority, plain.pool, plain.lane, plain.retries, plain.retry) == (0, "default", "default", 2, "")


def test_a_pools_settings_are_defaults(namespace, settings):
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"mail": {"timeout": 7, "retries": 9}}}
    stored = record(tasks.add.using(pool="mail").push(1))
    assert (stored.timeout, stored.retries) == (7000, 9)
    stored = record(tasks.add.using(pool="mail", timeout=None, retries=0).push(1))
    assert (stored.timeout, stored.retries) == (None, 0)


@for_each(
    ("options", "error"),
    [
        ({"priority": 101}, BadOption),
        ({"priority": True}, BadOption),
        ({"retries": -1}, BadOption),
        ({"retry": 60}, BadOption),
        ({"timeout": 0}, BadOption),
        ({"tags": "abc"}, BadOption),
        ({"tags": ["a,b"]}, BadId),
        ({"id": "a b"}, BadId),
        ({"id": ""}, BadId),
        ({"lane": "#"}, BadId),
        ({"on_conflict": "overwrite"}, BadOption),
        ({"durable": 1}, BadOption),
        ({"delay": dt.datetime(2026, 1, 1)}, BadOption),  # noqa: DTZ001
        ({"delay": float("nan")}, BadOption),
        ({"delay": -1}, BadOption),
    ],
)
def test_wrong_options_are_refused(options, error):
    with pytest.raises(error):
        tasks.add.using(**options)


@for_each(
    ("options", "message"),
    [
        ({"lane": "#"}, "'#' is not a valid name of a lane: use a text of 1 to 100 letters"),
        ({"pool": "p" * 101}, "is not a valid name of a pool: use a text of 1 to 100 letters"),
        ({"tags": [""]}, "'' is not a valid tag: use a text of 1 to 100 letters"),
        ({"id": "a b"}, "'a b' is not a valid id of a task: use a text of 1 to 200 letters"),
    ],
)
def test_a_wrong_name_is_called_what_it_is_with_its_own_limit(options, message):
    with pytest.raises(BadId, match=message):
        tasks.add.using(**options)


def test_a_lambda_without_a_name_is_refused_with_what_to_write():
    with pytest.raises(BadTask, match="A lambda has no name that a worker finds"):
        task(lambda: None)
    named = task(name="lambda.named")(lambda: None)
    assert named.name == "lambda.named"
    registry.unregister("task", named.name)


def test_exceptions_worth_a_retry_are_classes():
    with pytest.raises(BadOption, match="must be exception classes"):

        @task(retry_on=["OSError"])
        def local(): ...


@for_each("value", [5, None, "OSError", (OSError, 5)])
def test_what_is_no_exception_class_is_refused_by_our_own_error(value):
    with pytest.raises(BadOption, match="must be exception classes"):
        task(retry_on=value)(len_of)


@pytest.mark.parametrize("option", [{"id": "x"}])
def test_what_belongs_to_one_push_is_no_option_of_a_task(option):
    (name,) = option
    with pytest.raises(BadOption, match=rf"given for one push, as using\({name}=...\)"):
        task(**option)(len_of)
    with pytest.raises(UnknownOption, match="A task has no option 'uniqe'; did you mean 'unique'"):
        task(uniqe="x")(len_of)


@for_each("template", ["{missing}", "{0}", "{}", "{text", "{missing.text}", "a}"])
def test_a_template_that_no_call_fills_in_is_refused_where_it_stands(template):
    with pytest.raises(BadOption, match=r"The option unique is .* a template"):
        task(unique=template)(len_of)


def len_of(text): ...


def test_an_unknown_option_is_told_with_the_nearest():
    with pytest.raises(UnknownOption, match="A task has no option 'piority'; did you mean 'priority'"):
        tasks.add.using(piority=1)
    with pytest.raises(UnknownOption, match="did you mean 'retry'"):

        @task(retrry=1)
        def local(): ...


@pytest.mark.parametrize(
    "delay", [60, dt.timedelta(minutes=1), lambda: dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)]
)
def test_postpone_takes_seconds_durations_and_moments(namespace, delay):
    handle = tasks.add.postpone(delay() if callable(delay) else delay, 1, b=2)
    stored = record(handle)
    assert stored.state == State.POSTPONED
    assert abs(stored.due - stored.created - 60_000) < 5_000
    assert handle.run_now()
    run_worker()
    assert handle.result(1) == 3


def test_a_moment_that_is_past_means_at_once(namespace):
    assert tasks.add.postpone(dt.datetime(2020, 1, 1, tzinfo=dt.UTC), 1).state is State.PENDING


def test_many_calls_are_pushed_in_batches_and_in_order(namespace):
    def calls():
        for n in range(BATCH + 2):
            yield (n,) if n % 2 else ((n,), {"b": 0})

    handles = tasks.add.push_many(calls())
    assert len({handle.id for handle in handles}) == BATCH + 2
    run_worker()
    assert [handle.result(1) for handle in handles[-2:]] == [BATCH, BATCH + 2]
    assert tasks.add.push_many([]) == []


def test_a_wrong_call_among_many_says_how_far_it_came(namespace):
    with pytest.raises(BadArguments) as caught:
        tasks.add.push_many([(1,)] * BATCH + [("x",)])
    assert caught.value.__notes__ == [
        f"Call number {BATCH + 1} is wrong; the first is number 1.",
        f"{BATCH} calls before the batch with the error have been pushed.",
    ]
    with pytest.raises(BadArguments, match=r"each call is a tuple of arguments, such as \(5,\), and not 5"):
        tasks.add.push_many([5])


def test_a_full_store_says_of_many_calls_how_far_they_came(namespace):
    client = get_broker().client
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreFull) as caught:
            tasks.add.push_many([(1,)] * (2 * BATCH + 1))
    finally:
        client.config_set("maxmemory", 0)
    assert caught.value.__notes__ == [
        "0 calls before the batch with the error have been pushed.",
        f"The {BATCH} calls after that batch may have been pushed, too.",
    ]


def test_a_unique_task_is_there_once(namespace):
    first, second = tasks.mail.push(42), tasks.mail.push(user_id=42, template="bye")
    assert first == second
    assert (first.id, first.word, second.word) == ("mail:42", "OK", "EXISTS")
    run_worker()
    assert first.result(1) == "welcome 42"
    assert tasks.mail.push(42, "again").word == "OK"


def test_a_template_is_filled_with_the_arguments_and_defaults(namespace):
    assert tasks.report.push(2026).id == "report:2026:1"
    assert tasks.report.push(2026, month=2).id == "report:2026:2"


def test_a_bad_unique_id_is_refused(namespace):
    @task(unique=lambda text: text)
    def bad(text): ...

    @task(unique="{text.missing}")
    def worse(text): ...

    with pytest.raises(BadId):
        bad.push(7)
    with pytest.raises(BadOption, match="a template of text"):
        worse.push("a")
    registry.unregister("task", bad.name)
    registry.unregister("task", worse.name)


def test_conflict_policies_are_the_callers_choice(namespace):
    tasks.add.using(id="x").push(1)
    with pytest.raises(IdInUse, match="A task 'x' already exists in the state 'pending'"):
        tasks.add.using(id="x", on_conflict="reject").push(2)
    assert tasks.add.using(id="x", on_conflict="replace").push(3).word == "REPLACED"
    assert tasks.add.using(id="x", on_conflict="run_after").push(4).word == "AFTER"


@pytest.mark.django_db(transaction=True)
def test_push_on_commit_waits_for_the_commit(namespace):
    with transaction.atomic():
        handle = tasks.add.push_on_commit(1)
        assert handle.status() is None
    assert handle.state is State.PENDING
    with transaction.atomic():
        lost = tasks.add.push_on_commit(1)
        transaction.set_rollback(True)
    assert lost.status() is None


def test_arguments_of_push_on_commit_are_checked_at_once():
    with pytest.raises(BadArguments):
        tasks.add.push_on_commit()


def test_async_code_pushes_and_waits_without_blocking(namespace):
    async def main():
        one, two = await tasks.add.apush(1), await tasks.add.apostpone(0.01, 2)
        waits = asyncio.gather(one.aresult(5), two.aresult(5))
        while not waits.done():
            await asyncio.to_thread(run_worker)
            await asyncio.sleep(0.01)
        return await waits

    assert asyncio.run(main()) == [2, 3]


def test_a_child_has_its_parent_as_root(namespace):
    handle = tasks.parent.push(1)
    run_worker()
    child = get_broker().record("default", handle.result(1))
    assert (child.root, child.state) == (handle.id, State.SUCCEEDED)


def test_a_task_may_cancel_itself(namespace):
    handle = tasks.give_up.push("not wanted")
    run_worker()
    assert handle.status().reason == "not wanted"
    assert handle.state is State.CANCELLED


def test_a_task_may_restart_itself(namespace):
    handle = tasks.come_again.push()
    run_worker()
    handle.run_now()
    run_worker()
    assert handle.result(1) == 2


def test_a_failed_dependency_user_leaves_nothing_open(namespace):
    tasks.opened.clear()
    good, bad = tasks.with_session.push(), tasks.with_session.push(fail=True)
    run_worker()
    assert (good.state, bad.state) == (State.SUCCEEDED, State.FAILED)
    assert tasks.opened == ["open", "used", "closed"] * 2


def test_modules_of_the_package_are_there_once_it_is_imported() -> None:
    code = "import queueops as q; print(q.schedules.create, q.inspect.tasks, q.control.retry)"
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
