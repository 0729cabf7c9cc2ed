"""Remedies: the one-click repair for each finding of the console."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from console.access.permissions import Verb
from console.actions.catalog import ACTIONS, named_for
from queueops.inspect import Finding, TaskDetail


def remedy(finding: Finding, task: TaskDetail, may: frozenset[str]) -> dict[str, str] | None:
    """The form's URL and the button's label; None without a remedy, or without the user's permission."""
    if finding.verb == "resume_lane" and Verb.CONFIGURE in may:
        lane = finding.target.removeprefix(f"{task.pool}/")
        address = reverse("console:lane-resume", kwargs={"pool": task.pool, "lane": lane})
        return {"action": address, "label": _("Resume the lane")}
    if finding.verb == "retry_chunks" and finding.target == task.id and Verb.OPERATE in may:
        address = reverse("console:task-chunks-retry", kwargs={"id": task.id})
        return {"action": f"{address}?whole=errored&whole=failed", "label": _("Retry errored chunks")}
    action = ACTIONS.get(finding.verb or "")
    if action is None or action.permission not in may or finding.target != task.id or action.verb not in task.allowed:
        return None
    label = f"{named_for(action, task).label}{'…' if action.asks else ''}"
    return {"action": reverse(f"console:{action.url_name}", kwargs={"id": task.id}), "label": label}
