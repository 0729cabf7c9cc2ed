"""The error of a decision is as if the task had raised it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from queueops import Permanent, RetryLater, task
from queueops.model.task_error import StoredError, error_of
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.tasks.decisions import Decision
from queueops.testing import run_worker


def look_up(number: int) -> None:
    """Raise what a task hears of."""
    raise LookupError(f"no article {number}")


def consult(how: str) -> None:
    """Raise an error of another function, plainly or in a decision."""
    try:
        look_up(7)
    except LookupError as error:
        match how:
            case "plain":
                raise
            case "permanent":
                raise Permanent(error)  # noqa: B904  also without it, the error is what is stored
            case "permanent from":
                raise Permanent(error) from error
            case "later":
                raise RetryLater(3600, error)  # noqa: B904
            case "later from":
                raise RetryLater(3600) from error


@task(retries=0)
def ask(how: str) -> None:
    """Fail with the error of another function."""
    consult(how)


@task(retries=0)
async def ask_later(how: str) -> None:
    """The same, on the loop."""
    await asyncio.sleep(0)
    consult(how)


def ended(pushed: TaskHandle[Any]) -> StoredError:
    """The stored error of a task that has failed."""
    run_worker()
    record = get_broker().record(pushed.pool, pushed.id)
    assert record is not None
    return error_of(record)


def caught(raising: Callable[[], None]) -> Decision:
    try:
        raising()
    except Decision as decision:
        return decision
    raise AssertionError("no decision was raised")


def text_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("func", [ask, ask_later])
@pytest.mark.parametrize("how", ["permanent", "permanent from", "later", "later from"])
def test_the_stored_error_is_that_of_the_error_raised_plainly(namespace: str, func: Any, how: str) -> None:
    """With its frames from the task on, though the decision was made in a function that the task called."""
    plain, decided = ended(func.push("plain")), ended(func.push(how))
    assert plain.type == "LookupError"
    assert [line for line in ("in ask", "in consult", "in look_up") if line not in plain.traceback] == []
    assert decided == plain


def test_an_error_that_was_not_raised_has_the_place_and_the_causes_of_the_decision() -> None:
    def because() -> None:
        try:
            look_up(7)
        except LookupError as error:
            raise Permanent(ValueError("refused")) from error

    def meanwhile() -> None:
        try:
            look_up(7)
        except LookupError:
            raise Permanent(ValueError("refused"))  # noqa: B904

    def alone() -> None:
        try:
            look_up(7)
        except LookupError:
            raise Permanent(ValueError("refused")) from None

    reason, other, nothing = (text_of(caught(each).as_raised()) for each in (because, meanwhile, alone))
    for text, name in ((reason, "because"), (other, "meanwhile"), (nothing, "alone")):
        assert text.endswith("ValueError: refused\n")
        assert f", in {name}\n" in text
    assert "LookupError: no article 7\n\nThe above exception was the direct cause of" in reason
    assert "LookupError: no article 7\n\nDuring handling of the above exception" in other
    assert "LookupError" not in nothing


def test_another_cause_is_added_to_an_error_that_has_its_own_place() -> None:
    def because() -> None:
        try:
            look_up(7)
        except LookupError as error:
            try:
                raise KeyError("why")
            except KeyError as reason:
                raise Permanent(error) from reason

    text = text_of(caught(because).as_raised())
    assert "KeyError: 'why'\n\nThe above exception was the direct cause of" in text
    assert text.count("in look_up") == 1
    assert text.endswith("LookupError: no article 7\n")


def test_what_was_handled_when_an_error_was_raised_stays_with_it() -> None:
    """Another error that is handled when the decision is made says nothing about it."""

    def refuse() -> None:
        try:
            look_up(7)
        except LookupError:
            raise ValueError("refused")  # noqa: B904

    def afterwards() -> None:
        found = None
        try:
            refuse()
        except ValueError as error:
            found = error
        try:
            raise KeyError("another")
        except KeyError:
            raise Permanent(found)  # noqa: B904

    text = text_of(caught(afterwards).as_raised())
    assert "LookupError: no article 7\n\nDuring handling of the above exception" in text
    assert "KeyError" not in text


@pytest.mark.parametrize("how", ["permanent", "permanent from", "later from"])
def test_the_error_of_a_decision_is_the_same_when_it_is_asked_for_twice(how: str) -> None:
    decision = caught(lambda: consult(how))
    first = decision.as_raised()
    text = text_of(first)
    assert decision.as_raised() is first
    assert text_of(first) == text


def test_an_error_whose_text_cannot_be_read_can_be_given(namespace: str) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even this")

    assert str(Permanent(Broken())) == "The task failed with Broken, and asked for no further attempt."


def test_an_error_that_refuses_attributes_gets_its_causes_all_the_same() -> None:
    @dataclass(frozen=True)
    class Refused(Exception):
        number: int

    def because() -> None:
        try:
            look_up(7)
        except LookupError as error:
            raise Permanent(Refused(7)) from error

    error = caught(because).as_raised()
    assert isinstance(error.__cause__, LookupError)
    assert isinstance(error.__context__, LookupError)
    assert ", in because\n" in text_of(error)


def test_a_cause_that_is_the_decision_itself_ends() -> None:
    def circle() -> None:
        decision = RetryLater(1)
        raise decision from decision

    decision = caught(circle)
    assert decision.as_raised() is decision
