"""What a task may bring along: middlewares of its own, an encoder of its result, a function of its yields."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterable
from typing import Any

import pytest

from queueops import Iterator, MapReduce, current, task, task_succeeded
from queueops.checks import check_environment
from queueops.errors import BadOption, TaskFailed
from queueops.tasks import registry
from queueops.testing import eager, run_worker
from tests.support.middlewares_for_tests import AsyncDoubling, Unused

seen: list[str] = []


@pytest.fixture(autouse=True)
def nothing_seen():
    seen.clear()


@pytest.fixture(autouse=True)
def own_tasks():
    before = set(registry.handlers())
    yield
    for kind, name in set(registry.handlers()) - before:
        registry.unregister(kind, name)


def plain(): ...


def noting(word: str) -> Any:
    """A middleware that notes when it is built, entered and left."""

    def factory(get_result):
        seen.append(f"{word} built")

        def call(run):
            seen.append(f"{word} in")
            try:
                return get_result(run)
            finally:
                seen.append(f"{word} out")

        return call

    return factory


inner, outer, everywhere = noting("inner"), noting("outer"), noting("everywhere")


def test_its_own_middlewares_are_within_those_of_the_settings(settings):
    settings.QUEUEOPS = settings.QUEUEOPS | {"MIDDLEWARE": [f"{__name__}.everywhere"]}

    @task(name="hooks.mine", middleware=[f"{__name__}.outer", Unused, inner])
    def mine():
        seen.append("body")

    @task(name="hooks.other")
    def other():
        seen.append("other body")

    with eager():
        mine.push()
        first = seen.copy()
        seen.clear()
        other.push()
        mine.push()
    each = ["everywhere in", "outer in", "inner in", "body", "inner out", "outer out", "everywhere out"]
    assert [word for word in first if "built" not in word] == each
    assert sorted(word for word in first if "built" in word) == ["everywhere built", "inner built", "outer built"]
    assert seen == ["everywhere in", "other body", "everywhere out", *each]


@pytest.mark.parametrize("is_async", [True, False])
def test_its_own_middlewares_are_of_either_sort(namespace, is_async):
    def plain():
        return 3

    async def later():
        return 3

    one = task(name="hooks.one", middleware=[AsyncDoubling, inner])(later if is_async else plain)
    handle = one.push()
    run_worker()
    assert handle.result(timeout=0) == 6
    assert seen == ["inner built", "inner in", "inner out"]


def test_classes_have_their_own_middlewares_around_each_step(namespace):
    class Letters(MapReduce):
        """Counts letters."""

        middleware = (inner,)

        def map(self):
            yield from "ab"

        def process(self, chunk):
            return 1

        def reduce(self, results):
            return sum(results)

    class Later(Letters):
        """The same on the loop."""

        async def process(self, chunk):
            return 1

    class Emit(Iterator):
        """Emits nothing."""

        middleware = [f"{__name__}.outer"]

        def iterate(self, state):
            return None

    handles = [Letters.push(), Later.push(), Emit.push()]
    run_worker()
    assert [handle.result(timeout=0) for handle in handles] == [2, 2, None]
    assert seen.count("inner in") == 8
    assert seen.count("outer in") == 1


@pytest.mark.parametrize("wrong", ["app.middleware.One", [5], [None], 5, ["nodot"], [""]])
def test_middlewares_are_paths_or_factories(wrong):
    with pytest.raises(BadOption, match=r"The option middleware is .*, but it must be a list of dotted paths"):
        task(name="hooks.wrong", middleware=wrong)(plain)


def test_a_path_that_leads_nowhere_is_found_by_the_checks():
    task(name="hooks.lost", middleware=["shop.middleware.Lost"])(plain)
    (found,) = [message for message in check_environment() if "hooks.lost" in message.msg]
    assert "The middleware 'shop.middleware.Lost' of the task hooks.lost" in found.msg


class Table:
    """What JSON does not have."""

    rows = ((1, 2), (3, 4))


@pytest.mark.parametrize("is_async", [True, False])
def test_the_encoder_makes_what_is_stored_of_what_is_returned(namespace, is_async):
    def plain():
        return Table()

    async def later():
        return Table()

    table = task(name="hooks.table", encoder=lambda table: [list(row) for row in table.rows])
    one = table(later if is_async else plain)
    handle = one.push()
    run_worker()
    assert handle.result(timeout=0) == [[1, 2], [3, 4]]
    assert isinstance(asyncio.run(one()) if is_async else one(), Table)


def test_what_is_encoded_or_went_through_on_yield_is_no_longer_of_the_annotated_type(namespace):
    @task(name="hooks.day", encoder=str)
    def day() -> dt.date:
        return dt.date(2026, 1, 2)

    @task(name="hooks.days", on_yield=lambda day: day.year)
    def days() -> Iterable[dt.date]:
        yield dt.date(2026, 1, 2)

    handles = [day.push(), days.push()]
    run_worker()
    assert [handle.result(timeout=0) for handle in handles] == ["2026-01-02", [2026]]


def test_a_text_of_the_encoder_is_read_as_that_text(namespace):
    one = task(name="hooks.text", encoder="<{}>".format)(lambda: 7)
    handle = one.push()
    run_worker()
    assert handle.result(timeout=0) == "<7>"


def test_the_encoder_comes_after_the_middlewares_and_before_the_signal(namespace):
    one = task(name="hooks.order", middleware=[AsyncDoubling], encoder=str)(lambda: 4)
    told = []
    task_succeeded.connect(lambda result, **_: told.append(result), sender=one, weak=False, dispatch_uid="hooks")
    try:
        handle = one.push()
        run_worker()
    finally:
        task_succeeded.disconnect(sender=one, dispatch_uid="hooks")
    assert (handle.result(timeout=0), told) == ("8", ["8"])


@pytest.mark.parametrize("is_async", [True, False])
def test_an_encoder_that_raises_fails_the_task_once_and_says_so(namespace, is_async):
    def at_once():
        seen.append("ran")
        return Table()

    async def later():
        return at_once()

    handle = task(name="hooks.broken", retries=3, encoder=lambda table: table.nothing)(
        later if is_async else at_once
    ).push()
    run_worker()
    message = (
        r"The result of hooks\.broken cannot be stored: it is a Table\. Its encoder raised AttributeError: 'Table'"
    )
    with pytest.raises(TaskFailed, match=message) as caught:
        handle.result(timeout=0)
    assert "table.nothing" in caught.value.traceback
    assert seen == ["ran"]


def test_what_the_encoder_gives_may_still_be_no_json(namespace):
    @task(name="hooks.worse", encoder=lambda table: table)
    def worse():
        return Table()

    handle = worse.push()
    run_worker()
    with pytest.raises(TaskFailed, match=r"The result of hooks\.worse cannot be stored: it is a Table"):
        handle.result(timeout=0)


async def encode_later(value): ...


@pytest.mark.parametrize("wrong", ["json", 5, encode_later])
def test_an_encoder_is_a_plain_function(wrong):
    with pytest.raises(BadOption, match=r"The option encoder is .*, but it must be a plain function of the result"):
        task(name="hooks.wrong", encoder=wrong)(plain)


async def thrice_later(value):
    await asyncio.sleep(0)
    return value * 3


def count(n):
    yield from range(n)


async def count_later(n):
    for number in range(n):
        yield number


@pytest.mark.parametrize(
    ("function", "on_yield"),
    [(count, lambda value: value * 3), (count_later, lambda value: value * 3), (count_later, thrice_later)],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_each_yield_goes_through_on_yield(namespace, function, on_yield, at_once):
    made = task(name="hooks.count", on_yield=on_yield)(function)
    if at_once:
        with eager():
            handle = made.push(3)
            result, progress = handle.result(), handle.progress
    else:
        handle = made.push(3)
        run_worker()
        result, progress = handle.result(timeout=0), handle.progress
    assert (result, progress.done) == ([0, 3, 6], 3)


def test_on_yield_runs_in_the_task_and_leaves_what_is_returned(namespace):
    def note(value):
        seen.append(f"{value} of {current().id}")

    @task(name="hooks.total", on_yield=note)
    def total(n):
        yield from range(n)
        return "total"

    handle = total.using(id="x").push(2)
    run_worker()
    assert (handle.result(timeout=0), seen) == ("total", ["0 of x", "1 of x"])


def test_an_error_of_on_yield_is_the_tasks_own(namespace):
    def refuse(value):
        raise ValueError(f"not {value}")

    @task(name="hooks.refused", retries=0, on_yield=refuse)
    def refused():
        try:
            yield 1
        finally:
            seen.append("closed")

    handle = refused.push()
    run_worker()
    with pytest.raises(TaskFailed, match="not 1"):
        handle.result(timeout=0)
    assert seen == ["closed"]


@pytest.mark.parametrize(
    ("function", "on_yield", "expected"),
    [
        (plain, str, "left out: the function yields nothing"),
        (encode_later, str, "left out: the function yields nothing"),
        (count, "text", "a function of what is yielded"),
        (count, thrice_later, "a plain function: only an async generator can wait for an async one"),
    ],
)
def test_on_yield_is_for_generators(function, on_yield, expected):
    with pytest.raises(BadOption, match=f"The option on_yield is .*, but it must be {expected}"):
        task(name="hooks.wrong", on_yield=on_yield)(function)


@pytest.mark.parametrize("option", ["middleware", "encoder", "on_yield"])
def test_they_are_no_options_of_a_push(option):
    one = task(name="hooks.plain")(plain)
    with pytest.raises(Exception, match=f"A task has no option '{option}'. Write @task\\({option}="):
        one.using(**{option: str})
