"""`once`: the effects of a task in the database happen once for each id."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group

from queueops import task
from queueops.contrib.once import forget, once
from queueops.contrib.once.models import DoneTask
from queueops.errors import BadOption
from queueops.tasks import registry
from queueops.testing import run_worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("namespace")]


def made_groups() -> Any:
    return Group.objects.filter(name__startswith="once ")


@pytest.fixture
def book() -> Iterator[Any]:
    """A task with an effect, which fails after its effect while `errors` has one."""
    errors: list[Exception] = []

    @task(name="once.book", retries=0)
    @once
    def made(name: str) -> dict[str, int]:
        group = Group.objects.create(name=f"once {name} {made_groups().count()}")
        if errors:
            raise errors.pop()
        return {"group": group.pk}

    made.errors = errors  # type: ignore[attr-defined]
    yield made
    registry.unregister("task", "once.book")


def test_a_task_that_runs_again_has_its_first_result_and_no_second_effect(book: Any) -> None:
    handle = book.using(id="mine").push("a")
    run_worker()
    first = handle.result(timeout=0)
    handle = book.using(id="mine").push("a")  # as a start after a worker was lost behind the commit
    run_worker()
    assert handle.state == "succeeded"
    assert handle.result(timeout=0) == first == {"group": made_groups().get().pk}
    other = book.push("a")
    run_worker()
    assert other.result(timeout=0) != first
    assert made_groups().count() == 2


def test_an_attempt_that_fails_leaves_neither_effect_nor_mark(book: Any) -> None:
    book.errors.append(ValueError("late"))
    handle = book.push("a")
    run_worker()
    assert (handle.state, made_groups().count(), DoneTask.objects.count()) == ("failed", 0, 0)
    handle.retry()
    run_worker()
    assert (handle.state, made_groups().count(), DoneTask.objects.count()) == ("succeeded", 1, 1)


def test_outside_a_task_it_is_a_transaction_without_a_mark(book: Any) -> None:
    assert book("a") == {"group": made_groups().get().pk}
    book.errors.append(ValueError("late"))
    with pytest.raises(ValueError, match="late"):
        book("b")
    assert (made_groups().count(), DoneTask.objects.count()) == (1, 0)


def test_old_marks_are_forgotten_and_async_functions_refused(book: Any) -> None:
    book.push("a")
    run_worker()
    assert forget(timedelta(days=1)) == 0
    assert forget(timedelta(0)) == 1
    with pytest.raises(BadOption, match="a plain function"):

        @once
        async def later() -> None: ...
