"""What pages read of the store does not grow with the number of tasks."""

from __future__ import annotations

import sys

import pytest
from django.test import Client

from console.models import SavedView
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.kernel.desk import NEVER_MS, POOL, Desk
from tests.support.monitoring import round_trips

pytestmark = pytest.mark.django_db
NAME = "shop.bill"
FEW, MANY, BUDGET = 400, 2000, 40
BUDGETS = {
    "queueops.inspect.tasks": ("BUDGET",),
    "queueops.inspect.counting": ("MOST",),
    "queueops.inspect.id_search": ("BUDGET",),
    "queueops.inspect.lookup": ("BUDGET",),
    "queueops.inspect.worker_view": ("LOOKED_AT",),
}
"""How many candidates a call looks at. Few, so that the smaller store has more of them, too."""
STATES = ("pending", "locked", "restart", "postponed", "succeeded", "failed", "cancelled", "finished", "restart,failed")
PAGES = (
    *("", "_overview", "tasks/", *(f"tasks/?state={state}" for state in STATES), f"tasks/?name={NAME}"),
    *("tasks/?lane=slow", "tasks/?lane=slow&state=failed", "tasks/?tag=vip", "tasks/?tag=vip&state=restart"),
    *("tasks/?q=key:shop*", "tasks/?q=nowhere", "tasks/?q=error:refused", "tasks/?contains=nowhere"),
    *("tasks/?q=id:failed-12*", "tasks/_search?contains=nowhere", "tasks/?error=f1", "tasks/failed-1/"),
    *("tasks/pending-1/why/", "errors/", "errors/f1/", "lanes/", "lanes/default/slow/", "pools/default/"),
    *("workers/", "workers/w1/", "registry/", f"registry/{NAME}/", "find/?q=failed-", "_palette?q=failed-"),
    *("tasks/_complete?text=lane:s", "tasks/_complete?text=tag:v"),
)


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def add(desk: Desk, first: int, last: int) -> None:
    """Push tasks in all usual states."""
    for start in range(first, last, 400):
        numbers = range(start, start + 400, 8)
        shape = {"name": NAME, "lane": "slow", "tags": ("vip",)}
        for word in ("succeeded", "failed", "restart", "locked"):
            desk.push(*(f"{word}-{number}" for number in numbers), retries=5, **shape)
        leases = desk.claim(len(numbers) * 4)
        for lease in leases:
            word = lease.id.partition("-")[0]
            if word == "succeeded":
                desk.settle(lease)
            elif word != "locked":
                delay_ms = -1 if word == "failed" else NEVER_MS
                desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=delay_ms, fingerprint="f1", title="E: refused")
        for word in ("cancelled", "pending"):
            desk.push(*(f"{word}-{number}" for number in numbers), **shape)
        desk.control("cancel", *(f"cancelled-{number}" for number in numbers))
        desk.push(*(f"postponed-{number}" for number in numbers), delay_ms=NEVER_MS, **shape)


def commands(desk: Desk, administrator: Client) -> dict[str, int]:
    """How many commands each page makes, in functions, too; a watchdog has written the snapshot."""
    desk.broker.beat(POOL, "w1", {"state": "live", "names": NAME, "slots": 4, "pools": POOL})
    found = {}
    for page in PAGES:
        administrator.get(f"/ops/{page}")
        desk.client.delete(desk.keys.sampler)
        desk.broker.draw(POOL, "w", 60_000)
        asked = round_trips(desk, lambda page=page: administrator.get(f"/ops/{page}"))
        found[page] = len(asked.sent) + len(asked.inside)
    return found


def test_pages_make_as_many_commands_in_a_store_with_five_times_as_many_tasks(
    desk: Desk, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, names in BUDGETS.items():
        for name in names:
            monkeypatch.setattr(sys.modules[module], name, BUDGET)
    monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 600.0)
    monkeypatch.setattr("console.pages.views.COUNTED_EVERY_S", 0.0)
    for query in ({"tag": "vip", "state": "failed"}, {"name": NAME, "state": "failed"}, {"q": "attempts>3"}):
        SavedView.objects.create(name=str(query), query=query, shared=True)  # in the navigation of each page
    add(desk, 0, FEW)
    few = commands(desk, administrator)
    add(desk, FEW, MANY)
    many = commands(desk, administrator)
    assert {page: (few[page], many[page]) for page in PAGES if many[page] > 1.1 * few[page] + 20} == {}
