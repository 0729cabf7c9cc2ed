from __future__ import annotations

import json
import sys

import pytest
from django.core.management.base import CommandError

from queueops.model.contracts import Outcome
from tests.inspecting.errors import stored
from tests.inspecting.test_queue_command import queue
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


def test_a_search_in_arguments_goes_on_until_it_has_found_a_task(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["queueops.inspect.tasks"], "BUDGET", 2)
    desk.push("first", args=b'[["ORD-42"],{}]')
    desk.push(*(f"t{number}" for number in range(9)))
    assert "\nfirst " in queue("list", "--contains", "ORD-42")
    assert queue("list", "--contains", "ORD-43").splitlines()[-1] == "0 of at most 10"


def test_commands_take_the_whole_filter_as_one_text(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["queueops.inspect.tasks"], "BUDGET", 2)
    desk.push("first", name="shop.charge")
    desk.push(*(f"t{number}" for number in range(9)))
    assert "\nfirst " in queue("list", "--filter", "name:shop.* age<1h")
    assert queue("count", "--filter=-name:shop.*") == "9\n"
    assert queue("count", "state:pending", "name:shop.*") == queue("count", "--filter", "name:shop.*")
    assert queue("count", "--filter", "name:shop.* or -name:shop.*", "--", "-name:shop.*") == "9\n"
    assert json.loads(queue("count", "--state", "pending", "--filter", "name:shop.*", "--json")) == {
        "filter": "state:pending name:shop.*",
        "count": 1,
    }
    queue("cancel", "--filter", "state:pending name:shop.*", "--yes", "--here")
    assert [desk.state(id) for id in ("first", "t0")] == ["cancelled", "pending"]
    with pytest.raises(CommandError, match=r"character 7: 'nam' is not a field, .*; did you mean 'name'"):
        queue("count", "--filter", "tag:a nam:b")


def test_errors_are_listed_without_their_module_and_with_their_message(desk: Desk) -> None:
    message = "the bank is closed, " * 4 + "and so is the shop"
    for id, kind in (("a", "shop.money.CardDeclined"), ("b", "ValueError")):
        desk.push(id)
        desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored(id, message, kind))
    for listed in (queue("errors"), queue("list", "state:failed")):
        declined, wrong = sorted(line.partition(message)[0].rpartition("  ")[2] for line in listed.splitlines()[1:3])
        assert (declined, wrong) == ("CardDeclined: ", "ValueError: ")
