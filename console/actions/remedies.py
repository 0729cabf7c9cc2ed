"""Remedies: the one-click repair for each finding and each alarm of the console."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.access.permissions import TABLE, Verb
from console.actions.catalog import ACTIONS, actions_on
from console.ui.kind_pages import Remedy, remedy_of_kind
from console.ui.links import url
from queueops.inspect import Alarm, Finding, TaskDetail


def _by_id(url_name: str, label: str | Promise) -> Remedy:
    """A remedy whose URL has the thing as `id`, and the pool as a parameter."""
    return Remedy(url_name, label, lambda pool, name: url(url_name, {"pool": pool}, id=name))


ALARMS: dict[str, Remedy] = {
    "resume_lane": Remedy(
        "lane-resume", gettext_lazy("Resume the lane"), lambda pool, lane: url("lane-resume", pool=pool, lane=lane)
    ),
    "pause_name": _by_id("name-pause", gettext_lazy("Pause %(name)s in %(where)s")),
    "resume_name": _by_id("name-resume", gettext_lazy("Resume %(name)s in %(where)s")),
    "empty_trash": Remedy(
        "pool-empty_trash", gettext_lazy("Empty the trash…"), lambda pool, name: url("pool-empty_trash", pool=pool)
    ),
    "interrupt_name": Remedy(
        "tasks-all-interrupt",
        gettext_lazy("Interrupt all %(name)s…"),
        lambda pool, name: url("tasks-all-interrupt", {"state": "locked", "name": name, "pool": pool}),
    ),
    "interrupt": _by_id("task-interrupt", gettext_lazy("Cancel and interrupt")),
    "run_now": _by_id("task-run_now", gettext_lazy("Run now")),
}
"""The remedies of alarms, by their verb; a kind may add some."""


def alarm_remedy(alarm: Alarm, may: frozenset[str]) -> dict[str, str] | None:
    """The form's URL and the button's label; None without a remedy, or without the user's permission."""
    if not alarm.verb:
        return None
    found = ALARMS.get(alarm.verb) or remedy_of_kind(alarm.verb)
    pool, _slash, name = alarm.target.partition("/")
    return _button(found, pool, name, may) if found is not None else None


def _button(found: Remedy, pool: str, name: str, may: frozenset[str]) -> dict[str, str] | None:
    if TABLE[found.url_name] not in may:
        return None
    where = _("pool %(pool)s") % {"pool": pool[:60]} if pool else _("all pools")
    told = {"pool": pool[:60], "name": name[:60], "where": where}
    return {"action": found.address(pool, name), "label": str(found.label) % told}


def remedy(finding: Finding, task: TaskDetail, may: frozenset[str]) -> dict[str, str] | None:
    """The form's URL and the button's label; None without a remedy, or without the user's permission."""
    if finding.verb == "resume_lane" and Verb.CONFIGURE in may:
        lane = finding.target.removeprefix(f"{task.pool}/")
        return {"action": url("lane-resume", pool=task.pool, lane=lane), "label": _("Resume the lane")}
    if finding.verb == "resume_name" and Verb.CONFIGURE in may:
        return _button(ALARMS["resume_name"], task.pool, finding.target, may)
    own = remedy_of_kind(finding.verb or "")
    if own is not None and finding.target == task.id:
        return _button(own, task.pool, task.id, may)
    action = ACTIONS.get(finding.verb or "")
    if action is None or action.permission not in may or finding.target != task.id or action.verb not in task.allowed:
        return None
    label = f"{actions_on(task).get(action.verb, action).label}{'…' if action.asks else ''}"
    return {"action": url(action.url_name, id=task.id), "label": label}
