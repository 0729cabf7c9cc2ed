"""What QueueOps offers to the tests of one's own tasks."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.utils.translation import get_language

from queueops import BrokerUnavailable, TaskCancelled, TaskFailed, chain, get, group, task_failed, testing
from queueops.errors import NotEncodable, UnknownTask
from queueops.model.states import State
from queueops.redis import broker as brokers
from queueops.redis import embedded
from queueops.testing import eager, run_worker
from tests.support import tasks_for_tests as tasks

pytest_plugins = ["queueops.pytest_plugin"]


def test_eager_tasks_run_where_they_are_pushed_without_any_store(settings):
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    with eager():
        handle = tasks.add.push(1, 2)
        assert (handle.state, handle.result()) == (State.SUCCEEDED, 3)
        assert tasks.add_later.push(1).result() == 2
        assert [h.result() for h in tasks.add.push_many([(1,), (2,)])] == [2, 3]
        assert tasks.add.postpone(3600, 1).result() == 2
        assert tasks.count_to.push(3).progress.done == 3
        assert get(handle.id) == handle
        assert get("nothing") is None
        assert handle.retry()
        assert not handle.cancel()


def test_eager_tasks_fail_cancel_and_come_again_as_ever():
    with eager() as broker:
        failed = tasks.fail.push("oh")
        with pytest.raises(TaskFailed, match="ValueError: oh"):
            failed.result()
        assert broker.records["default", failed.id].attempt == 3
        with pytest.raises(TaskCancelled, match="no"):
            tasks.give_up.push("no").result()
        assert tasks.come_again.push().result() == 2
        parent = tasks.parent.push(1)
        assert get(parent.result()).result() == 2


def test_eager_still_refuses_what_is_wrong():
    with eager():
        with pytest.raises(NotEncodable):
            tasks.add.push(object())
        with pytest.raises(UnknownTask):
            brokers.get_broker().push([_unknown()])


def _unknown():
    from queueops.model.contracts import Push

    return Push(id="x", name="nobody.knows")


def test_eager_works_in_async_code():
    async def main():
        with eager():
            sync = tasks.add_later.push(1)
            return [await sync.aresult(), await (await tasks.add_later.apush(2)).aresult()]

    assert asyncio.run(main()) == [2, 3]


@pytest.mark.django_db
def test_async_tasks_see_the_transaction_of_the_test(namespace):
    User.objects.create(username="ada")
    handle = tasks.count_users.push()
    assert run_worker() == 1
    assert handle.result(timeout=5) == 1
    with eager():
        assert tasks.count_users.push().result() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("task", [tasks.count_users, tasks.count_users_plainly])
def test_pushes_of_an_async_test_see_its_transaction(task):
    async def main():
        await User.objects.acreate(username="ada")
        with eager():
            return [await (await task.apush()).aresult(), await (await chain(task.s()).apush()).aresult()]

    assert async_to_sync(main)() == [1, 1]


@pytest.mark.parametrize("task", [tasks.speak_german, tasks.speak_german_later])
def test_what_a_task_sets_for_itself_is_not_set_in_the_test(task):
    before = get_language()
    with eager():
        assert task.push().result() == "de"
    assert get_language() == before


def test_eager_sends_signals():
    seen = []

    def hear(sender, error, **_):
        seen.append((sender, str(error)))

    task_failed.connect(hear)
    with eager():
        tasks.fail.push("oh")
    task_failed.disconnect(hear)
    assert seen == [(tasks.fail, "oh")]


def test_the_worker_of_a_test_runs_what_is_there_and_what_that_pushes(namespace):
    parent = tasks.parent.push(1)
    tasks.add.using(pool="mail").push(1)
    assert run_worker(until_idle=False) == 1
    assert run_worker() == 2
    assert get(parent.result()).result() == 2
    assert run_worker() == 0


def test_a_task_without_an_end_stops_the_test(namespace):
    for _ in range(3):
        tasks.add.push(1)
    with pytest.raises(AssertionError, match="still busy after 2 starts"):
        run_worker(at_most=2)


def test_the_fixtures_give_a_namespace_and_a_worker(store, queueops, queueops_worker, redis_client):
    handle = tasks.add.push(1)
    assert queueops_worker() == 1
    assert handle.result() == 2
    assert redis_client.keys(f"{{{queueops}:*")


def test_a_namespace_begins_empty_and_leaves_nothing(namespace, redis_client, settings):
    outside = tasks.add.push(1)
    with testing.namespace() as name:
        assert settings.QUEUEOPS["NAMESPACE"] == name
        tasks.add.push(2)
        assert run_worker() == 1
        assert redis_client.keys(f"*{name}*")
    assert settings.QUEUEOPS["NAMESPACE"] != name
    assert not redis_client.keys(f"*{name}*")
    assert outside.state == State.PENDING


def test_a_handle_of_an_eager_task_answers_after_the_block(settings):
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    with eager():
        added, failed = tasks.add.push(1, 2), tasks.fail.push("oh")
        both = group(tasks.add.s(1), tasks.add.s(2)).push()
        found = get(added.id)
    assert (added.result(), both.result(timeout=5), found.result()) == (3, [2, 3], 3)
    assert asyncio.run(added.aresult()) == 3
    assert (failed.state, failed.status().attempt) == (State.FAILED, 3)
    with pytest.raises(TaskFailed, match="ValueError: oh"):
        failed.result()


def test_a_retry_of_an_eager_task_after_the_block_is_eager_too(settings):
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    with eager() as broker:
        parent = tasks.parent.push(1)
    first = parent.result()
    assert parent.retry()
    assert parent.result() != first
    assert {record.id for record in broker.records.values()} >= {first, parent.result()}


def test_a_handle_of_an_eager_task_is_pickled_without_its_store(namespace):
    with eager():
        handle = tasks.add.push(1)
    copied = pickle.loads(pickle.dumps(handle))
    assert (copied, copied.word, copied.uid) == (handle, handle.word, handle.uid)
    assert copied.state is None


def test_a_namespace_without_a_store_fails_once_and_with_our_own_error(settings):
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    entered = []
    with pytest.raises(BrokerUnavailable, match=r"127\.0\.0\.1:1"), testing.namespace():
        entered.append(True)
    assert not entered


def test_a_store_that_goes_during_a_test_does_not_hide_its_error(empty_directory):
    def run():
        with testing.namespace(embedded.start(empty_directory).url):
            embedded.stop(empty_directory)
            raise AssertionError("of the test")

    with pytest.raises(AssertionError, match="of the test") as caught:
        run()
    (note,) = caught.value.__notes__
    assert "could not be removed: The store at unix:" in note


def test_a_store_that_goes_during_a_test_is_told_with_our_own_error(empty_directory):
    url = embedded.start(empty_directory).url
    with pytest.raises(BrokerUnavailable), testing.namespace(url):
        embedded.stop(empty_directory)


def test_the_fixture_is_the_name_of_the_namespace_and_has_what_the_package_has(store, queueops, queueops_namespace):
    assert isinstance(queueops, str)
    assert queueops_namespace == queueops
    assert django_settings.QUEUEOPS["NAMESPACE"] == queueops
    assert queueops.get("nothing") is None
    assert queueops.TaskFailed is TaskFailed
    handle = queueops.TaskHandle("gone")
    with pytest.raises(queueops.TaskGone):
        handle.result(timeout=0)
    with pytest.raises(AttributeError, match="module 'queueops' has no attribute 'bogus'"):
        _ = queueops.bogus
