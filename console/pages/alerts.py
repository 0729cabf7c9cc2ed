"""Alerts: rules, what they tell of now, targets and history; acknowledge, silence, and send a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Thing
from console.ui.forms import DELAYS, ActionForm
from console.ui.links import url
from console.ui.render import ALL_LISTED, STATUS_AGE_S, fragment, live_update, page
from queueops import alerts, conf, inspect
from queueops.errors import QueueOpsError

Call = Callable[..., None]


class SilenceForm(ActionForm):
    """How long nothing is sent."""

    seconds = forms.TypedChoiceField(label=_("For"), choices=DELAYS[2:], coerce=int)


def _nothing(*_: Any, **__: Any) -> None:
    """Each request puts its own call in the place of this one."""


ACKNOWLEDGE = Action("acknowledge_alert", _nothing, _("Acknowledge"), "check", url="alert-acknowledge")
SILENCE = Action("silence_alert", _nothing, _("Silence"), "volume-off", SilenceForm, url="alert-silence")
UNACKNOWLEDGE = Action("unacknowledge_alert", _nothing, _("Unacknowledge"), "arrow-back-up", url="alert-unacknowledge")
UNSILENCE = Action("unsilence_alert", _nothing, _("End the silence"), "player-play", url="alert-unsilence")
TEST = Action("test_alert", _nothing, _("Send a test"), "bell", url="alert-test")

ON_ALARM = {
    "acknowledge": ACKNOWLEDGE,
    "unacknowledge": UNACKNOWLEDGE,
    "silence": SILENCE,
    "unsilence": UNSILENCE,
}
ON_RULE = {
    "silence": SILENCE._replace(
        asks_first=True, note=_("No alarm reaches a person by this rule until then."), url="alert-rule-silence"
    ),
    "unsilence": UNSILENCE._replace(url="alert-rule-unsilence"),
}


def index(request: HttpRequest) -> HttpResponse:
    """Everything about alerts."""
    return page(request, "alerts/page.html", _context())


def rows(request: HttpRequest) -> HttpResponse:
    """The live update."""
    return fragment(request, "alerts/rows.html", _context())


class _Line(Thing, frozen=True, kw_only=True):
    """A line of the page: an alarm and those that follow from it."""

    ids: tuple[str, ...]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The ids of its incidents but the first, which is in the URL."""
        return [("incident", id) for id in self.ids[1:]]


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Acknowledge or silence a line of open alarms, or end that."""
    calls: dict[str, Call] = {
        "acknowledge": alerts.acknowledge,
        "unacknowledge": alerts.unacknowledge,
        "silence": alerts.silence,
        "unsilence": alerts.unsilence,
    }
    ids = tuple(dict.fromkeys((id, *request.POST.getlist("incident"))))
    try:
        rules: dict[str, list[str]] = {}
        for each in alerts.open_incidents(ids):
            rules.setdefault(each.text.rstrip("."), []).append(each.rule)
        names = [f"{', '.join(of)}: {text}" for text, of in rules.items()]
    except QueueOpsError:  # the call tells it, and the audit log has it
        names = [id]
    was = {"alarms": names} if len(names) > 1 else {}
    line = _Line((("", "; ".join(names)),), was=was, becomes={}, told=(), ids=ids)
    return _answer(request, ON_ALARM[verb], calls[verb], ids, line)


def act_on_rule(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Silence a rule, or end that."""
    calls: dict[str, Call] = {"silence": alerts.silence_rule, "unsilence": alerts.unsilence_rule}
    return _answer(request, ON_RULE[verb], calls[verb], (id,), Thing.named("", id, {}, {}))


def send_test(request: HttpRequest, id: str) -> HttpResponse:
    """Send a test to a target."""
    return _answer(request, TEST, alerts.send_test, (id,), Thing.named("", id, {}, {}))


def _answer(request: HttpRequest, action: Action, call: Call, ids: Iterable[str], thing: Thing) -> HttpResponse:
    def perform(_pool: str, _name: str, who: str, **values: Any) -> None:
        call(*ids, who=who, **values)

    return answer(request, action._replace(call=perform), thing, "alerts")


def _context() -> dict[str, Any]:
    found, status = alerts.alerts(), inspect.status(STATUS_AGE_S)
    for row in found.incidents:
        row.incident.seen_ms = 0  # it changes every few seconds, and is not shown
    shown = list(alerts.open_alarms(status.alarms, found.incidents))
    rules = [(row.rule.name, row.silence, row.firing) for row in found.rules]
    targets = [(row.name, row.shown, row.state) for row in found.targets]
    update = live_update(url("alerts-rows"), shown, rules, targets, found.history)
    return {
        "alerts": found,
        "open": shown,
        "urgent": status.urgent,
        "listed": ALL_LISTED,
        "elsewhere": conf.store_name(),
        "durations": DELAYS[2:],
        **update,
    }
