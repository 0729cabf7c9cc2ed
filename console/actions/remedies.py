"""Remedies: the one-click repair for each finding of the console."""

from __future__ import annotations

from django.utils.translation import gettext as _

from console.access.permissions import Verb
from console.actions.catalog import ACTIONS, named_for
from console.ui.links import url
from queueops.inspect import Alarm, Finding, TaskDetail


def alarm_remedy(alarm: Alarm, may: frozenset[str]) -> dict[str, str] | None:
    """The form's URL and the button's label; None without a remedy, or without the user's permission."""
    pool, _slash, name = alarm.target.partition("/")
    if Verb.CONFIGURE not in may:
        return None
    if alarm.verb == "resume_lane":
        return {"action": url("lane-resume", pool=pool, lane=name), "label": _("Resume the lane")}
    if alarm.verb == "resume_name":
        return {"action": url("name-resume", {"pool": pool}, id=name), "label": _("Resume the name")}
    if alarm.verb == "resume_schedule":
        return {"action": url("schedule-resume", {"pool": pool}, id=name), "label": _("Resume the schedule")}
    return None


def remedy(finding: Finding, task: TaskDetail, may: frozenset[str]) -> dict[str, str] | None:
    """The form's URL and the button's label; None without a remedy, or without the user's permission."""
    if finding.verb == "resume_lane" and Verb.CONFIGURE in may:
        lane = finding.target.removeprefix(f"{task.pool}/")
        return {"action": url("lane-resume", pool=task.pool, lane=lane), "label": _("Resume the lane")}
    if finding.verb == "resume_name" and Verb.CONFIGURE in may:
        return {"action": url("name-resume", {"pool": task.pool}, id=finding.target), "label": _("Resume the name")}
    if finding.verb == "retry_chunks" and finding.target == task.id and Verb.OPERATE in may:
        address = url("task-chunks-retry", {"whole": ["errored", "failed"]}, id=task.id)
        return {"action": address, "label": _("Retry failed chunks")}
    action = ACTIONS.get(finding.verb or "")
    if action is None or action.permission not in may or finding.target != task.id or action.verb not in task.allowed:
        return None
    label = f"{named_for(action, task).label}{'…' if action.asks else ''}"
    return {"action": url(action.url_name, id=task.id), "label": label}
