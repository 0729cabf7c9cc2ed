"""The settings of alerts: what is read, and errors that name the place and show no target."""

from __future__ import annotations

from typing import Any

from queueops.conf import read_settings
from queueops.conf.alert_settings import AlertRule, AlertTarget
from tests.support.for_each import for_each

PLACE = "QUEUEOPS['ALERTS']"
OPS = {"TARGETS": {"ops": {"mail": "ada@example.com"}}}


def errors(alerts: Any) -> list[str]:
    return [str(error) for error in read_settings({"ALERTS": alerts})[1]]


def test_rules_targets_and_the_heartbeat_are_read() -> None:
    settings, wrong = read_settings(
        {
            "ALERTS": {
                "TARGETS": {
                    "mail": {"mail": ["ada@example.com", "bob@example.com"]},
                    "chat": {"apprise": "slack://a/b/c"},
                },
                "RULES": {"urgent": {"to": ["mail", "chat"], "levels": "danger", "after": 60, "quiet": "22:00-07:00"}},
                "HEARTBEAT": {"url": "https://beat.example/1"},
            }
        }
    )
    assert wrong == []
    alerts = settings.alerts
    assert alerts.targets["chat"] == AlertTarget(name="chat", channel="apprise", addresses=("slack://a/b/c",))
    (rule,) = alerts.rules
    quiet = rule.quiet
    assert rule == AlertRule(name="urgent", to=("mail", "chat"), levels=("danger",), after=60.0, quiet=quiet)
    assert quiet is not None
    assert alerts.heartbeat is not None
    assert (quiet.begin.hour, quiet.end.hour, alerts.heartbeat.every) == (22, 7, 60.0)
    assert not read_settings({})[0].alerts.is_used


@for_each(
    "wrong",
    [
        {"TARGETS": ["slack://hunter2hunter2"]},
        {"TARGETS": {"ops": "slack://hunter2hunter2"}},
        {"TARGETS": {"ops": {"webhook": "hunter2hunter2"}}},
        {"TARGETS": {"ops": {"apprise": ["slack://hunter2hunter2"]}}},
        {"TARGETS": {"ops": {"mail": ["hunter2hunter2"]}}},
        {"TARGETS": {"ops": {"webhook": "https://h.example", "secrets": ["hunter2hunter2"]}}},
        {"TARGETS": {"ops": {"slack": "hunter2hunter2"}}},
        {"TARGETS": {"ops": {"mail": "a@b.c", "apprise": "slack://hunter2hunter2"}}},
        {"HEARTBEAT": "https://hunter2hunter2"},
        {"HEARTBEAT": {"url": "hunter2hunter2"}},
        {"HEARTBEAT": {"url": b"https://hunter2hunter2"}},
    ],
)
def test_an_error_names_the_place_and_shows_no_secret(wrong: Any) -> None:
    (error,) = errors(wrong)
    assert PLACE in error
    assert "hunter2" not in error


def test_an_error_of_a_rule_says_what_is_wrong_and_what_to_do() -> None:
    rules = {
        "to": {"to": ["obs"]},
        "quiet": {"to": ["ops"], "quiet": "22-7"},
        "zone": {"to": ["ops"], "quiet": "22:00-07:00 Europe/Nowhere"},
        "levels": {"to": ["ops"], "levels": ["urgent"]},
        "none": {},
        "unknown": {"to": ["ops"], "pool": ["mail"]},
        "flag": {"to": ["ops"], "recovered": "yes"},
    }
    found = {name: errors(OPS | {"RULES": {name: rule}})[0] for name, rule in rules.items()}
    assert all(f"{PLACE}['RULES']['{name}']" in error for name, error in found.items())
    assert "did you mean 'ops'?" in found["to"]
    assert '"22:00-07:00 Europe/Berlin"' in found["quiet"]
    assert '"22:00-07:00 Europe/Berlin"' in found["zone"]
    assert "a list of danger and warning" in found["levels"]
    assert "a list of the targets that get the messages" in found["none"]
    assert "did you mean 'pools'?" in found["unknown"]
    assert "True or False" in found["flag"]
