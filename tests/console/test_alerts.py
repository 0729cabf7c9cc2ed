"""The page Alerts with a real store: what it shows, and what an operator and an administrator may do there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import alerts, inspect
from queueops.alerts.alerting import Alerting
from queueops.inspect import Alarm
from queueops.redis.broker import get_broker
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import LocalServer, serving
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
HUNG = Alarm(key="stuck default", level="danger", text="All 12 slots are busy.", command="manage.py queue workers")
SECRET = "hunter2hunter2"


@pytest.fixture
def receiver(settings: Any, namespace: str) -> Iterator[LocalServer]:
    with serving({f"/{SECRET}": lambda exchange: exchange.answer(204)}) as server:
        told = {
            "TARGETS": {
                "hook": {"webhook": server.url(f"/{SECRET}")},
                "mail": {"mail": ["ada@example.com"]},
                "chat": {"apprise": f"slack://{SECRET}/b/c"},
            },
            "RULES": {"urgent": {"to": ["hook"], "levels": ["danger"], "quiet": "02:00-02:01"}},
            "HEARTBEAT": {"url": server.url(f"/{SECRET}"), "every": 30},
        }
        settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL, "ALERTS": told}
        yield server


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def test_an_alarm_of_which_no_rule_tells_is_listed_with_its_remedy_and_the_way_to_its_cause(
    namespace: str, administrator: Client, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.alerts.STATUS_AGE_S", 0.0)
    desk = Desk(get_broker())
    desk.tick()
    desk.broker.beat("default", "w1", {"names": "", "slots": 1})
    assert "Everything is well." in text(viewer.get("/ops/alerts/"))
    desk.push("a", lane="slow")
    desk.broker.lane("default", "slow", paused=1)
    page = administrator.get("/ops/alerts/").content.decode()
    assert page.count("Lane slow of pool default is paused; 1 task waits.") == 2, "once, and in the words of its link"
    assert "no rule tells of it" in page
    assert 'href="/ops/lanes/default/slow/"' in page
    assert 'action="/ops/lanes/default/slow/_resume"' in page
    assert "/_acknowledge" not in page
    assert "/_resume" not in viewer.get("/ops/alerts/_rows").content.decode()
    desk.broker.lane("default", "slow", paused=0)
    assert "Everything is well." in text(viewer.get("/ops/alerts/"))


def test_without_a_rule_the_page_says_what_it_is_for_and_how_to_begin(namespace: str, viewer: Client) -> None:
    page = text(viewer.get("/ops/alerts/"))
    assert "Without a rule an alarm is on this screen only." in page
    assert "QUEUEOPS[&quot;ALERTS&quot;] = {" in page or 'QUEUEOPS["ALERTS"] = {' in page


def test_an_operator_acknowledges_and_silences_an_alarm_and_the_audit_log_has_it(
    receiver: LocalServer, client_of: Callable[..., Client]
) -> None:
    Alerting(look=lambda: ([HUNG], True)).round()
    operator = client_of("operators")
    answer = operator.get("/ops/alerts/")
    page = text(answer)
    for told in (
        "All 12 slots are busy.",
        "manage.py queue workers",
        "urgent",
        "a***@example.com",
        "slack://[redacted]",
    ):
        assert told in page
    assert SECRET not in answer.content.decode()
    (row,) = alerts.alerts().incidents
    place = f"/ops/alerts/{row.incident.id}"
    assert f"{place}/_acknowledge" in answer.content.decode()
    assert operator.post(f"{place}/_acknowledge").status_code == 302
    page = text(operator.get("/ops/alerts/"))
    assert "acknowledged by operators" in page
    assert "It is not repeated. Its end is still sent." in page
    assert "End the silence" not in page, "it is acknowledged, and not silent"
    assert operator.post(f"{place}/_unacknowledge").status_code == 302
    assert operator.post(f"{place}/_silence", {"seconds": "3600"}).status_code == 302
    page = text(operator.get("/ops/alerts/"))
    assert "silent until" in page
    assert "End the silence" in page
    assert operator.post(f"{place}/_silence", {"seconds": "nonsense"}).status_code == 200  # it asks
    assert operator.post("/ops/alerts/gone/_acknowledge").status_code == 302
    assert "There is no open alert or rule gone." in text(operator.get("/ops/alerts/"))
    entries = AuditEntry.objects.order_by("pk").values_list("verb", "target", "outcome")
    whole = "urgent: All 12 slots are busy"
    assert list(entries) == [
        ("acknowledge_alert", whole, "done"),
        ("unacknowledge_alert", whole, "done"),
        ("silence_alert", whole, "done"),
        ("acknowledge_alert", "gone", "failed"),
    ]
    for path in ("rules/urgent/_silence", "targets/hook/_test"):
        assert operator.post(f"/ops/alerts/{path}", {"seconds": "3600", "confirmed": "1"}).status_code == 403
    assert "_test" not in answer.content.decode()


def test_an_action_on_a_line_is_for_the_cause_and_all_that_follows_from_it(
    receiver: LocalServer, client_of: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = Alarm(key="silent w1", level="danger", text="Process w1 is silent.", followers=(HUNG.key,))
    seen = [HUNG]
    alerting = Alerting(look=lambda: (seen, ()))
    alerting.round()
    seen[:] = [cause]
    alerting.round()
    status = msgspec.structs.replace(inspect.status(), alarms=(cause,))
    monkeypatch.setattr(inspect, "status", lambda *_: status)
    operator = client_of("operators")

    def press(verb: str, **values: str) -> set[int]:
        """The times until which the alarms of the line are silent; 0 is acknowledged."""
        page = operator.get("/ops/alerts/").content.decode()
        (form,) = re.findall(rf'<form [^>]*action="(/ops/alerts/[^/"]+/_{verb})">(.*?)</form>', page, re.S)
        others = re.findall(r'name="incident" value="([^"]+)"', form[1])
        assert len(others) == 1
        assert operator.post(form[0], {"incident": others} | values).status_code == 302
        return {row.silence.until_ms if row.silence else -1 for row in alerts.alerts().incidents}

    assert press("acknowledge") == {0}
    entry = AuditEntry.objects.get()
    names = ["urgent: All 12 slots are busy", "urgent: Process w1 is silent"]
    assert (entry.verb, sorted(entry.target.split("; ")), entry.count) == ("acknowledge_alert", names, 1)
    assert "Alarms" in text(operator.get(f"/ops/audit/{entry.pk}/"))
    assert press("unacknowledge") == {-1}
    assert min(press("silence", seconds="3600")) > 0
    assert press("unsilence") == {-1}
    row = alerts.alerts().incidents[0]
    alerts.acknowledge(row.incident.id, "gone", who="ada")
    assert press("acknowledge") == {0}, "a line of which a part is acknowledged"
    assert AuditEntry.objects.count() == 5


def test_an_administrator_silences_a_rule_after_a_question_and_sends_a_test(
    receiver: LocalServer, administrator: Client
) -> None:
    rule = "/ops/alerts/rules/urgent"
    question = text(administrator.post(f"{rule}/_silence", {"seconds": "3600"}))
    assert "No alarm reaches a person by this rule until then." in question
    assert administrator.post(f"{rule}/_silence", {"seconds": "3600", "confirmed": "1"}).status_code == 302
    assert "silent until" in text(administrator.get("/ops/alerts/"))
    assert Alerting(look=lambda: ([HUNG], True)).round() == 0
    assert administrator.post(f"{rule}/_unsilence").status_code == 302
    assert administrator.post("/ops/alerts/targets/hook/_test").status_code == 302
    (asked,) = receiver.asked
    assert json.loads(asked.body)["type"] == "queueops.alert.test"
    assert "The target has accepted it. See whether it arrives." in text(administrator.get("/ops/alerts/"))
    receiver.routes[f"/{SECRET}"] = lambda exchange: exchange.answer(403)
    assert administrator.post("/ops/alerts/targets/hook/_test").status_code == 302
    answer = administrator.get("/ops/alerts/")
    assert "The test did not reach the target hook: The answer has the status 403." in text(answer)
    assert SECRET not in answer.content.decode()
    last = AuditEntry.objects.latest("pk")
    assert (last.verb, last.target, last.outcome, "403" in last.detail) == ("test_alert", "hook", "failed", True)
    assert administrator.post("/ops/alerts/targets/unknown/_test").status_code == 302
    assert "There is no open alert or rule unknown." in text(administrator.get("/ops/alerts/"))


def test_the_live_update_answers_only_what_has_changed(receiver: LocalServer, viewer: Client) -> None:
    alerting = Alerting(look=lambda: ([HUNG], True))
    alerting.round()
    live = re.search(r'hx-get="(/ops/alerts/_rows[^"]*)"', viewer.get("/ops/alerts/").content.decode())
    assert live is not None
    url = live[1].replace("&amp;", "&")
    alerting.round()
    assert viewer.get(url).status_code == 204
    (row,) = alerts.alerts().incidents
    alerts.acknowledge(row.incident.id, who="ada")
    assert "acknowledged by ada" in text(viewer.get(url))
