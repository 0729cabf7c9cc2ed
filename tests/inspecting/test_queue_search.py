from __future__ import annotations

import sys

import pytest

from tests.inspecting.test_queue_command import queue
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


def test_a_search_in_arguments_goes_on_until_it_has_found_a_task(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["queueops.inspect.tasks"], "BUDGET", 2)
    desk.push("first", args=b'[["ORD-42"],{}]')
    desk.push(*(f"t{number}" for number in range(9)))
    assert "\nfirst " in queue("list", "--contains", "ORD-42")
    assert queue("list", "--contains", "ORD-43").splitlines()[-1] == "0 of at most 10"
