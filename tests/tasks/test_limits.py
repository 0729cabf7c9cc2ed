"""`limit=`, `rate=` and `limit_key=` of a task: what runs at a time and what begins, for each value of a key."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from queueops import chain, get, group, inspect, task
from queueops.errors import BadArguments, BadOption
from queueops.model.rates import per_second, shown
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.support.for_each import for_each

pytestmark = pytest.mark.usefixtures("namespace")
ran: list[int] = []


@task(name="tests.limits.mail", limit=1, limit_key=lambda user_id, **_: user_id)
def mail(user_id: Any, text: str = "") -> Any:
    """Give back what it got."""
    ran.append(user_id)
    return user_id


@task(name="tests.limits.report", limit=2, rate="10/s")
def report(n: int = 0) -> int:
    """The number."""
    return n


@task(name="tests.limits.sent", limit=1, limit_key="{user[id]}", unique="sent:{user[id]}:{text}")
def sent(page: int, user: dict[str, int], text: str = "hello") -> int:
    """The number of the page."""
    return page


@task(name="tests.limits.noted", limit=1, limit_key=lambda text, **_: text)
def noted(page: int, **others: str) -> int:
    """The number of the page."""
    return page


@task(name="tests.limits.all", unique=lambda **given: f"all:{given.get('value')}")
def whole(value: int) -> int:
    """Its only argument."""
    return value


@task(name="tests.limits.numbered", unique="numbered:{page}")
def numbered(page: int) -> int:
    """The number of the page."""
    return page


def key_of(handle: Any) -> tuple[str, int | None, str]:
    """What the record has of a limit."""
    record = get_broker().record("default", handle.id)
    assert record is not None
    return record.limit_key, record.key_limit, record.key_rate


def test_a_key_is_made_of_the_arguments_and_the_tasks_of_all_keys_run() -> None:
    ran.clear()
    handles = [mail.push(user) for user in (1, 1, 2, 1)]
    assert [key_of(each) for each in handles[1:3]] == [("user_id=1", 1, ""), ("user_id=2", 1, "")]
    assert key_of(mail.push(UUID(int=7)))[0] == f"user_id={UUID(int=7)}"
    assert key_of(mail.push(None)) == ("", None, "")
    assert key_of(mail.using(limit=3).push(user_id=1)) == ("user_id=1", 3, "")
    assert key_of(report.push()) == ("*", 2, "10")
    run_worker()
    assert [handle.result(timeout=5) for handle in handles] == [1, 1, 2, 1]
    assert ran[:3] == [1, 2, str(UUID(int=7))]


def test_parts_of_a_group_and_a_chain_have_their_limits() -> None:
    parts = group(*(mail.s(5, str(n)) for n in range(4))).push()
    steps = chain(report.s(1), report.s()).push()
    run_worker()
    assert parts.result(timeout=5) == [5, 5, 5, 5]
    assert steps.result(timeout=5) == 1


def test_a_part_gets_its_key_and_its_id_of_the_arguments_that_are_known() -> None:
    parts = chain(report.s(3), sent.s(user={"id": 7}), noted.s(text="a")).push()
    assert key_of(get("sent:7:hello")) == ("7", 1, "")
    run_worker()
    assert parts.result(timeout=5) == 3
    advice = "needs the first argument, which is not known yet; use .si()"
    lacking = ((mail.s(), "limit_key"), (mail.s("a"), "limit_key"), (numbered.s(), "unique"), (whole.s(), "unique"))
    for part, option in lacking:
        with pytest.raises(BadArguments, match=re.escape(f"its {option}= {advice}")):
            chain(report.s(1), part).push()


def test_why_names_the_key_and_the_tasks_that_have_its_turns() -> None:
    first, second = mail.push(42), mail.push(42)
    found = [finding for finding in inspect.why(second.id) if "key" in finding.text]
    assert [(finding.ok, finding.text, finding.value) for finding in found] == [
        (
            False,
            f"It waits for its key user_id=42: 0 of 1 run, 1 ready ({first.id}). It is the next one.",
            "1 wait",
        )
    ]
    assert any(finding.text == "It has a turn of its key user_id=42." for finding in inspect.why(first.id))
    run_worker()
    late = [report.using(rate="1/d").push() for _ in range(3)]
    assert any("waits for its limit" in finding.text for finding in inspect.why(late[2].id))


@for_each("given", [0, -1, True, "many", 1.5])
def test_what_is_no_limit_is_refused(given: Any) -> None:
    with pytest.raises(BadOption, match="limit"):
        mail.using(limit=given)


@for_each("given", ["10", "10/y", 0, -1, True, "0/s", float("nan"), "1/m/s"])
def test_what_is_no_rate_is_refused(given: Any) -> None:
    with pytest.raises(BadOption, match="rate"):
        mail.using(rate=given)


def test_a_rate_is_shown_in_the_unit_in_which_it_was_given() -> None:
    for text in ("10/m", "3/s", "1/d", "2.5/h", "100/s"):
        assert shown(per_second("rate", text)) == text


def test_a_key_that_cannot_be_made_stops_the_push() -> None:
    @task(name="tests.limits.broken", limit=1, limit_key=lambda user: user["id"])
    def broken(user: Any) -> None:
        """Nothing."""

    with pytest.raises(BadArguments, match="its limit_key raised KeyError: 'id'"):
        broken.push({})
    for wrong in (1.5, "", True, ["x"]):
        with pytest.raises(BadArguments, match=r"its limit_key returned .* Return a text"):
            broken.push({"id": wrong})
    with pytest.raises(BadOption, match="given with limit=, rate=, throttle= or debounce="):
        task(name="tests.limits.alone", limit_key="{user}")(lambda user: user)
    with pytest.raises(BadOption, match="limit_key"):
        task(name="tests.limits.other", limit=1, limit_key="{other}")(lambda user: user)
