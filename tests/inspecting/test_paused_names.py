"""A paused name as an operator sees it: from code, in a terminal, in Why, in an alarm, and on its page's figures."""

from __future__ import annotations

import shlex

import pytest
from django.core.management import call_command

from console.models import AuditEntry
from queueops import control, inspect
from queueops.errors import BadId, BadOption, UnknownTask
from tests.inspecting.test_alarms import alarm, texts, wait_for
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.inspecting.test_why import beat, first_bad
from tests.kernel.desk import Desk

NAME = "shop.resize"


def test_a_name_is_paused_in_all_pools_or_in_one(desk: Desk) -> None:
    other = Desk(desk.broker, "other")
    desk.push("a", name=NAME)
    other.push("b", name=NAME)
    assert control.pause_name(NAME) == {"default": False, "other": False}
    assert desk.claim(1) == other.claim(1) == []
    assert control.resume_name(NAME, "other") == {"other": True}
    assert [lease.id for lease in other.claim(1)] == ["b"]
    found = inspect.task_name(NAME)
    assert found is not None
    assert [(pause.pool, pause.held) for pause in found.paused] == [("default", 1)]
    assert abs(found.paused[0].since_ms - desk.now()) < 60_000


def test_a_wrong_name_or_pool_is_refused_and_a_new_name_may_be_paused(desk: Desk) -> None:
    desk.push("a", name=NAME)
    with pytest.raises(UnknownTask, match=r"No task is named 'shop\.resiz'; did you mean 'shop\.resize'\?"):
        control.pause_name("shop.resiz")
    with pytest.raises(BadId, match="name of a task"):
        control.pause_name("a b")
    with pytest.raises(BadOption, match="pool"):
        control.pause_name(NAME, "typo")
    assert control.pause_name("shop.new", new=True) == {"default": False}
    beat(desk, names="shop.known")
    assert control.pause_name("shop.known") == {"default": False}


def test_why_names_the_pause_and_the_way_to_end_it(desk: Desk) -> None:
    beat(desk, names=NAME)
    desk.push("a", "b", name=NAME)
    control.pause_name(NAME)
    for claimed in (0, 1):
        assert desk.claim(claimed) == []
        reason = first_bad("b")
        assert reason.text.startswith(f"All tasks of the name {NAME} are paused, for ")
        assert reason.text.endswith(f"Resume the name, or type `manage.py queue resume --name {NAME}`.")
        assert (reason.verb, reason.target, reason.place) == ("resume_name", NAME, "name")
        assert "fsck" not in "".join(finding.text for finding in inspect.why("b"))
    control.resume_name(NAME)
    assert all(finding.ok for finding in inspect.why("a"))


def test_why_tells_that_tasks_are_on_their_way_back(desk: Desk) -> None:
    for start in range(0, 500, 250):
        desk.push(*[f"t{number}" for number in range(start, start + 250)], name=NAME)
    control.pause_name(NAME)
    for _ in range(3):
        assert desk.claim(1) == []
    control.resume_name(NAME)
    assert first_bad("t499").text == f"The name {NAME} was resumed. Its tasks return to their lanes, in parts."


@pytest.mark.django_db
def test_waiting_tasks_of_a_paused_name_are_an_alarm_that_its_command_ends(desk: Desk) -> None:
    desk.tick()
    beat(desk, names=NAME)
    control.pause_name(NAME, new=True)
    assert texts() == ""
    desk.push("a", "b", name=NAME)
    assert desk.claim(1) == []
    wait_for(desk, 300, "a")
    found = alarm("is paused")
    assert found.text == f"Task name {NAME} of pool default is paused: 2 tasks wait, the first for 5 min."
    assert (found.level, found.verb, found.target) == ("warning", "resume_name", f"default/{NAME}")
    call_command(*shlex.split(found.command)[1:])
    assert texts() == ""


def test_a_lane_and_a_pool_count_what_is_held(desk: Desk) -> None:
    desk.push("a", "b", name=NAME, lane="mail")
    desk.push("c", "d", name=NAME)
    desk.push("x", lane="mail")
    control.pause_name(NAME)
    assert [lease.id for lease in desk.claim(9)] == ["x"]
    for lane, held in (("mail", 2), ("default", 2)):
        found = inspect.lane("default", lane)
        assert found is not None
        assert (found.row.ready, found.held) == (0, held)
    beat(desk, names=NAME)
    (pool,) = inspect.snapshot().pools
    assert (pool.held, pool.drain_s, pool.drain_reason) == (4, None, "paused")


@pytest.mark.django_db
def test_a_terminal_pauses_and_resumes_a_name_and_the_log_has_it(desk: Desk) -> None:
    desk.push("a", name=NAME)
    said = queue("pause", "--name", NAME).strip()
    assert said == f"The name {NAME} is paused in the pool default; it was running before."
    assert "paused   in default for " in queue("name", NAME)
    assert queue_json("resume", "--name", NAME, "--pool", "default")["before"] == {"default": True}
    pause, resume = AuditEntry.objects.order_by("pk")
    assert (pause.verb, pause.target, pause.after) == ("pause_name", NAME, {"name": NAME, "paused_in": ["default"]})
    assert (resume.verb, resume.target) == ("resume_name", f"default/{NAME}")
    status, text = failing("pause", "--name", "shop.resiz")
    assert (status, text) == (1, "No task is named 'shop.resiz'; did you mean 'shop.resize'?; with --new it is paused.")
    for words in (("pause",), ("resume", "default", "--name", NAME)):
        assert failing(*words) == (2, "Which one? Give the name of a lane, or --name with that of a task.")
