"""`once`: the effects of a task in the database happen once for each id."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group

from queueops import MapReduce, task
from queueops.contrib.once import forget, once
from queueops.contrib.once.models import DoneTask
from queueops.errors import BadOption
from queueops.redis.broker import close_brokers
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


def test_an_encrypted_result_is_read_by_a_process_that_writes_in_clear(book: Any, settings: Any) -> None:
    first, key = {}, Fernet.generate_key().decode()
    for keys in ([key], [None, key]):
        close_brokers()
        settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": keys}
        handle = book.using(id="mine").push("a")
        run_worker()
        first = first or handle.result(timeout=0)
        assert handle.result(timeout=0) == first
        assert "group" not in DoneTask.objects.get().result


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


def test_a_task_has_one_mark_and_a_second_effect_is_refused_instead_of_skipped() -> None:
    @once
    def made(name: str) -> int:
        return Group.objects.create(name=f"once {name}").pk

    @once
    def both(name: str) -> list[int]:
        return [made(f"{name} 1"), made(f"{name} 2")]

    @task(name="once.outer", retries=0)
    def outer(name: str, times: int) -> list[list[int]]:
        return [both(name) for _ in range(times)]

    try:
        good = outer.push("good", 1)
        bad = outer.push("bad", 2)
        run_worker()
    finally:
        registry.unregister("task", "once.outer")
    assert good.state == "succeeded"
    names = {f"once {name} {number}" for name in ("good", "bad") for number in (1, 2)}
    assert set(made_groups().values_list("name", flat=True)) == names
    assert "called once by a task, which has one mark" in bad.status().error


class Halves(MapReduce):
    """Each method has a mark."""

    name = "once.halves"

    @once
    def map(self, *numbers: int) -> list[int]:
        """As they are."""
        return list(numbers)

    @once
    def process(self, chunk: int) -> int:
        """A half."""
        return chunk // 2

    @once
    def reduce(self, results: Any) -> int:
        """The sum."""
        return sum(results)


def test_the_methods_of_a_map_reduce_have_marks_of_their_own() -> None:
    handle = Halves.push(2, 4, 6)
    run_worker()
    assert handle.result(timeout=0) == 6
    assert DoneTask.objects.filter(key__startswith=f"default/{handle.id}").count() == 5
