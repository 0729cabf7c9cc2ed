"""The loop that sends: one of several watchdogs, again after a crash, and directly while the store is away."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from msgspec.structs import replace

from queueops import alerts, conf, inspect
from queueops.alerts.alarm import STORE_AWAY, alarms_now
from queueops.alerts.alerting import MOST_ATTEMPTS, Alerting
from queueops.alerts.overview import AlertGone
from queueops.inspect import Alarm
from queueops.redis import keys
from queueops.redis.broker import get_broker
from queueops.watchdog import Watchdog
from tests.alerts.conftest import UseAlerts
from tests.jobs.servers import LocalServer
from tests.support.tasks_for_tests import add

HUNG = Alarm(key="stuck default", level="danger", text="All 12 slots are busy.", pools=("default",))


class Alarms:
    """What a watchdog sees."""

    def __init__(self, *alarms: Alarm) -> None:
        self.alarms = list(alarms)

    def __call__(self) -> tuple[list[Alarm], tuple[str, ...]]:
        return self.alarms, ()


@pytest.fixture
def seen(use_alerts: UseAlerts, receiver: LocalServer) -> Alarms:
    """One alarm, and a rule that sends it to a web server."""
    use_alerts({"hook": {"webhook": receiver.url("/hook")}}, {"urgent": {"to": ["hook"]}})
    return Alarms(HUNG)


def statuses(receiver: LocalServer) -> list[str]:
    return [json.loads(each.body)["data"]["status"] for each in receiver.asked]


def pass_time(ms: int) -> None:
    """Make the stored incidents older, as if so much time had passed, and their next attempts due."""
    broker = get_broker()
    state = broker.alert_state()
    broker.take_alert_turn("test", 60_000)
    for incident in state.incidents.values():
        incident.seen_ms -= ms
        incident.sent_ms -= ms
        for attempts in incident.waiting.values():
            attempts.due_ms = max(0, attempts.due_ms - ms)
    assert broker.keep_alerts("test", 60_000, state.incidents)
    broker.end_alert_turn("test")


def test_two_watchdogs_send_an_alarm_once_and_its_end_once(seen: Alarms, receiver: LocalServer) -> None:
    first, second = Alerting(look=seen), Alerting(look=seen)
    assert [first.round(), second.round(), first.round(), second.round()] == [1, 0, 0, 0]
    (row,) = alerts.alerts().incidents
    assert (row.incident.rule, row.incident.key, row.incident.told) == ("urgent", HUNG.key, ["hook"])
    cause = Alarm(key="silent w1", level="danger", text="A process is silent.", followers=(HUNG.key,))
    assert [line.incidents for line in alerts.open_alarms([cause], [row])] == [[row]], "one incident is one line"
    effect = row._replace(incident=replace(row.incident, key="follows", sent_ms=1), errors=[("hook", "refused")])
    (line,) = alerts.open_alarms([replace(cause, followers=(HUNG.key, "follows"))], [row, effect])
    assert line.sent == [row._replace(errors=[("hook", "refused")])], "a rule is told once, with the errors of all"
    seen.alarms.clear()
    pass_time(91_000)
    assert [second.round(), first.round()] == [1, 0]
    assert statuses(receiver) == ["firing", "recovered"]
    found = alerts.alerts()
    assert found.incidents == []
    assert [(line.what, line.rule, line.target) for line in found.history] == [
        ("recovered", "urgent", "hook"),
        ("firing", "urgent", "hook"),
    ]


def test_a_watchdog_that_has_the_turn_keeps_the_others_from_sending(seen: Alarms, receiver: LocalServer) -> None:
    assert get_broker().take_alert_turn("another", 60_000)
    assert Alerting(look=seen).round() == 0
    assert not receiver.asked
    get_broker().end_alert_turn("another")
    assert Alerting(look=seen).round() == 1


def test_a_watchdog_that_lost_its_turn_changes_nothing(seen: Alarms) -> None:
    broker = get_broker()
    assert broker.take_alert_turn("slow", 60_000)
    broker.end_alert_turn("slow")
    assert broker.take_alert_turn("next", 60_000)
    assert not broker.keep_alerts("slow", 60_000, {})
    broker.end_alert_turn("slow")
    assert not broker.take_alert_turn("third", 60_000)


def test_a_silent_target_is_tried_again_and_then_is_an_alarm_on_screen(
    seen: Alarms, receiver: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.routes["/hook"] = lambda exchange: exchange.answer(503)
    add.push(1)
    watchdog, alerting = Watchdog(get_broker()), Alerting(look=seen)
    for _ in range(MOST_ATTEMPTS):
        assert alerting.round() == 0
        pass_time(300_000)
    assert len({each.headers["webhook-id"] for each in receiver.asked}) == 1
    assert len(receiver.asked) == MOST_ATTEMPTS
    (target,) = alerts.alerts().targets
    assert (target.state.lost, "503" in target.state.error) == (1, True)
    assert [line.what for line in alerts.alerts().history] == ["given up", "firing"]
    watchdog.round()
    told = [alarm.text for alarm in inspect.snapshot().alarms if "hook" in alarm.text]
    assert len(told) == 1
    assert "Alerts do not reach the target hook: 1 message was given up" in told[0]
    receiver.routes["/hook"] = lambda exchange: exchange.answer(200)
    alerts.send_test("hook", who="ada")
    alerting.round()
    get_broker().client.delete(get_broker().keys("default").sampler)
    watchdog.round()
    assert not [alarm for alarm in inspect.snapshot().alarms if "hook" in alarm.text]


def test_with_the_store_away_an_alarm_is_sent_directly_and_its_end_when_it_is_back(
    seen: Alarms, receiver: LocalServer, settings: Any
) -> None:
    alerting = Alerting(look=alarms_now)
    there = settings.QUEUEOPS
    assert alerting.round() == 0
    away = get_broker().hasty().servers
    settings.QUEUEOPS = there | {"URL": "redis://127.0.0.1:1/0", "RETRY": {"attempts": 1}}
    outside = Alerting(look=alarms_now)
    assert away is not get_broker().hasty().servers
    assert [outside.round(), outside.round()] == [1, 0]
    (incident,) = outside._memory.incidents.values()
    assert (incident.key, statuses(receiver)) == (STORE_AWAY, ["firing"])
    settings.QUEUEOPS = there
    outside._memory._broker = get_broker().hasty()  # the store is back
    assert outside.round() == 0
    pass_time(91_000)
    assert alerting.round() == 1
    assert statuses(receiver) == ["firing", "recovered"]
    assert {line.text.partition(":")[0] for line in alerts.alerts().history} == {"The store does not answer"}


def test_acknowledge_and_silence_are_kept_in_the_store_and_told_in_the_history(
    seen: Alarms, receiver: LocalServer
) -> None:
    alerting = Alerting(look=seen)
    alerting.round()
    (row,) = alerts.alerts().incidents
    alerts.acknowledge(row.incident.id, who="ada")
    pass_time(3_600_000)
    assert alerting.round() == 0
    (row,) = alerts.alerts().incidents
    assert row.silence is not None
    assert (row.silence.until_ms, row.silence.who) == (0, "ada")
    alerts.unacknowledge(row.incident.id, who="ada")
    pass_time(3_600_000)
    assert alerting.round() == 1
    alerts.silence(row.incident.id, seconds=3600, who="bob")
    alerts.silence_rule("urgent", seconds=60, who="bob")
    pass_time(7_200_000)
    assert alerting.round() == 0
    alerts.unsilence_rule("urgent", who="bob")
    (rule,) = alerts.alerts().rules
    assert (rule.firing, rule.silence) == (1, None)
    lines = [(line.what, line.who, line.rule) for line in alerts.alerts().history if line.who]
    assert lines == [
        ("unsilenced", "bob", "urgent"),
        ("silenced", "bob", "urgent"),
        ("silenced", "bob", ""),
        ("unacknowledged", "ada", ""),
        ("acknowledged", "ada", ""),
    ]
    assert [line.what for line in get_broker().alert_state(2).history] == ["unsilenced", "silenced"]
    with pytest.raises(AlertGone):
        alerts.acknowledge("unknown", who="ada")
    with pytest.raises(AlertGone):
        alerts.silence_rule("unknown", seconds=60, who="ada")


def test_an_acknowledgement_ends_with_its_alarm(seen: Alarms) -> None:
    alerting = Alerting(look=seen)
    alerting.round()
    (row,) = alerts.alerts().incidents
    alerts.acknowledge(row.incident.id, who="ada")
    seen.alarms.clear()
    pass_time(91_000)
    alerting.round()
    alerting.round()
    assert get_broker().alert_state().incidents == {}
    alerting.round()
    assert get_broker().alert_state().silences == {}


def test_state_that_cannot_be_read_is_left_out_and_a_key_of_a_wrong_type_stops_no_alert(
    seen: Alarms, receiver: LocalServer, redis_client: redis.Redis
) -> None:
    namespace = conf.current().namespace
    for part in ("incidents", "silences", "targets"):
        redis_client.hset(keys.alerts(namespace, part), mapping={"x": "{", "y": b"\xff", "z": '{"rule": 1}'})
    redis_client.lpush(keys.alerts(namespace, "history"), "nonsense")
    assert alerts.alerts().incidents == []
    redis_client.set(keys.alerts(namespace, "incidents"), "a string")
    assert Alerting(look=seen).round() == 1
    assert statuses(receiver) == ["firing"]


def test_a_target_that_left_the_settings_gets_nothing(
    seen: Alarms, receiver: LocalServer, use_alerts: UseAlerts
) -> None:
    receiver.routes["/hook"] = lambda exchange: exchange.answer(503)
    Alerting(look=seen).round()
    pass_time(300_000)
    use_alerts({"other": {"webhook": receiver.url("/hook")}}, {"urgent": {"to": ["other"]}})
    Alerting(look=seen).round()
    assert len(receiver.asked) == 1
    (row,) = alerts.alerts().incidents
    assert row.incident.waiting == {}
