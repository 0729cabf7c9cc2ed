"""What the console shows of alerts, and what an operator does: acknowledge, silence, send a test."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from queueops import conf
from queueops.alerts import channels
from queueops.alerts.message import message_of_test
from queueops.conf.alert_settings import AlertRule, Heartbeat
from queueops.errors import QueueOpsError
from queueops.model.alerts import KEPT_MS, TEST, Incident, Line, Silence, TargetState, silenced_rule
from queueops.redis.broker import get_broker

if TYPE_CHECKING:
    from queueops.inspect import Alarm

HISTORY = 100
LONGEST_SILENCE_S = KEPT_MS / 1000


class AlertGone(QueueOpsError):
    """There is no open alert or rule {name}. Perhaps the alarm has ended: load the page again."""

    name: str


class AlertNotSent(QueueOpsError):
    """The test did not reach the target {target}: {error}"""

    target: str
    error: str


class IncidentRow(NamedTuple):
    """One alarm that a rule has matched."""

    incident: Incident
    silence: Silence | None
    errors: list[tuple[str, str]]  # target and error of the last attempt


class RuleRow(NamedTuple):
    """One rule of the settings."""

    rule: AlertRule
    silence: Silence | None
    firing: int


class TargetRow(NamedTuple):
    """One target of the settings, masked."""

    name: str
    channel: str
    shown: str
    state: TargetState


class AlertsView(NamedTuple):
    """All of the page about alerts."""

    incidents: list[IncidentRow]
    rules: list[RuleRow]
    targets: list[TargetRow]
    history: Sequence[Line]
    heartbeat: Heartbeat | None


class OpenAlarm(NamedTuple):
    """An alarm of now, or one that has ended and of which a rule still has to tell."""

    key: str
    alarm: Alarm | None
    incidents: list[IncidentRow]

    @property
    def sent(self) -> list[IncidentRow]:
        """What each rule has sent of it: of several incidents the latest message, and the errors of all."""
        by_rule: dict[str, list[IncidentRow]] = {}
        for row in self.incidents:
            by_rule.setdefault(row.incident.rule, []).append(row)
        return [
            max(rows, key=lambda row: row.incident.sent_ms)._replace(
                errors=[each for row in rows for each in row.errors]
            )
            for rows in by_rule.values()
        ]

    @property
    def silence(self) -> Silence | None:
        """The silence or the acknowledgement of all its incidents; None if one of them has none."""
        found = [row.silence for row in self.incidents]
        return max(filter(None, found), key=lambda each: each.until_ms) if found and all(found) else None


def alerts() -> AlertsView:
    """Rules, open incidents, targets and the newest lines of the history: one round trip."""
    settings = conf.current().alerts
    state = get_broker().hasty().alert_state(HISTORY)
    silences = {name: each for name, each in state.silences.items() if not 0 < each.until_ms <= state.now_ms}
    open_ones = sorted(state.incidents.values(), key=lambda each: (each.level != "danger", each.begun_ms, each.id))
    return AlertsView(
        [
            IncidentRow(
                each,
                silences.get(each.key),
                [(target, attempts.error) for target, attempts in each.waiting.items() if attempts.error],
            )
            for each in open_ones
        ],
        [
            RuleRow(rule, silences.get(silenced_rule(rule.name)), sum(each.rule == rule.name for each in open_ones))
            for rule in settings.rules
        ],
        [
            TargetRow(name, each.channel, channels.shown(each), state.targets.get(name, TargetState()))
            for name, each in settings.targets.items()
        ],
        state.history,
        settings.heartbeat,
    )


def open_alarms(alarms: Iterable[Alarm], incidents: Iterable[IncidentRow]) -> Iterator[OpenAlarm]:
    """The alarms of now, each with what rules have sent of it and of its followers; then of alarms that have ended."""
    by_key: dict[str, list[IncidentRow]] = {}
    for row in incidents:
        by_key.setdefault(row.incident.key, []).append(row)
    for alarm in alarms:
        keys = (alarm.key, *alarm.followers)
        yield OpenAlarm(alarm.key, alarm, [row for key in keys for row in by_key.pop(key, [])])
    for key, rows in by_key.items():
        yield OpenAlarm(key, None, rows)


def open_incidents(ids: Iterable[str]) -> list[Incident]:
    """Those of these ids that are open. Raises AlertGone if none is."""
    ids, known = tuple(ids), get_broker().hasty().alert_state().incidents
    found = [known[id] for id in ids if id in known]
    if not found:
        raise AlertGone(name=", ".join(ids))
    return found


def acknowledge(*ids: str, who: str) -> None:
    """Stop the repeats of alarms until they end. Raises AlertGone if none of them is open."""
    _change_all(ids, Silence(who=who, at_ms=_now_ms()), "acknowledged", who)


def unacknowledge(*ids: str, who: str) -> None:
    """End the acknowledgement of alarms: they are repeated again. Raises AlertGone if none of them is open."""
    _change_all(ids, None, "unacknowledged", who)


def silence(*ids: str, seconds: float, who: str) -> None:
    """Send nothing about alarms for a time, at most 30 days. Raises AlertGone if none of them is open."""
    _change_all(ids, _until(seconds, who), "silenced", who)


def silence_rule(rule: str, *, seconds: float, who: str) -> None:
    """Send nothing by a rule for a time, at most 30 days. Raises AlertGone."""
    _known(rule)
    _change(rule, _until(seconds, who), "silenced", who)


def unsilence(*ids: str, who: str) -> None:
    """End the silence or the acknowledgement of alarms. Raises AlertGone if none of them is open."""
    _change_all(ids, None, "unsilenced", who)


def unsilence_rule(rule: str, *, who: str) -> None:
    """End the silence of a rule. Raises AlertGone."""
    _known(rule)
    _change(rule, None, "unsilenced", who)


def send_test(target: str, *, who: str) -> None:
    """Send a test from this process, within some seconds. Raises AlertNotSent and AlertGone."""
    found = conf.current().alerts.targets.get(target)
    if found is None:
        raise AlertGone(name=target)
    now = _now_ms()
    failure = channels.send(found, message_of_test(target, who, now))
    error = failure.error if failure else ""
    state = TargetState(failed_ms=now, lost=1, error=error) if failure else TargetState(ok_ms=now)
    get_broker().note_target(target, state, Line(at_ms=now, what=TEST, target=target, who=who, error=error))
    if error:
        raise AlertNotSent(target=target, error=error)


def _known(rule: str) -> None:
    if rule not in {each.name for each in conf.current().alerts.rules}:
        raise AlertGone(name=rule)


def _until(seconds: float, who: str) -> Silence:
    now = _now_ms()
    return Silence(who=who, at_ms=now, until_ms=now + round(1000 * min(max(seconds, 1), LONGEST_SILENCE_S)))


def _change_all(ids: Iterable[str], silence: Silence | None, what: str, who: str) -> None:
    """Silence alarms, or end that, for all rules: one line of the history for each alarm."""
    found = {each.key: each for each in open_incidents(ids)}
    lines = [
        Line(at_ms=_now_ms(), what=what, text=each.text, sentence=each.sentence, who=who) for each in found.values()
    ]
    get_broker().change_silences(dict.fromkeys(found, silence), lines)


def _change(rule: str, silence: Silence | None, what: str, who: str) -> None:
    line = Line(at_ms=_now_ms(), what=what, rule=rule, who=who)
    get_broker().change_silences({silenced_rule(rule): silence}, [line])


def _now_ms() -> int:
    return round(time.time() * 1000)
