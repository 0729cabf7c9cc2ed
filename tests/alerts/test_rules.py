"""Rules of alerts: when a message is made, with a clock of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from queueops.alerts.rules import ALL_POOLS, CALM_MS, GONE_MS, MOST_OPEN, next_step
from queueops.conf import alert_settings
from queueops.conf.alert_settings import AlertRule
from queueops.inspect import Alarm
from queueops.model.alerts import Incident, Silence, silenced_rule

BACKLOG = Alarm(key="growing billing", level="warning", text="The backlog grows.", pools=("billing",))
UNSERVED = Alarm(key="unserved default", level="danger", text="No live worker.", pools=("default",))
STORE = Alarm(key="store memory", level="danger", text="The store is full.")


def rule(**values: Any) -> AlertRule:
    return AlertRule(**({"name": "all", "to": ("ops",)} | values))


@dataclass
class Story:
    """What becomes of the incidents of some rules, step by step. All messages arrive at once."""

    rules: list[AlertRule]
    now_ms: int = 1_000_000_000
    incidents: dict[str, Incident] = field(default_factory=dict)
    silences: dict[str, Silence] = field(default_factory=dict)

    def after(self, seconds: float, *alarms: Alarm, unread: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        """The messages of the next step: what each says, and of which alarm."""
        self.now_ms += round(seconds * 1000)
        step = next_step(self.rules, alarms, self.incidents, self.silences, self.now_ms, unread=unread)
        for id, incident in step.items():
            if incident is None:
                del self.incidents[id]
            else:
                self.incidents[id] = incident
        sent = [(each.status, each.key) for each in self.incidents.values() for _ in each.waiting]
        for each in self.incidents.values():
            each.told = sorted({*each.told, *each.waiting})
            each.waiting = {}
        return sent


def test_an_alarm_is_told_once_then_repeated_and_its_end_is_told() -> None:
    story = Story([rule(repeat=600.0)])
    assert story.after(0, UNSERVED) == [("firing", UNSERVED.key)]
    (first,) = (each.message_id for each in story.incidents.values())
    assert story.after(599, UNSERVED) == []
    assert story.after(1, UNSERVED) == [("again", UNSERVED.key)]
    (second,) = (each.message_id for each in story.incidents.values())
    assert first != second
    assert story.after(GONE_MS / 1000) == []  # it may flicker, and be away for a minute
    assert story.after(30, UNSERVED) == []
    assert story.after(CALM_MS / 1000) == [("recovered", UNSERVED.key)]
    assert story.after(1) == []
    assert not story.incidents
    assert story.after(1, UNSERVED) == [("firing", UNSERVED.key)]


def test_an_alarm_must_last_and_one_that_ends_before_is_never_told() -> None:
    story = Story([rule(after=60.0)])
    assert story.after(0, BACKLOG) == []
    assert story.after(59) == []  # gone for 59 s: over
    assert not story.incidents
    assert story.after(1, BACKLOG) == []
    assert story.after(60, BACKLOG) == [("firing", BACKLOG.key)]


def test_an_alarm_that_the_store_knows_for_long_has_lasted_already() -> None:
    story = Story([rule(after=60.0)])
    known = Alarm(key="k", level="danger", text="", since_ms=story.now_ms - 61_000)
    assert story.after(0, known) == [("firing", "k")]


def test_a_rule_chooses_by_level_key_and_pool_and_a_store_alarm_concerns_all_pools() -> None:
    alarms = (BACKLOG, UNSERVED, STORE)
    told = {
        "level": Story([rule(levels=("danger",))]).after(0, *alarms),
        "key": Story([rule(alarms=("growing *", "nothing"))]).after(0, *alarms),
        "pool": Story([rule(pools=("bill*",))]).after(0, *alarms),
    }
    assert {name: [key for _, key in found] for name, found in told.items()} == {
        "level": [UNSERVED.key, STORE.key],
        "key": [BACKLOG.key],
        "pool": [BACKLOG.key, STORE.key],
    }


def test_a_rule_for_a_symptom_tells_of_its_cause() -> None:
    host = Alarm(key="host db:5432", level="warning", text="", followers=("failing charge", "failing refund"))
    assert Story([rule(alarms=("failing *",))]).after(0, host) == [("firing", "host db:5432")]


def test_messages_wait_for_the_end_of_quiet_hours() -> None:
    quiet = alert_settings.read_alerts(
        {"TARGETS": {"ops": {"mail": "a@b.c"}}, "RULES": {"r": {"to": ["ops"], "quiet": "22:00-07:00 Europe/Berlin"}}}
    ).rules
    story = Story(list(quiet), now_ms=round(datetime(2026, 11, 28, 21, 30, tzinfo=UTC).timestamp() * 1000))
    assert story.after(0, UNSERVED) == []  # 22:30 in Berlin
    assert story.after(8 * 3600, UNSERVED) == []  # 06:30
    assert story.after(1800, UNSERVED) == [("firing", UNSERVED.key)]


def test_an_acknowledged_alarm_is_not_repeated_but_its_end_is_told() -> None:
    story = Story([rule(repeat=60.0)])
    story.after(0, UNSERVED)
    story.silences[UNSERVED.key] = Silence(who="ada", at_ms=story.now_ms)
    assert story.after(600, UNSERVED) == []
    assert story.after(CALM_MS / 1000) == [("recovered", UNSERVED.key)]


def test_an_alarm_that_becomes_urgent_is_told_at_once_also_if_it_is_acknowledged() -> None:
    urgent = structs.replace(BACKLOG, level="danger")
    story = Story([rule()])
    story.after(0, BACKLOG)
    story.silences[BACKLOG.key] = Silence(who="ada", at_ms=story.now_ms)
    assert story.after(5, urgent) == [("again", BACKLOG.key)]
    assert story.after(5, urgent) == story.after(5, BACKLOG) == []


def test_a_silence_holds_all_messages_until_its_time() -> None:
    story = Story([rule(), rule(name="other")])
    story.silences[silenced_rule("all")] = Silence(who="ada", at_ms=0, until_ms=story.now_ms + 60_000)
    assert story.after(0, UNSERVED) == [("firing", UNSERVED.key)]  # of the other rule
    assert [each.rule for each in story.incidents.values() if each.number] == ["other"]
    assert story.after(60, UNSERVED) == [("firing", UNSERVED.key)]
    story.silences = {UNSERVED.key: Silence(who="ada", at_ms=0, until_ms=story.now_ms + 7_200_000)}
    assert story.after(3600, UNSERVED) == []


def test_without_the_store_unknown_alarms_neither_end_nor_repeat() -> None:
    away = Alarm(key="store away", level="danger", text="The store does not answer.")
    story = Story([rule(repeat=60.0)])
    story.after(0, UNSERVED)
    assert story.after(600, away, unread=(ALL_POOLS,)) == [("firing", "store away")]
    assert sorted(story.after(600, UNSERVED)) == [("again", UNSERVED.key), ("recovered", "store away")]


def test_alarms_of_a_pool_that_cannot_be_read_do_not_end() -> None:
    story = Story([rule()])
    story.after(0, UNSERVED, BACKLOG)
    gone = CALM_MS / 1000
    assert story.after(gone, unread=("billing",)) == [("recovered", UNSERVED.key)]
    assert story.after(gone, BACKLOG) == []  # it was there all the time
    assert story.after(gone) == [("recovered", BACKLOG.key)]


def test_an_alarm_that_follows_from_another_one_now_has_not_ended() -> None:
    frozen = Alarm(key="late frozen web-3", level="danger", text="", pools=("billing",), followers=(BACKLOG.key,))
    story = Story([rule(repeat=60.0)])
    story.after(0, BACKLOG)
    assert story.after(600, frozen) == [("firing", frozen.key)]
    assert story.after(600, frozen) == [("again", frozen.key)]
    assert story.after(600, BACKLOG) == [("again", BACKLOG.key), ("recovered", frozen.key)]
    assert story.after(CALM_MS / 1000) == [("recovered", BACKLOG.key)]


def test_a_storm_of_alarms_opens_a_bounded_number_of_incidents() -> None:
    story = Story([rule()])
    storm = [Alarm(key=f"lane {number}", level="warning", text="") for number in range(MOST_OPEN + 20)]
    assert len(story.after(0, *storm)) == MOST_OPEN
    assert len(story.after(1, *storm[30:])) == 0
    assert len(story.after(CALM_MS / 1000, *storm[30:])) == 30  # recovered
    story.after(1, *storm[30:])
    assert len(story.after(1, *storm[30:])) == 20  # those had to wait


def test_a_rule_that_leaves_the_settings_takes_its_incidents_along() -> None:
    story = Story([rule()])
    story.after(0, UNSERVED)
    story.rules = []
    assert story.after(1, UNSERVED) == []
    assert not story.incidents


def test_a_rule_without_recovery_ends_in_silence() -> None:
    story = Story([rule(recovered=False, repeat=0.0)])
    story.after(0, UNSERVED)
    assert story.after(90_000, UNSERVED) == []
    assert story.after(CALM_MS / 1000) == []
    assert not story.incidents
