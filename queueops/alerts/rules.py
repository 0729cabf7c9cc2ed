"""Alert rules: which alarms a rule matches, and the next step of each of its incidents. Pure: no store, no network."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from queueops.conf.alert_settings import AlertRule
from queueops.inspect import Alarm
from queueops.model.alerts import AGAIN, FIRING, RECOVERED, Attempts, Incident, Silence, silenced_rule
from queueops.model.stored_sentences import packed

GONE_MS, CALM_MS = 30_000, 90_000
"""An alarm that was not there for so long has ended; the second is for one that was sent. One that flickers is one
incident: most counters are of this minute and the one before, and at the turn of a minute they lose half of it."""
ALL_POOLS = "*"
"""Among pools that could not be read: none could, or their list could not."""
MOST_OPEN = 50
"""Incidents of one rule at once. Further alarms wait until one of them has ended."""


def matches(rule: AlertRule, alarm: Alarm) -> bool:
    """Whether a rule tells of an alarm, or of one that follows from it. One that belongs to no pool concerns each."""
    return (
        alarm.level in rule.levels
        and any(fnmatchcase(key, pattern) for key in (alarm.key, *alarm.followers) for pattern in rule.alarms)
        and (not alarm.pools or any(fnmatchcase(pool, each) for pool in alarm.pools for each in rule.pools))
    )


def next_step(
    rules: Iterable[AlertRule],
    alarms: Sequence[Alarm],
    incidents: Mapping[str, Incident],
    silences: Mapping[str, Silence],
    now_ms: int,
    *,
    unread: Collection[str] = (),
) -> dict[str, Incident | None]:
    """The incidents that change now, with their new messages in `waiting`; None for one that is over.

    `unread`: the pools whose alarms are not known, ALL_POOLS if none are. An incident there stays as it is. So does one
    whose alarm follows from another alarm now: its cause is sent in its place.
    """
    followers = {key for alarm in alarms for key in alarm.followers}
    changed: dict[str, Incident | None] = {}
    known: set[str] = set()
    for rule in rules:
        of_rule = {each.key: each for each in incidents.values() if each.rule == rule.name}
        known |= {each.id for each in of_rule.values()}
        matching = {alarm.key: alarm for alarm in alarms if matches(rule, alarm)}
        for key, alarm in matching.items():
            found = of_rule.get(key)
            if found is None and len(of_rule) >= MOST_OPEN:
                continue
            of_rule[key] = lasting = _lasting(rule, alarm, found, now_ms)
            _tell(rule, lasting, silences, now_ms)
            changed[lasting.id] = lasting
        for key, incident in of_rule.items():
            if key in matching or ALL_POOLS in unread or not set(incident.pools).isdisjoint(unread):
                continue
            if key in followers:
                incident.seen_ms = now_ms
                changed[incident.id] = incident
            elif now_ms - incident.seen_ms >= (CALM_MS if incident.number else GONE_MS):
                changed[incident.id] = _ended(rule, incident, silences, now_ms)
    without_rule = {id: None for id in incidents if id not in known}
    return changed | without_rule


def is_silent(rule: AlertRule, key: str, silences: Mapping[str, Silence], now_ms: int) -> bool:
    """Whether no message may be sent now: quiet hours, or a silence of the alarm or of the rule."""
    if rule.quiet is not None and rule.quiet.includes(datetime.fromtimestamp(now_ms / 1000, UTC)):
        return True
    found = (silences.get(name) for name in (key, silenced_rule(rule.name)))
    return any(silence.until_ms > now_ms for silence in found if silence is not None)


def is_acknowledged(key: str, silences: Mapping[str, Silence]) -> bool:
    """Whether an operator knows of the alarm: it is not repeated."""
    return key in silences and not silences[key].until_ms


def _lasting(rule: AlertRule, alarm: Alarm, incident: Incident | None, now_ms: int) -> Incident:
    """The incident of an alarm that is there: a new one, also if the end of the last one was told already."""
    if incident is None or incident.status == RECOVERED:
        begun = min(now_ms, alarm.since_ms or now_ms)
        incident = Incident(rule=rule.name, key=alarm.key, level="", text="", begun_ms=begun, seen_ms=now_ms)
    incident.level, incident.command = alarm.level, alarm.command
    incident.text, incident.sentence = str(alarm.text), packed(alarm.text)
    incident.pools, incident.seen_ms = list(alarm.pools), now_ms
    return incident


def _tell(rule: AlertRule, incident: Incident, silences: Mapping[str, Silence], now_ms: int) -> None:
    """Make the next message of an alarm that is there, if it is time."""
    if now_ms - incident.begun_ms < rule.after * 1000 or is_silent(rule, incident.key, silences, now_ms):
        return
    is_due = rule.repeat > 0 and now_ms - incident.sent_ms >= rule.repeat * 1000
    is_worse = (incident.told_level, incident.level) == ("warning", "danger")
    if not incident.number:
        _make(incident, FIRING, rule.to, now_ms)
    elif is_worse or (is_due and not is_acknowledged(incident.key, silences)):
        _make(incident, AGAIN, rule.to, now_ms)


def _ended(rule: AlertRule, incident: Incident, silences: Mapping[str, Silence], now_ms: int) -> Incident | None:
    """The incident of an alarm that is gone: with the message of its end, or None."""
    if incident.status == RECOVERED:
        return incident if incident.waiting else None
    if not (rule.recovered and incident.told):
        return None
    if not is_silent(rule, incident.key, silences, now_ms):
        _make(incident, RECOVERED, incident.told, now_ms)
    return incident


def _make(incident: Incident, status: str, targets: Iterable[str], now_ms: int) -> None:
    incident.status, incident.sent_ms, incident.told_level = status, now_ms, incident.level
    incident.number += 1
    incident.waiting = {target: incident.waiting.get(target, Attempts()) for target in targets}
