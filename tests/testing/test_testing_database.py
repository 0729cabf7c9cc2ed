"""Tasks that run in the database transaction of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from queueops import TaskFailed
from queueops.testing import eager, run_worker
from tests.support import tasks_for_tests as tasks

pytestmark = pytest.mark.django_db
End = Callable[[], Any]


@pytest.fixture(params=["eager", "worker"])
def end(request: pytest.FixtureRequest) -> Iterator[End]:
    """Lets end what was pushed."""
    if request.param == "worker":
        request.getfixturevalue("namespace")
        yield run_worker
        return
    with eager():
        yield lambda: None


@pytest.mark.parametrize("task", [tasks.create_user, tasks.create_user_later])
def test_a_database_error_is_the_error_of_each_attempt(end: End, task: Any) -> None:
    User.objects.create(username="ada")
    handle = task.push("ada")
    end()
    with pytest.raises(TaskFailed) as caught:
        handle.result(timeout=5)
    assert caught.value.type == "django.db.utils.IntegrityError"
    assert handle.status().attempt == 3


def test_the_test_goes_on_after_a_database_error(end: End) -> None:
    User.objects.create(username="ada")
    tasks.create_user.push("ada")
    end()
    tasks.create_user.push("bob")
    end()
    assert {user.username for user in User.objects.all()} == {"ada", "bob"}


def test_what_an_attempt_wrote_before_another_error_stays_as_with_a_worker(end: End) -> None:
    tasks.create_user.push("ada", fails=True)
    end()
    assert User.objects.count() == 3


@pytest.mark.parametrize("task", [tasks.create_user, tasks.create_user_later, tasks.create_user_durably])
def test_a_task_writes_in_the_transaction_of_the_test(end: End, task: Any) -> None:
    handle = task.push("ada")
    end()
    assert handle.result(timeout=5) == 1
