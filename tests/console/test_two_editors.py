"""Two operators who edit one task: the second one is asked before anything is overwritten."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import control, get
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
PAGE, SAVE = "/ops/tasks/a/edit/", "/ops/tasks/a/_edit"


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    desk.push("a", name="shop.mail", args=b'[[1],{"to":"x"}]')
    return desk


def version_in(page: str) -> str:
    (found,) = re.findall(r'name="version" value="([^"]*)"', page)
    return found


def sent(page: str, number: int) -> dict[str, str]:
    return {"pool": "default", "version": version_in(page), "args": f"[{number}]", "kwargs": "{}"}


def test_the_second_editor_sees_what_the_first_one_saved_and_may_replace_it(
    desk: Desk, administrator: Client, operator: Client
) -> None:
    mine, theirs = (client.get(PAGE).content.decode() for client in (administrator, operator))
    assert operator.post(SAVE, sent(theirs, 2)).status_code == 302
    refused = administrator.post(SAVE, sent(mine, 3))
    text = html.unescape(refused.content.decode())
    assert refused.status_code == 422
    assert get("a").status().args == [2]
    assert "an operator has acted on it meanwhile" in text
    assert "These are its present arguments. Save again to replace them with yours." in text
    assert 'aria-label="Present positional arguments"' in text
    assert administrator.post(SAVE, sent(text, 3)).status_code == 302
    assert get("a").status().args == [3]
    assert [entry.outcome for entry in AuditEntry.objects.order_by("pk")] == ["done", "refused", "done"]


def test_another_refusal_keeps_what_the_operator_has_seen(desk: Desk, administrator: Client) -> None:
    page = administrator.get(PAGE).content.decode()
    control.set_priority(["a"], 5)
    wrong = administrator.post(SAVE, sent(page, 3) | {"args": "no JSON"}).content.decode()
    assert version_in(wrong) == version_in(page)
    assert administrator.post(SAVE, sent(wrong, 3)).status_code == 422


def test_two_edits_in_the_same_moment_are_told_apart_by_the_store(desk: Desk) -> None:
    words = [control.edit_and_retry("a", [number], None, seen="-").word for number in (1, 2)]
    assert words == ["OK", "REFUSED"]
    assert get("a").status().args == [1]
