"""The option `follow_up`: with a worker and eagerly, of tasks and of composites; and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Chain, Retry, chain, current, group, task
from queueops.errors import BadArguments, BadOption, PayloadTooLarge
from queueops.results.handle import TaskHandle
from queueops.testing import eager, run_worker
from tests.composites.work import Count, Squares

pytestmark = pytest.mark.usefixtures("namespace")
told: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_told() -> None:
    """Nothing was told before a test."""
    told.clear()


@task()
def tell(value: Any, *more: Any) -> None:
    """Note what it got, and who it comes from."""
    told.append((value, *more))


@task(retries=0)
def half(number: int) -> int:
    """Half of it."""
    return number // 2


@task(retries=1, retry=Retry(delay=0), follow_up={"end": tell.si("always"), "failure": [tell.s("a"), tell.s("b")]})
def try_twice() -> None:
    """Fail twice."""
    raise ValueError("no")


class Halves(Chain):
    """One half of another."""

    def init(self, number: int):
        """Two parts."""
        return [half.s(number), half.s()]


@pytest.fixture(params=["worker", "eager"])
def run(request: pytest.FixtureRequest):
    """Run what was pushed, or nothing if it has run at its push."""
    if request.param == "worker":
        yield run_worker
        return
    with eager():
        yield lambda: None


def test_a_result_is_the_first_argument_of_what_follows(run):
    half.using(follow_up={"success": tell.s("half"), "failure": tell.s("no half")}).push(6)
    run()
    assert told == [(3, "half")]


def test_a_failure_tells_its_error_after_the_last_attempt(run):
    handle = try_twice.push()
    run()
    assert (told[0], len(told)) == (("always",), 3)
    story, which = told[1]
    assert (which, told[2][1], story["task"], story["outcome"]) == ("a", "b", handle.id, "failure")
    assert (story["name"], story["error"]["type"], story["error"]["message"]) == (try_twice.name, "ValueError", "no")


def test_a_cancelled_task_is_followed(run):
    @task(name="tests.cancels_itself", follow_up={"cancelled": tell.s(), "success": tell.si("succeeded")})
    def cancels_itself() -> None:
        TaskHandle(current().id).cancel("enough")
        current().check_cancelled()

    cancels_itself.push()
    run()
    assert [(story["outcome"], story["error"]) for (story,) in told] == [("cancelled", None)]


def test_what_follows_is_followed(run):
    second = tell.using(follow_up={"success": tell.si("third")}).si("second")
    half.using(follow_up={"success": second}).push(2)
    run()
    assert told == [("second",), ("third",)]


@pytest.mark.parametrize(
    ("push", "value"),
    [
        (lambda option: chain(half.s(8), half.s()).using(follow_up=option).push(), 2),
        (lambda option: group(half.s(8), half.s(4)).using(follow_up=option).push(), [4, 2]),
        (lambda option: Halves.using(follow_up=option).push(8), 2),
        (lambda option: Squares.using(follow_up=option).push(4), 14),
        (lambda option: Count.using(follow_up=option).push(3), None),
        (lambda option: chain(half.s(8), half.using(follow_up=option).s(), half.s()).push(), 2),
    ],
    ids=["chain", "group", "template", "mapreduce", "iterator", "part"],
)
def test_every_kind_of_task_is_followed(run, push, value):
    push({"success": tell.s(), "failure": tell.si("failed")})
    run()
    assert told == [(value,)]


def test_a_class_follows(run):
    half.using(follow_up={"success": Squares.si(3)}).push(2)
    half.using(follow_up={"success": Count.using(follow_up={"success": tell.si("counted")}).si(2)}).push(2)
    run()
    assert told == [("counted",)]


def test_it_has_the_root_and_the_metadata_of_what_it_follows(run):
    found = []

    @task(name="tests.looks")
    def looks() -> None:
        found.append((current().root, current().meta))

    handle = half.using(meta={"who": "me"}, follow_up={"success": looks.si()}).push(2)
    run()
    assert found == [(handle.id, {"who": "me"})]


REFUSED = {
    "not a mapping": (tell.s(1), "outcomes and calls"),
    "another outcome": ({"done": tell.s()}, "one of success, failure, cancelled, crashed, discarded and end"),
    "a task": ({"success": tell}, "calls of single tasks"),
    "a chain": ({"success": chain(tell.s(1), tell.s())}, "calls of single tasks"),
    "a text": ({"success": "tell"}, "calls of single tasks"),
    "too many": ({"success": [tell.s()] * 21}, "at most 20 calls"),
}


@pytest.mark.parametrize("value", REFUSED, ids=str)
def test_what_can_not_follow_is_refused_when_it_is_given(value):
    given, expected = REFUSED[value]
    with pytest.raises(BadOption, match=expected):
        half.using(follow_up=given)


def test_arguments_of_what_follows_are_checked_at_the_push():
    with pytest.raises(BadArguments, match=r"Use \.si\(\) to leave it out"):
        half.using(follow_up={"success": half.s(2)}).push(1)
    with pytest.raises(PayloadTooLarge, match="follow-ups"):
        half.using(follow_up={"success": [tell.s("x" * 700_000)] * 2}).push(1)


def test_none_takes_it_away(run):
    try_twice.using(follow_up=None).push()
    run()
    assert told == []
