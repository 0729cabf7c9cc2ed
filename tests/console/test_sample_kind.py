"""A kind that the console does not know is shown and acted on as every task."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from queueops import control, get, inspect
from queueops.model.contracts import Push
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.kinds.sample import KIND, NAME, registered


@pytest.fixture
def sample(namespace: str) -> Iterator[None]:
    """The kind, whose rounds return the id of their task."""
    with registered(lambda context: context.id):
        yield


@pytest.mark.django_db
def test_a_worker_runs_it_and_a_page_shows_it(sample: None, administrator: Client) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    assert run_worker() == 3
    found = inspect.task("a")
    assert (found.kind, found.name, found.state) == (KIND.name, NAME, "succeeded")
    assert get("a").state == "succeeded"
    page = administrator.get("/ops/tasks/a/").content.decode()
    assert NAME in page
    assert "/ops/tasks/a/_retry" in page
    assert "/ops/tasks/a/" in administrator.get(f"/ops/tasks/?kind={KIND.name}").content.decode()
    assert "/ops/tasks/a/" not in administrator.get("/ops/tasks/?kind=mapreduce").content.decode()
    assert NAME in administrator.get("/ops/tasks/a/timeline/").content.decode()
    assert [row.state for row in control.retry(["a"])] == ["pending"]
    assert run_worker() == 3
