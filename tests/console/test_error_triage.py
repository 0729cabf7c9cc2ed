"""Error triage: new, came again, resolved, muted, assigned; and one row for the same error of several pools."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import inspect
from queueops.model.marks import START, Mark
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def desks(namespace: str) -> list[Desk]:
    """Workers of three pools."""
    broker = get_broker()
    return [Desk(broker, pool) for pool in ("default", "mail", "bulk")]


def fail(desk: Desk, id: str) -> None:
    desk.push(id)
    for lease in desk.claim(1):
        desk.settle(lease, "error", b'{"type": "E", "message": "m"}', fingerprint="f1", title="E: m", delay_ms=-1)  # type: ignore[arg-type]


def told(client: Client, path: str) -> str:
    page = client.get(f"/ops/errors/{path}").content.decode().split("<main")[1].split("</main>")[0]
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


def listed(client: Client, show: str = "") -> int:
    return client.get(f"/ops/errors/?show={show}").content.decode().count('href="/ops/errors/f1/" data-open')


def test_the_same_error_of_three_pools_is_one_row_with_its_pools(desks: list[Desk], operator: Client) -> None:
    for number, desk in enumerate(desks):
        fail(desk, f"t{number}")
    assert listed(operator) == 1
    assert "bulk, default, mail" in told(operator, "")
    page = told(operator, "f1/")
    assert "Times 3" in page
    assert "Retry all…" in page


def test_a_resolved_error_comes_again_with_its_next_failure(
    desks: list[Desk], operator: Client, viewer: Client
) -> None:
    fail(desks[0], "a")
    assert "/_resolve" not in viewer.get("/ops/errors/f1/").content.decode()
    assert viewer.post("/ops/errors/f1/_resolve").status_code == 403
    assert operator.post("/ops/errors/none/_resolve").status_code == 404
    operator.post("/ops/errors/f1/_resolve")
    assert (listed(operator), listed(operator, "resolved")) == (0, 1)
    (group,) = inspect.errors()
    wait_until(lambda: inspect.now_ms() > group.last_ms + 1)
    fail(desks[1], "b")
    assert (listed(operator), listed(operator, "regressed"), listed(operator, "resolved")) == (1, 1, 0)
    assert "it came again" in told(operator, "f1/")
    operator.post("/ops/errors/f1/_resolve")
    operator.post("/ops/errors/f1/_reopen")
    assert "Ongoing." in told(operator, "f1/")
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", "outcome"))
    assert verbs == [
        ("resolve_error", "denied"),
        *[("resolve_error", "done")] * 2,
        ("reopen_error", "done"),
    ]


def test_an_error_is_muted_assigned_and_noted(desks: list[Desk], operator: Client, viewer: Client) -> None:
    fail(desks[0], "a")
    form = {"mute": "3600", "assignee": "operators", "note": "order 4711 is broken"}
    assert (
        "There is no active user"
        in operator.post("/ops/errors/f1/_note", form | {"assignee": "ghost"}).content.decode()
    )
    assert operator.post("/ops/errors/f1/_note", form | {"mute": "7"}).status_code == 422
    assert listed(operator) == 1
    assert operator.post("/ops/errors/f1/_note", form).status_code == 302
    assert (listed(operator), listed(operator, "muted"), listed(operator, "mine")) == (0, 1, 1)
    assert listed(viewer, "mine") == 0
    assert re.search(r"Muted until \d{4}-\d\d-\d\d [\d:]{8} \S+: its failures raise no alarm", told(operator, "f1/"))
    assert "4711" not in viewer.get("/ops/errors/f1/").content.decode()
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.target, entry.reason) == ("note_error", "E (f1)", "order 4711 is broken")
    operator.post("/ops/errors/f1/_note", form | {"mute": "keep", "note": ""})
    assert listed(operator, "muted") == 1
    operator.post("/ops/errors/f1/_note", {})
    assert (listed(operator), listed(operator, "mine")) == (1, 0)


def test_an_error_is_new_since_the_release_before_its_first_failure(desks: list[Desk], operator: Client) -> None:
    def start(version: str, at_ms: int) -> None:
        mark = Mark(START, f"w{version}", f"worker {version}", at_ms=at_ms, version=version, names="n")
        desks[1].broker.keep_marks(desks[1].pool, (), (mark,))

    fail(desks[0], "a")
    fail(desks[1], "b")
    first_ms = min(row.first_ms for row in inspect.errors())
    start("1", first_ms - 20 * 86_400_000)
    assert listed(operator, "new") == 0
    for version, at_ms, state in (("2", first_ms - 1000, 1), ("3", first_ms + 1000, 0)):
        start(version, at_ms)
        assert listed(operator, "new") == state
        page = operator.get("/ops/errors/f1/").content.decode()
        assert (f'href="/ops/?at={at_ms}">Workers of pool mail have the version {version};' in page) is bool(state)
