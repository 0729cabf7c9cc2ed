"""Stacks on the page of a worker: who may ask, what is recorded, and what is shown."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import inspect
from queueops.redis.broker import get_broker
from tests.inspecting.test_why import beat
from tests.kernel.desk import POOL, Desk

pytestmark = pytest.mark.django_db
PAGE = "/ops/workers/w1/"
DUMP = 'Thread 0x1 (most recent call first):\n  File "shop/tasks.py", line 7 in send_mail\npassword=hunter2\n'


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    desk.push("a")
    beat(desk)
    return desk


def said(client: Client) -> str:
    page = client.get(PAGE).content.decode()
    return html.unescape(re.sub(r"<[^>]+>", " ", page[page.index('id="stacks"') :]))


def test_an_operator_asks_and_all_who_see_the_page_see_the_answer(desk: Desk, operator: Client, viewer: Client) -> None:
    assert "No stacks were asked for" in said(viewer)
    assert operator.post(f"{PAGE}_stacks", {"next": PAGE}).headers["Location"] == PAGE
    (entry,) = AuditEntry.objects.all()
    assert (entry.verb, entry.target, entry.outcome) == ("stacks", "w1", "done")
    assert "has not answered yet" in said(viewer)
    assert desk.broker.wants_stack(POOL, "w1")
    assert desk.client.lrange(desk.keys.wake("w1"), -1, -1) == [b"stack"]
    assert desk.broker.keep_stack(POOL, "w1", DUMP)
    text = said(viewer)
    assert 'File "shop/tasks.py", line 7 in send_mail' in text
    assert "has not answered" not in text
    assert "as of" in text
    assert "hunter2" not in text


def test_an_answer_without_a_request_or_after_another_one_is_not_kept(desk: Desk) -> None:
    assert not desk.broker.keep_stack(POOL, "w1", "early")
    assert inspect.worker("w1").stacks is None  # type: ignore[union-attr]
    desk.broker.tell(POOL, "w1", "stack")
    assert desk.broker.keep_stack(POOL, "w1", "the first")
    assert not desk.broker.keep_stack(POOL, "w1", "late")
    assert inspect.worker("w1").stacks.text == "the first"  # type: ignore[union-attr]
    assert 0 < desk.client.pttl(desk.keys.stack("w1")) <= 3_600_000


def test_a_viewer_may_not_ask(desk: Desk, viewer: Client) -> None:
    assert "Ask for stacks" not in said(viewer)
    assert viewer.post(f"{PAGE}_stacks").status_code == 403
    assert not desk.broker.wants_stack(POOL, "w1")
