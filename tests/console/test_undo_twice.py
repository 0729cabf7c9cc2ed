"""Two who click on one undo at the same moment, with the database and the store as they are in production."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from console.actions import bulk
from console.models import AuditEntry, Outcome
from console.pages import bulk as views
from console.pages import undo
from queueops.redis.broker import get_broker
from tests.console.test_mass import states, the_whole
from tests.kernel.desk import Desk
from tests.operations.playing import claimed, through

pytestmark = pytest.mark.django_db(transaction=True)
Click = Callable[[str], None]
TASKS = ["a", "b", "c", "d"]
ROUNDS = range(3)


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


@pytest.fixture
def one() -> Client:
    return browser("one")


@pytest.fixture
def both(one: Client) -> Click:
    """Two people post at once, each with a connection of their own."""
    browsers = [one, browser("other")]

    def post(path: str) -> None:
        gate = Barrier(len(browsers))

        def click(browser: Client) -> int:
            try:
                gate.wait()
                return browser.post(path).status_code
            finally:
                connections.close_all()

        with ThreadPoolExecutor(len(browsers)) as pool:
            assert list(pool.map(click, browsers)) == [302] * len(browsers)

    return post


@pytest.fixture
def whole(desk: Desk, one: Client, monkeypatch: pytest.MonkeyPatch) -> AuditEntry:
    """A cancel of all that match, in parts of one task each."""
    for module in (bulk, views):
        monkeypatch.setattr(module, "MOST", 1)
    monkeypatch.setattr(bulk, "SECONDS", 60.0)
    desk.push(*TASKS)
    one.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": str(len(TASKS))})
    entry = the_whole()
    assert entry.parts.count() == len(TASKS)
    return entry


def browser(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(name))
    return client


@pytest.mark.parametrize("round_", ROUNDS)
def test_two_clicks_on_one_undo_take_it_back_once(round_: int, desk: Desk, one: Client, both: Click) -> None:
    desk.push(*TASKS)
    one.post("/ops/tasks/_cancel", {"task": [f"default {id}" for id in TASKS]})
    entry = the_whole()
    both(f"/ops/audit/{entry.pk}/_undo")
    assert AuditEntry.objects.get(undoes=entry).changed == len(TASKS)
    assert states(*TASKS) == ["pending"] * len(TASKS)


@pytest.mark.parametrize("round_", ROUNDS)
def test_two_clicks_on_the_undo_of_all_that_match_take_each_part_back_once(
    round_: int, whole: AuditEntry, both: Click
) -> None:
    both(f"/ops/audit/{whole.pk}/_undo")
    undoing = AuditEntry.objects.get(undoes=whole)
    assert (undoing.seen, undoing.changed, undoing.outcome) == (len(TASKS), len(TASKS), Outcome.DONE)
    assert undoing.parts.count() == len(TASKS)
    assert states(*TASKS) == ["pending"] * len(TASKS)


@pytest.mark.parametrize("round_", ROUNDS)
def test_two_clicks_on_the_undo_of_what_workers_did_begin_it_once(
    round_: int, desk: Desk, one: Client, both: Click, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (bulk, views):
        monkeypatch.setattr(module, "MOST", 1)
    desk.push(*TASKS)
    desk.broker.beat("default", "w1", {"names": "", "slots": 8, "host": "elsewhere", "pools": "default"})
    one.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": str(len(TASKS))})
    entry, lease = the_whole(), claimed(desk)
    assert through(lease).changed == len(TASKS)
    desk.settle(lease)
    both(f"/ops/audit/{entry.pk}/_undo")
    assert AuditEntry.objects.get(undoes=entry).count == len(TASKS)
    assert through(claimed(desk)).changed == len(TASKS)
    assert states(*TASKS) == ["pending"] * len(TASKS)
    assert desk.claim(500)[0].kind != "bulk_action"


def test_an_undo_that_another_request_ended_in_the_meantime_undoes_nothing(
    whole: AuditEntry, one: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = browser("other")
    monkeypatch.setattr(undo, "alone", after(lambda: one.post(f"/ops/audit/{whole.pk}/_undo"), undo.alone))
    answer = other.post(f"/ops/audit/{whole.pk}/_undo", follow=True)
    assert "There is nothing left to undo." in answer.content.decode()
    assert AuditEntry.objects.get(undoes=whole).changed == len(TASKS)


def after(
    act: Callable[[], object], lock: Callable[[AuditEntry], AbstractContextManager[None]]
) -> Callable[[AuditEntry], AbstractContextManager[None]]:
    """The lock, before whose first use another request acts."""
    acts = [act]

    @contextmanager
    def late(entry: AuditEntry) -> Iterator[None]:
        if acts:
            acts.pop()()
        with lock(entry):
            yield

    return late
