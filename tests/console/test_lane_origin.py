"""Origin of a lane's limits: an operator, or settings that name the lane no more, is seen and can be taken away."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect, jobs
from queueops.inspect import LaneRow
from queueops.redis.broker import get_broker
from tests.inspecting.test_queue_command import alarmed, queue
from tests.inspecting.test_why import first_bad
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
BULK = {"limit": 1, "rate": 0.5}


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def declare(settings: Any, lanes: dict[str, Any]) -> None:
    """Deploy these settings: a worker or a watchdog writes them at its start."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": {"lanes": lanes}}}
    get_broker().declare_lanes("default")


def row(lane: str) -> LaneRow:
    """The lane as the page of the lane, the list and a page of many have it."""
    found = inspect.lane("default", lane)
    assert found is not None
    (listed,) = [each for each in inspect.lanes() if each.lane == lane]
    assert (listed.origin, listed.restores) == (found.row.origin, found.row.restores)
    return listed


@pytest.fixture
def bulk(desk: Desk, settings: Any) -> Desk:
    """A lane with the limits of the settings, one task running and one waiting."""
    declare(settings, {"bulk": BULK})
    desk.push("a", "b", lane="bulk")
    desk.claim(1)
    return desk


def test_limits_of_the_settings_are_told_without_an_origin(bulk: Desk) -> None:
    assert (row("bulk").origin, row("bulk").restores) == ("", {})
    assert "set by an operator" not in alarmed() + queue("pool", "default")


def test_what_an_operator_set_is_told_and_goes_back_to_the_settings(bulk: Desk, administrator: Client) -> None:
    control.set_lane("default", "bulk", limit=7, rate=None)
    assert (row("bulk").origin, row("bulk").restores) == ("operator", {"limit": 1.0, "rate": 0.5})
    command = "manage.py queue set-lane bulk --pool default --limit 1 --rate 0.5"
    for shown in (alarmed(), queue("pool", "default")):
        assert "set by an operator" in shown
        assert f"default/bulk: An operator has set this, not the settings. `{command}` takes it back." in shown
    page = administrator.get("/ops/lanes/default/bulk/").content.decode()
    assert command in page
    assert "set by an operator" in administrator.get("/ops/lanes/").content.decode()
    administrator.post("/ops/lanes/default/bulk/_set", {"limit": "1", "rate": "0.5", "weight": "1"})
    assert AuditEntry.objects.filter(verb="set_lane").count() == 1
    assert row("bulk").origin == ""


def test_what_earlier_settings_left_is_told_and_can_be_taken_away(
    bulk: Desk, settings: Any, administrator: Client
) -> None:
    declare(settings, {})
    assert (row("bulk").origin, row("bulk").restores) == ("left", {"limit": None, "rate": None})
    command = "manage.py queue set-lane bulk --pool default --limit none --rate none"
    told = f"Earlier settings, which named the lane, left this. `{command}` takes it away."
    assert f"default/bulk: {told}" in alarmed()
    page = administrator.get("/ops/lanes/default/bulk/").content.decode()
    assert command in page
    assert "Take the limits away" in page
    assert "left by earlier settings" in administrator.get("/ops/lanes/").content.decode()
    queue(*command.split()[2:])
    assert (row("bulk").origin, row("bulk").limit, row("bulk").rate) == ("", None, None)


def test_why_a_task_waits_names_the_origin_of_the_limit(bulk: Desk, settings: Any) -> None:
    assert "takes it" not in first_bad("b").text
    declare(settings, {})
    assert first_bad("b").text.endswith(
        "Earlier settings, which named the lane, left this. `manage.py queue set-lane bulk --pool default --limit none`"
        " takes it away."
    )


def test_a_limit_on_a_lane_that_no_settings_name_is_an_operators(bulk: Desk) -> None:
    bulk.push("c", lane="side")
    assert row("side").origin == ""
    control.set_lane("default", "side", weight=3)
    assert (row("side").origin, row("side").restores) == ("operator", {"weight": 1})


def test_the_limit_of_an_aggregation_is_its_own(desk: Desk) -> None:
    jobs.submit(url="http://8.8.8.8/a", aggregation="shop-1", limit=3)
    assert (row("aggr:shop-1").limit, row("aggr:shop-1").origin) == (3, "")


def test_a_pattern_names_its_lanes(desk: Desk, settings: Any) -> None:
    declare(settings, {"tenant-*": {"limit": 2}})
    desk.push("a", lane="tenant-7")
    get_broker().declare_lanes("default")
    assert (row("tenant-7").limit, row("tenant-7").origin) == (2, "")
