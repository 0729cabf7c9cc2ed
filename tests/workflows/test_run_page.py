"""The page of a run: the stack of the code that waits, open commands, children, parent and inbox, page by page."""

from __future__ import annotations

import asyncio
import io
import json
import re
from typing import Any

import pytest
from django.core.management import call_command

from queueops import activity, current, inspect, wf, workflow
from queueops.errors import FilterError
from queueops.inspect import RunChildren, RunView
from queueops.inspect.redaction import concealing
from queueops.model.contracts import RoundTrip
from queueops.redis.broker import get_broker
from queueops.testing import run_worker

pytestmark = pytest.mark.usefixtures("memory")


@activity(name="page.work", retries=3)
def work(number: int) -> int:
    """Tells how far it is, and fails."""
    current().progress(number, 10)
    current().log(f"part {number}")
    raise OSError("the scale is off")


@activity(name="page.later")
def later(number: int) -> int:
    """Runs in an hour."""
    return number


async def outer() -> Any:
    """A function that awaits another one."""
    return await inner()


async def inner() -> Any:
    """Waits for a signal."""
    return await wf.signal("go")


@workflow(name="page.two_places")
async def two_places() -> None:
    """Waits in two coroutines at once."""
    async with asyncio.TaskGroup() as group:
        group.create_task(outer())
        group.create_task(wf.sleep(3600))


@workflow(name="page.many")
async def many(count: int) -> None:
    """Waits for activities that run in an hour."""
    await asyncio.gather(*(wf.call(later.using(delay=3600), number) for number in range(count)))


@workflow(name="page.child")
async def child(number: int) -> int:
    """Begins anew once, and waits for a signal if its number is odd."""
    if number >= 1000:
        wf.continue_as_new(number - 1000)
    if number % 2:
        await wf.signal("go")
    return number


@workflow(name="page.elsewhere", pool="mail")
async def elsewhere() -> None:
    """Waits for a signal in another pool."""
    await wf.signal("go")


@workflow(name="page.parent")
async def parent(count: int, far: bool = False) -> None:
    """Runs children, some time after its first step."""
    await wf.signal("begin")
    calls = [wf.child(child.using(id=f"part-{number}"), number) for number in range(count)]
    if far:
        calls += [wf.child(elsewhere.using(id="far")), wf.child(child, 1001)]
    await asyncio.gather(*calls)


@workflow(name="page.fails")
async def fails_once() -> None:
    """Calls an activity that fails."""
    await wf.call(work, 3)


def view(run: Any, **page: Any) -> RunView:
    found = inspect.workflow_run(run.id, run.pool, **page)
    assert found is not None
    return found


def test_the_timeline_of_a_run_tells_of_its_first_step_and_its_wait() -> None:
    run = parent.start(1)
    run_worker()
    task = inspect.task(run.id)
    assert task is not None
    assert [moment.state for moment in task.timeline] == ["", "locked", "idle"]
    assert task.first_begun_ms is None
    first = task.begun_ms
    run.signal("begin")
    run_worker()
    task = inspect.task(run.id)
    assert task is not None
    assert [moment.state for moment in task.timeline] == [
        "",
        "locked",
        "idle",
        "",
        "locked",
        "succeeded",
    ]  # a signal: ""
    assert [moment.t for moment in task.timeline[1:3]] == [first, first]
    assert task.first_begun_ms == first


def test_each_frame_of_each_waiting_coroutine_is_told() -> None:
    run = two_places.start()
    run_worker()
    found = view(run)
    functions = [[frame.rpartition(" in ")[2] for frame in stack] for stack in found.stacks]
    assert functions == [["two_places"], ["outer", "inner"]]  # the timer waits in the engine alone
    assert found.signals == ("go",)
    assert [place.rpartition(" in ")[2] for place in found.where] == ["signal go", "two_places", "inner"]
    lines = [line for stack in found.stacks for line in stack]
    assert all(line.startswith(f"{__file__}:") for line in lines)
    (why,) = [finding for finding in inspect.why(run.id) if "outer" in (finding.value or "")]
    assert " > " in (why.value or "")


def test_open_commands_come_in_pages_and_each_once() -> None:
    run = many.start(730)
    run_worker()
    found: list[int] = []
    place, pages = "", 0
    while pages == 0 or place:
        page = view(run, calls=place)
        found += [call.number for call in page.calls]
        assert len(page.calls) <= 130  # the store gives about a hundred at once
        place, pages = page.next_calls, pages + 1
    assert sorted(found) == list(range(1, 731))
    assert pages >= 7
    assert page.more_calls == 730 - len(page.calls)


def test_a_few_open_commands_are_in_order() -> None:
    run = many.start(120)
    run_worker()
    first = view(run)
    second = view(run, calls=first.next_calls)
    numbers = [call.number for call in (*first.calls, *second.calls)]
    assert numbers == list(range(1, 121))
    assert second.next_calls == ""


@pytest.mark.parametrize("place", ["x", "1", "-1.0", "1.1.1", "9" * 30 + ".0"])
def test_a_place_that_is_none_is_refused(place: str) -> None:
    run = many.start(1)
    run_worker()
    with pytest.raises(FilterError, match="is not a place"):
        view(run, calls=place)


def test_an_open_activity_is_shown_with_its_attempts_its_progress_and_its_error() -> None:
    run = fails_once.start()
    run_worker()
    (call,) = view(run).calls
    assert (call.kind, call.name, call.state, call.attempt, call.retries) == ("activity", "page.work", "restart", 1, 3)
    assert (call.progress, call.total, call.detail) == (3, 10, "part 3")
    assert call.error == "OSError: the scale is off"
    assert call.due_ms is not None
    assert (call.worker, call.begun_ms) == ("", None)  # no worker runs it now
    get_broker().control("default", "run_now", [call.task])
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    (call,) = view(run).calls
    assert (call.worker, call.begun_ms) == ("w1", lease.begun_ms)


def children(run: Any, **more: Any) -> RunChildren:
    return inspect.run_children(run.id, run.pool, **more)


def started(count: int, *, far: bool = False) -> Any:
    run = parent.using(id="whole").start(count, far)
    run.signal("begin")
    run_worker()
    run_worker(pools=["mail"])  # the message to this pool came while the first worker ran
    return run


def test_all_children_are_listed_with_their_states() -> None:
    run = started(4, far=True)
    rows = children(run).rows
    assert [(row.instance, row.state) for row in rows[:4]] == [
        ("part-0", "succeeded"),
        ("part-1", "idle"),
        ("part-2", "succeeded"),
        ("part-3", "idle"),
    ]
    assert (rows[4].pool, rows[4].instance, rows[4].state) == ("mail", "far", "idle")
    assert rows[5].state == "idle"  # its last run: it continued as new
    assert rows[5].before == f"{run.id}.{len(rows)}"
    assert view(child.handle("part-1")).parent == run.id
    far = view(elsewhere.handle("far"))
    assert (far.parent, far.parent_pool) == (run.id, "default")


def test_children_come_in_pages() -> None:
    run = started(120)
    first = children(run)
    assert len(first.rows) == 50
    second = children(run, first=first.next)
    third = children(run, first=second.next)
    instances = [row.instance for page in (first, second, third) for row in page.rows]
    assert instances == [f"part-{number}" for number in range(120)]
    assert third.next == 0


def test_a_page_of_children_reads_a_part_of_a_long_history() -> None:
    run = started(1)
    key = f"{get_broker().keys('default').task(run.id)}#history"
    filler = ['{"e":"patch","n":"x"}'] * 6000
    get_broker().ask_one("default", lambda client: client.lpush(key, *filler))
    first = children(run)
    assert (first.rows, first.looked_at) == ((), 5000)
    assert [row.instance for row in children(run, first=first.next).rows] == ["part-0"]


def test_after_a_reset_the_children_of_the_earlier_run_are_found() -> None:
    run = started(2)
    later_run = run.reset(len(run.history()), "again")
    run_worker()
    assert [row.instance for row in children(later_run).rows] == ["part-0", "part-1"]
    assert all(row.state for row in children(later_run).rows)


def test_children_of_no_run_are_none() -> None:
    assert inspect.run_children("absent").rows == ()
    assert inspect.run_children("not an id#").rows == ()


def test_the_inbox_comes_in_pages() -> None:
    run = two_places.start()
    run.suspend()
    for number in range(150):
        run.signal("other", number)
    first = view(run)
    second = view(run, inbox=first.next_inbox)
    assert [len(first.inbox), len(second.inbox), second.next_inbox] == [100, 50, 0]
    assert [line.text for line in (*first.inbox, *second.inbox)] == [str(number) for number in range(150)]


def test_a_terminal_lists_children_and_stacks() -> None:
    run = started(2)

    def asked(*words: str) -> str:
        shown = io.StringIO()
        call_command("queue", "run", "whole", *words, stdout=shown)
        return shown.getvalue()

    assert "part-1" in asked("children")
    assert [row["instance"] for row in json.loads(asked("children", "--json"))["rows"]] == ["part-0", "part-1"]
    assert f"{__file__}:" in asked()
    assert run.id in asked()


@activity(name="page.secret_work", retries=0)
def secret_work(password: str) -> None:
    """Fails with a secret in its message."""
    raise ValueError(f"password={password} is wrong")


@workflow(name="page.failing")
async def failing() -> None:
    """Fails with its activity."""
    await wf.call(secret_work, "hunter2")


def test_a_failed_activity_is_told_by_its_error_and_not_as_json() -> None:
    run = failing.start()
    run_worker()
    view = inspect.workflow_run(run.id)
    assert view is not None
    (line,) = (line for line in view.lines if line.kind == "failed")
    assert line.failure is not None
    assert (line.failure.type, line.text.partition(": ")[0]) == ("ValueError", "ValueError")
    assert "raise ValueError(f" in line.failure.traceback
    assert "hunter2" not in line.failure.message + line.text
    with concealing():
        hidden = inspect.workflow_run(run.id)
    assert hidden is not None
    (line,) = (line for line in hidden.lines if line.kind == "failed")
    assert line.failure is not None
    assert (line.failure.type, line.failure.message, line.text) == ("ValueError", "", "ValueError")
    out = io.StringIO()
    call_command("queue", "run", run.id, stdout=out)
    assert "fingerprint" not in out.getvalue()


@workflow(name="page.timers")
async def timers() -> None:
    """Has more timers than a diagnosis reads."""
    await asyncio.gather(*(wf.sleep(3600 + number) for number in range(700)))


@pytest.mark.usefixtures("namespace")
def test_why_does_not_tell_the_next_of_all_timers_if_it_has_read_a_part() -> None:
    run = timers.start()
    run_worker()
    told = " ".join(finding.text for finding in inspect.why(run.id))
    (read,) = re.findall(r"of the ([\d,]+) timers that were read fires in", told)
    (more,) = re.findall(r"waits for ([\d,]+) more commands, which are not read here", told)
    assert int(read) + int(more) == 700
