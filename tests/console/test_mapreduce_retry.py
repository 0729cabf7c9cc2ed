"""A retry of a map-reduce task in the console keeps what is done; only what throws results away asks."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from console.models import AuditEntry, Outcome
from console.templatetags.console import ran_ms
from queueops import control, inspect
from queueops.model import contracts
from queueops.redis.broker import get_broker
from tests.support.chunkwork import ChunkWork

pytestmark = pytest.mark.django_db
TASK = "/ops/tasks/count/"


@pytest.fixture
def failed(namespace: str) -> ChunkWork:
    """Two of five chunks are done, one has failed its task."""
    work = ChunkWork(get_broker(), oc="0")
    work.map(list(range(5)))
    claimed = work.claim(3)
    work.done(claimed[:2])
    work.fail(claimed[2:])
    return work


@pytest.fixture
def reduced(namespace: str) -> ChunkWork:
    """Two chunks, and a reduce that went well."""
    work = ChunkWork(get_broker())
    work.map([1, 2])
    work.done(work.claim(2))
    (lease,) = work.exchange(want=1).leases
    work.exchange(settle=[contracts.Settlement("count", lease.fence, contracts.Outcome.SUCCESS, b"3")])
    return work


def state_and_done() -> tuple[str, int]:
    view = inspect.chunks_of("count")
    assert view is not None
    return view.state, view.counts["done"]


@pytest.mark.parametrize("tab", ["", "attempts/", "timeline/", "why/"])
def test_every_tab_of_a_failed_one_offers_to_retry_its_failed_chunks(
    failed: ChunkWork, operator: Client, tab: str
) -> None:
    page = operator.get(TASK + tab).content.decode()
    assert "Retry failed chunks" in page
    assert re.search(r">\s*Retry\s*<", page) is None


def test_one_click_takes_the_failed_chunks_up_and_keeps_those_that_are_done(
    failed: ChunkWork, operator: Client
) -> None:
    operator.post(f"{TASK}_retry", {"pool": "default"})
    assert state_and_done() == ("aggregating", 2)
    assert failed.claim(9) == [2, 3, 4]


def test_a_bulk_retry_does_the_same(failed: ChunkWork, operator: Client) -> None:
    operator.post("/ops/tasks/_retry", {"task": ["default count"]})
    assert state_and_done() == ("aggregating", 2)


def test_it_ran_from_the_first_start_of_its_map_to_its_end(reduced: ChunkWork, operator: Client) -> None:
    key = reduced.broker.keys("default").task("count")
    reduced.broker.client.hincrby(key, "bm", -90_000)
    task = inspect.task("count")
    assert task is not None
    assert ran_ms(task) >= 90_000
    facts = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", operator.get(TASK).content.decode()))
    assert "First start" in facts
    assert "Last start (reduce)" in facts
    assert re.search(r"Ran for 1:3\d|Ran for 1 ?m", facts), facts[facts.index("Ran for") :][:60]
    operator.post(f"{TASK}_retry", {"pool": "default"})
    assert reduced.broker.client.hexists(key, "bm")
    control.restart_from("count", "map")
    assert not reduced.broker.client.hexists(key, "bm")


def test_a_succeeded_one_is_offered_its_reduce(reduced: ChunkWork, operator: Client) -> None:
    assert "Retry the reduce" in operator.get(TASK).content.decode()
    operator.post(f"{TASK}_retry", {"pool": "default"})
    assert state_and_done() == ("pending", 2)
    (lease,) = reduced.exchange(want=1).leases
    assert lease.phase == "reduce"


def test_other_arguments_throw_the_chunks_away_and_that_must_be_typed(failed: ChunkWork, operator: Client) -> None:
    page = operator.get(f"{TASK}edit/").content.decode()
    assert "The 5 chunks and their results are deleted" in page
    form = {"args": "[7]", "kwargs": "{}", "pool": "default"}
    for missing in ({}, {"confirmed": "5", "typed": "5"}, {"confirmed": "5", "typed": "4", "reason": "why"}):
        answer = operator.post(f"{TASK}_edit", form | missing)
        assert answer.status_code == 422
        assert "The number is wrong, or the reason is missing" in answer.content.decode()
    assert not AuditEntry.objects.exists()
    operator.post(f"{TASK}_edit", form | {"confirmed": "5", "typed": "5", "reason": "new sources"})
    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.reason) == (Outcome.DONE, "new sources")
    (lease,) = failed.exchange(want=1).leases
    assert (lease.id, lease.phase, lease.args) == ("count", "", b"[[7],{}]")
