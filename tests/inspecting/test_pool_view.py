"""One pool: `inspect.pool`, pause and resume of all its lanes, and `manage.py queue pool`."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueops import control, inspect
from queueops.errors import BadOption
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips


def queue(*words: str) -> str:
    out = StringIO()
    call_command("queue", *words, stdout=out)
    return out.getvalue()


def test_a_pool_has_figures_lanes_workers_and_alarms(desk: Desk) -> None:
    desk.push("a", "b", lane="mails")
    desk.push("c")
    desk.broker.announce("other")
    found = inspect.pool("default")
    assert found is not None
    assert (found.view.name, found.view.waiting, found.workers) == ("default", 3, ())
    assert {(row.lane, row.ready, row.drain_reason) for row in found.lanes} == {
        ("mails", 2, "no worker"),
        ("default", 1, "no worker"),
    }
    assert [alarm.level for alarm in found.alarms][:1] == ["danger"]
    beat(desk, slots=2)
    found = inspect.pool("default")
    assert found is not None
    assert [(row.id, row.slots) for row in found.workers] == [("w1", 2)]
    assert "no live worker" not in " ".join(alarm.text.lower() for alarm in found.alarms)
    assert inspect.pool("nowhere") is None


def test_it_costs_two_round_trips(desk: Desk) -> None:
    desk.push("a")
    desk.broker.draw("default", "w", 60_000)
    inspect.pool("default")
    with counted_trips() as trips:
        inspect.pool("default")
    assert trips.made == 2


def test_a_pool_is_paused_and_resumed_lane_by_lane(desk: Desk, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": {"lanes": {"declared": {}}}}}
    desk.push("a", lane="mails")
    desk.push("b", lane="bulk")
    control.pause_lane("default", "bulk")
    noted: list[str] = []
    changed = control.pause_pool("default", note=noted.append)
    assert sorted(changed) == sorted(noted) == ["declared", "default", "mails"]
    desk.push("c")
    assert desk.claim(5) == []
    assert control.pause_pool("default") == ()
    assert sorted(control.resume_pool("default")) == ["bulk", "declared", "default", "mails"]
    assert len(desk.claim(5)) == 3
    assert control.resume_pool("default") == ()
    with pytest.raises(BadOption):
        control.pause_pool("nowhere")


@pytest.mark.django_db
def test_the_commands_show_pause_and_resume_it(desk: Desk) -> None:
    desk.push("a", lane="mails")
    beat(desk, slots=2)
    text = queue("pool", "default")
    for words in ("1 pending", "mails", "w1", "DRAINS IN"):
        assert words in text
    assert json.loads(queue("pool", "default", "--json"))["view"]["name"] == "default"
    assert queue("pause-pool", "default") == "2 lanes of the pool default are paused.\n"
    assert "paused" in queue("pool", "default")
    assert json.loads(queue("resume-pool", "default", "--json")) == {"pool": "default", "lanes": ["default", "mails"]}
    for words in (("pool", "defalt"), ("pause-pool", "defalt")):
        with pytest.raises(CommandError, match="There is no pool 'defalt'; did you mean 'default'"):
            queue(*words)
