"""The pages of the registry, on the real engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from queueops import task
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


@pytest.fixture(autouse=True)
def bill() -> Iterator[None]:
    @task(name="shop.bill", pool="mail", cron="0 3 * * *", meta={"token": "hunter2"}, retries=7)
    def bill(number: int, password: str = "hunter2") -> None:
        """Bill an order.

        The second paragraph.
        """

    yield
    registry.unregister("task", bill.name)


def test_the_list_leads_to_each_task(desk: Desk, viewer: Client) -> None:
    beat(desk, "host:7", names="shop.bill,far/away")
    page = viewer.get("/ops/registry/").content.decode()
    assert "shop.bill" in page
    assert "Bill an order." in page
    assert "(number: int, password: str = [redacted]) -&gt; None" in page
    assert 'href="/ops/registry/shop.bill/"' in page
    assert 'href="/ops/schedules/shop.bill/"' in page
    assert 'href="/ops/registry/far~away/"' in page
    assert "elsewhere" in page
    assert 'href="/ops/registry/" ' in viewer.get("/ops/").content.decode()


def test_a_task_tells_all_that_is_known_of_it(desk: Desk, operator: Client) -> None:
    beat(desk, "host:7", names="shop.bill,far/away")
    page = operator.get("/ops/registry/shop.bill/").content.decode()
    for text in ("The second paragraph.", "0 3 * * *", "host:7", "retries", "mail", "/ops/tasks/?name=shop.bill"):
        assert text in page
    assert "hunter2" not in page
    assert "No live worker reports that it knows" not in page
    far = operator.get("/ops/registry/far~away/").content.decode()
    assert "This process does not have the code of the task." in far
    assert "host:7" in far


def test_a_task_that_no_worker_knows_says_what_follows(desk: Desk, operator: Client) -> None:
    page = operator.get("/ops/registry/shop.bill/").content.decode()
    assert "No live worker reports that it knows this task. Pushed tasks wait until a worker knows it." in " ".join(
        page.split()
    )
    assert operator.get("/ops/registry/no.such/").status_code == 404
