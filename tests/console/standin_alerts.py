"""Alerts of the stand-in: an open alert, a rule, a target that fails, and a history."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import time
from typing import TYPE_CHECKING, Any

import pytest

from queueops import alerts
from queueops.alerts import AlertsView
from queueops.alerts.overview import IncidentRow, RuleRow, TargetRow
from queueops.conf.alert_settings import AlertRule, Heartbeat, QuietHours
from queueops.model.alerts import Incident, Line, Silence, TargetState

if TYPE_CHECKING:
    from tests.console.standin import World

VERBS = ("acknowledge", "unacknowledge", "silence", "unsilence", "silence_rule", "unsilence_rule", "send_test")


class AlertWorld:
    """Answers for `alerts.alerts`; what is done is taken down by the world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def incident(self, key: str, level: str, status: str = "firing", number: int = 1) -> Incident:
        text, now = self.world.text, self.world.now
        return Incident(
            rule=text,
            key=key,
            level=level,
            text=text,
            command=text,
            begun_ms=now - 90_000,
            seen_ms=now,
            status=status,
            number=number,
            sent_ms=now - 60_000 if number else 0,
        )

    def alerts(self) -> AlertsView:
        self.world._ask()
        text, now = self.world.text, self.world.now
        until = Silence(who=text, at_ms=now, until_ms=now + 3_600_000)
        quiet = QuietHours(begin=time(22), end=time(7), zone="Europe/Berlin")
        rule = AlertRule(name="urgent", to=("ops",), alarms=(text,), pools=(text,), after=60.0, quiet=quiet)
        return AlertsView(
            [
                IncidentRow(self.incident("a", "danger", number=0), None, [("ops", text)]),
                IncidentRow(self.incident("b", "warning", number=3), Silence(who=text, at_ms=now), []),
                IncidentRow(self.incident("c", "warning", "recovered"), until, []),
            ],
            [
                RuleRow(rule, None, 2),
                RuleRow(AlertRule(name="all", to=("ops", "chat"), recovered=False, repeat=0.0), until, 0),
            ],
            [
                TargetRow("ops", "mail", "a***@example.com", TargetState(failed_ms=now - 5000, lost=1, error=text)),
                TargetRow("chat", "apprise", "slack://[redacted]", TargetState(ok_ms=now - 5000)),
            ],
            [
                Line(at_ms=now - 5000, what="given up", rule=text, text=text, target=text, error=text),
                Line(at_ms=now - 9000, what="silenced", rule=text, text=text, who=text),
            ],
            Heartbeat(url="https://beat.example/hunter2hunter2"),
        )

    def open_incidents(self, ids: Iterable[str]) -> list[Incident]:
        self.world._ask()
        return [self.incident("a", "danger") for _ in ids]

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(alerts, "alerts", self.alerts)
        monkeypatch.setattr(alerts, "open_incidents", self.open_incidents)
        for verb in VERBS:
            monkeypatch.setattr(alerts, verb, self._named(verb))

    def _named(self, verb: str) -> Any:
        return lambda id, *values, **named: self.world._act(verb, (id, values, named))
