"""What follows a task is shown with it, in Python and in a terminal."""

from __future__ import annotations

import json

import pytest

from queueops import control, inspect, task
from queueops.management.queue.task_view import shown_status
from queueops.model.contracts import Outcome
from queueops.tasks.task import Task
from tests.inspecting.test_queue_command import queue
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


@task(name="tests.told")
def told(story: object, password: str = "") -> None:
    """Takes a secret."""


@task(name="tests.followed", follow_up={"end": told.s(password="hunter2"), "discarded": told.using(pool="north").si(0)})
def followed() -> None:
    """Is followed."""


def shown(id: str) -> inspect.TaskDetail:
    found = inspect.task(id)
    assert found is not None
    return found


def pushed(push: Task = followed) -> str:
    handle = push.push()
    return handle.id


def test_a_task_says_what_is_to_follow_and_what_followed(desk: Desk) -> None:
    first = pushed()
    assert [(each.outcomes, each.name, each.pool) for each in shown(first).follow_ups] == [
        (("success", "failure", "cancelled", "crashed"), "tests.told", "default"),
        (("discarded",), "tests.told", "north"),
    ]
    assert shown(first).followed_by == ()
    desk.settle(desk.lease())
    (second,) = shown(first).followed_by
    assert (second.name, second.pool, second.state) == ("tests.told", "default", "pending")
    assert (shown(second.id).follows, shown(second.id).follows_pool) == (first, "default")
    assert shown(second.id).follows_outcome == "success"


def test_secrets_of_what_follows_are_masked(desk: Desk) -> None:
    raw = inspect.raw(pushed())
    assert "hunter2" not in repr(raw)
    assert json.loads(raw["fu (follow_ups)"])[0]["on"] == ["success", "failure", "cancelled", "crashed"]


@pytest.mark.parametrize("text", ["rubbish", "[7]", '[{"on":["success"],"fields":["n"]}]', "\x00"])
def test_rubbish_is_shown_as_it_is(desk: Desk, text: str) -> None:
    desk.push("t", own=(("fu", text),))
    assert (shown("t").follow_ups, shown("t").followed_by) == ((), ())
    assert inspect.raw("t")["fu (follow_ups)"]


def test_a_cancel_says_before_what_it_pushes(desk: Desk) -> None:
    id = pushed()
    said = inspect.effects("cancel", shown(id))
    assert said == ("Its end pushes its follow-up: tests.told.",)
    control.cancel([id], "by hand")
    assert len(shown(id).followed_by) == 1


def test_a_terminal_shows_it(desk: Desk) -> None:
    id = pushed()
    assert "success or failure or cancelled or crashed: tests.told; discarded: tests.told" in queue("show", id)
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    (second,) = shown(id).followed_by
    assert second.id in queue("show", id)
    assert f"{id} (failure)" in queue("show", second.id)


def test_one_that_was_not_pushed_is_shown_with_its_reason(desk: Desk) -> None:
    desk.push("b", name="tests.old")
    id = pushed(followed.using(priority=5, follow_up={"success": told.using(id="b", on_conflict="reject").si(0)}))
    desk.settle(desk.lease())
    assert shown(id).follow_ups_dead == 1
    assert "the follow-up on success was not pushed: its id b is in use" in queue("show", id)
    (row,) = inspect.dead_follow_ups("default")
    assert (row.id, row.name, row.state, row.outcome) == (id, "tests.followed", "succeeded", "success")
    assert (row.next_name, row.next_pool, row.next_id) == ("tests.told", "default", "b")
    assert row.reason == "its id b is in use"
    line = next(line for line in queue("dead-follow-ups").splitlines() if line.startswith(id))
    assert all(part in line for part in ("succeeded", "success", "tests.told b", "its id b is in use"))
    assert json.loads(queue("dead-follow-ups", "--pool", "default", "--json"))[0]["id"] == id


def discarded(desk: Desk) -> str:
    """A discarded task whose follow-up could not be pushed."""
    desk.push("b", name="tests.old")
    option = {"discarded": told.using(id="b", on_conflict="reject").si(0)}
    id = pushed(followed.using(priority=5, follow_up=option))
    desk.settle(desk.lease(), Outcome.QUARANTINE, b"odd")
    (row,) = control.discard([id])
    assert row.detail == "its follow-up could not be pushed: its id b is in use"
    return id


def test_one_of_a_task_that_is_gone_is_listed_alarmed_and_counted(desk: Desk) -> None:
    id = discarded(desk)
    desk.tick()
    (row,) = inspect.dead_follow_ups()
    assert (row.id, row.state, row.outcome, row.reason) == (id, "", "discarded", "its id b is in use")
    line = next(line for line in queue("dead-follow-ups").splitlines() if line.startswith(id))
    assert all(part in line for part in ("gone", "discarded", "tests.told b", "its id b is in use"))
    status = shown_status(inspect.snapshot())
    assert "Pool default: 1 follow-up could not be pushed. The last one: its id b is in use" in status
    assert "default: 1 follow-up could not be pushed in the last hour." in status


def test_another_generation_of_its_id_is_not_its_task(desk: Desk) -> None:
    id = discarded(desk)
    desk.push(id)
    assert [row.state for row in inspect.dead_follow_ups()] == [""]


@pytest.mark.parametrize("note", [b"", b"1", b"1 rubbish", b"1 [7]", b'1 {"name":7}', b"\xff\xfe"])
def test_a_note_that_cannot_be_read_leaves_its_row(desk: Desk, note: bytes) -> None:
    desk.client.zadd(desk.keys.follow_ups_dead, {"a#1#1": desk.now()})
    desk.client.hset(desk.keys.follow_ups_notes, "a#1#1", note)
    (row,) = inspect.dead_follow_ups()
    assert (row.id, row.state, row.reason) == ("a", "", "")
    assert "gone" in queue("dead-follow-ups")


def test_an_alarm_names_the_pool_for_a_day_and_the_command_that_lists_them(desk: Desk) -> None:
    desk.push("a", own=(("fu", "rubbish"),))
    desk.settle(desk.lease())
    text = "Pool default: 1 follow-up could not be pushed."
    (alarm,) = [each for each in inspect.snapshot().alarms if each.text.startswith(f"{text} The last one: field fu")]
    assert alarm.command == "manage.py queue dead-follow-ups --pool default"
    (member,) = desk.client.zrange(desk.keys.follow_ups_dead, 0, -1)
    desk.client.zadd(desk.keys.follow_ups_dead, {member: desk.now() - 86_400_001})
    assert text not in str(inspect.snapshot().alarms)
    assert [row.id for row in inspect.dead_follow_ups()] == ["a"]


def test_a_terminal_says_that_all_were_pushed(desk: Desk) -> None:
    desk.push("a")
    assert "Every follow-up was pushed." in queue("dead-follow-ups")
