"""The page of a task shows what follows it, and what it follows."""

from __future__ import annotations

import pytest
from django.test import Client

from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.inspecting.test_follow_ups import discarded, followed, shown, told
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def test_a_page_leads_to_what_follows_and_back(desk: Desk, operator: Client) -> None:
    id = followed.push().id
    page = operator.get(f"/ops/tasks/{id}/").content.decode()
    assert "success, failure, cancelled, crashed: <code>tests.told</code>" in page
    assert "in pool north" in page
    assert "Its end pushes its follow-up: tests.told." in operator.post(f"/ops/tasks/{id}/_cancel").content.decode()
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    (second,) = shown(id).followed_by
    page = operator.get(f"/ops/tasks/{id}/").content.decode()
    assert "Followed by" in page
    assert f"/ops/tasks/{second.id}/" in page
    page = operator.get(f"/ops/tasks/{second.id}/").content.decode()
    assert "pushed at its end: failure" in page
    assert f"/ops/tasks/{id}/" in page


def test_a_page_says_that_one_was_not_pushed(desk: Desk, operator: Client) -> None:
    desk.push("b", name="tests.old")
    option = {"success": told.using(id="b", on_conflict="reject").si(0)}
    id = followed.using(priority=5, follow_up=option).push().id
    desk.settle(desk.lease())
    assert "1 follow-up was not pushed" in operator.get(f"/ops/tasks/{id}/").content.decode()


def test_the_dead_commands_list_it_with_a_link_while_its_task_is_there(
    desk: Desk, operator: Client, viewer: Client
) -> None:
    desk.push("a", own=(("fu", "rubbish"),))
    desk.settle(desk.lease())
    gone = discarded(desk)
    page = operator.get("/ops/pool-messages/?place=dead").content.decode()
    assert "Follow-ups that could not be pushed" in page
    assert 'href="/ops/tasks/a/?pool=default"' in page
    assert f"{gone} <span" in page
    assert f"/ops/tasks/{gone}/" not in page
    assert "tests.told" in page
    assert "its id b is in use" in page
    assert "its id b is in use" not in viewer.get("/ops/pool-messages/?place=dead").content.decode()
    assert "Follow-ups that could not be pushed" not in operator.get("/ops/pool-messages/").content.decode()


def test_the_alarm_leads_to_the_list(desk: Desk, operator: Client) -> None:
    discarded(desk)
    assert 'href="/ops/pool-messages/?place=dead"' in operator.get("/ops/").content.decode()


def test_the_message_of_a_discard_says_what_was_not_pushed(desk: Desk, administrator: Client) -> None:
    desk.push("b", name="tests.old")
    option = {"discarded": told.using(id="b", on_conflict="reject").si(0)}
    id = followed.using(priority=5, follow_up=option).push().id
    desk.settle(desk.lease(), Outcome.QUARANTINE, b"odd")
    form = {"pool": "default", "confirmed": "1", "typed": "1", "reason": "odd", "next": "/ops/tasks/"}
    page = administrator.post(f"/ops/tasks/{id}/_discard", form, follow=True).content.decode()
    assert "Its follow-up could not be pushed: its id b is in use." in page
