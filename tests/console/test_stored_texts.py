"""Texts that a store has kept in English, on a page in German: those of the engine are German, others as they are."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import inspect
from queueops.alerts.rules import next_step
from queueops.conf.alert_settings import AlertRule
from queueops.inspect.new_marks import seen
from queueops.management.queue.formatting import to_json
from queueops.model.alerts import Incident, Line
from queueops.model.contracts import Outcome
from queueops.model.marks import Condition
from queueops.redis.broker import get_broker
from queueops.worker.execution import failure
from tests.kernel.desk import NEVER_MS, POOL, Desk

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de"}
PAUSED = "Lane a of pool default is paused; 1 task waits."
IN_GERMAN = "Lane a des Pools default ist pausiert; 1 Task wartet."


@pytest.fixture
def desk(namespace: str) -> Desk:
    desk = Desk(get_broker())
    desk.broker.announce(POOL)
    return desk


def page(client: Client, path: str, language: str = "de") -> str:
    text = client.get(f"/ops/{path}", headers={"Accept-Language": language}).content.decode()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_an_alarm_of_before_the_deploy_is_english_and_one_of_after_it_german(desk: Desk, viewer: Client) -> None:
    desk.push("a", lane="a")
    desk.broker.lane(POOL, "a", paused=1)
    desk.broker.beat(POOL, "w1", {"names": "", "slots": 1})
    (alarm,) = [each for each in seen(POOL).conditions if each.text == PAUSED]
    # As the library of before wrote it: the text alone, in the hash and in the mark.
    now = desk.now()
    desk.client.hset(desk.keys.alarms, "old", f"{now - 60_000} {now - 60_000} warning Lane b was full.")
    desk.client.zadd(desk.keys.marks("alarms"), {'["alarm","old","Lane b was full.","warning"]': now - 60_000})
    late = json.dumps(["end", "late", f"{PAUSED}\x1e{alarm.sentence}", "warning"])
    desk.client.zadd(desk.keys.marks("alarms"), {late: now - 300_000})  # a watchdog of before ended an alarm of after
    odd = Condition("odd", "a\x1eb", "warning", "")
    assert desk.broker.keep_marks(POOL, [alarm, odd], []) == (2, 1)
    for about, value in desk.client.hgetall(desk.keys.alarms).items():
        begun, _seen, rest = value.split(b" ", 2)
        desk.client.hset(desk.keys.alarms, about, b"%s %d %s" % (begun, now - 40_000, rest))
    assert desk.broker.keep_marks(POOL, [], []) == (0, 2)  # they have ended
    told = [(mark.kind, str(mark.text)) for mark in inspect.series("1h").marks]
    assert sorted(told) == [
        *(("alarm", text) for text in (PAUSED, "Lane b was full.", "a\x1eb")),
        *(("end", text) for text in (PAUSED, PAUSED, "Lane b was full.", "a\x1eb")),
    ]
    desk.broker.draw(POOL, "w", 60_000)
    german, english = (page(viewer, "?range=1h", language) for language in ("de", "en"))
    assert (german.count(IN_GERMAN), german.count(PAUSED)) == (english.count(PAUSED), 0)
    assert german.count("Lane b was full.") == english.count("Lane b was full.") > 1


def test_alerts_keep_the_sentence_and_messages_are_english(desk: Desk, viewer: Client) -> None:
    desk.push("a", lane="a")
    desk.broker.lane(POOL, "a", paused=1)
    desk.broker.beat(POOL, "w1", {"names": "", "slots": 1})
    (alarm,) = [each for each in inspect.status().alarms if each.text == PAUSED]
    rule = AlertRule(name="all", to=("hook",), levels=("warning",))
    (incident,) = [each for each in next_step([rule], [alarm], {}, {}, desk.now()).values() if each is not None]
    assert incident.text == PAUSED
    before = Incident(rule="all", key="old", level="warning", text="Lane b was full.", begun_ms=1, seen_ms=desk.now())
    lines = [
        Line(at_ms=desk.now(), what="firing", text=incident.text, sentence=incident.sentence),
        Line(at_ms=1, what="firing", text="Lane b was full."),
    ]
    broker = get_broker()
    assert broker.take_alert_turn("w", 60_000)
    assert broker.keep_alerts("w", 60_000, {each.id: each for each in (incident, before)}, {}, lines)
    german = page(viewer, "alerts/")
    assert german.count(IN_GERMAN) >= 2
    assert german.count("Lane b was full.") >= 2
    assert PAUSED not in german


def test_the_reasons_of_ended_tasks_are_german_and_the_words_of_users_are_not(desk: Desk, operator: Client) -> None:
    desk.push("late", own=(("xe", f"+{NEVER_MS}"),))
    desk.client.hset(desk.keys.task("late"), "xe", 1)
    desk.client.zadd(desk.keys.agenda, {"~expiry:late": 1})
    desk.tick()
    desk.push("lost", retries=0)
    desk.lease()
    desk.expire("lost")
    desk.tick()
    desk.push("killed", "typed", "raised")
    leases = {lease.id: lease for lease in desk.claim(4)}
    killed = failure.plain("HardTimeout", "The task did not stop within 2.0 s, so its process was killed.")
    raised = failure.describe(ValueError("its record is lost"))
    for id, error in {"killed": killed, "raised": raised}.items():
        told = {"title": failure.title_of(error), "fingerprint": error.fingerprint}
        desk.settle(leases[id], Outcome.TIMEOUT, error.encoded(), delay_ms=-1, **told)
    log = (
        '{"k":"log","text":"3 chunks"}',
        '{"k":"log","text":"3 chunks keep their data: it has no fields, or would be too long"}',
    )
    desk.client.rpush(desk.keys.log("typed"), *log)  # code of a task can write both
    desk.settle(leases["typed"], Outcome.CANCEL, b"it was discarded")

    assert "abgelaufen: Er hatte nicht rechtzeitig begonnen" in page(operator, "tasks/late/")
    lost = page(operator, "tasks/lost/timeline/")
    assert "sein Lease ist abgelaufen: Der Worker w1 hat ihn nicht verlängert" in lost
    assert "it was not renewed" not in lost
    texts = {id: page(operator, f"tasks/{id}/attempts/") for id in ("killed", "typed", "raised")}
    assert "HardTimeout Der Task hielt nicht innerhalb von 2,0 s an" in texts["killed"]
    assert "it was discarded" in texts["typed"]
    assert "ValueError its record is lost" in texts["raised"]
    logged = page(operator, "tasks/typed/log/")
    assert "3 chunks " in logged
    assert "3 chunks keep" not in logged
    rows = page(operator, "tasks/")
    assert "abgelaufen: Er hatte" in rows
    assert "HardTimeout: Der Task hielt nicht" in rows
    assert "ValueError: its record is lost" in rows
    assert "Der Task hielt nicht innerhalb von 2,0 s an" in page(operator, "errors/")
    # Programs and readers of English get what is stored.
    assert json_of("late")["reason"] == "expired: it had not begun in time"
    assert "The task did not stop within 2.0 s" in page(operator, "tasks/killed/", "en")


def json_of(id: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(to_json(inspect.task(id)))
    return found


def test_the_answers_of_the_engine_in_the_audit_log_are_german(desk: Desk, administrator: Client) -> None:
    AuditEntry.objects.create(
        actor_name="ada",
        verb="retry",
        target="a",
        outcome="refused",
        detail="retry is not possible while it is locked",
        reason="it was discarded",
    )
    text = page(administrator, "audit/")
    assert "„Erneut versuchen“ ist im Zustand „läuft“ nicht möglich" in text
    assert "it was discarded" in text  # typed by ada
