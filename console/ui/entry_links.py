"""Links of audit entries: the page of what an action acted on."""

from __future__ import annotations

import re

from django.urls import NoReverseMatch

from console.models import AuditEntry
from console.ui.filters import LABELS
from console.ui.links import task_url, url
from queueops.inspect import lane_label

OF_LANES = ("pause", "resume", "set_lane")
FINGERPRINT = re.compile(r"\(([^()]+)\)\Z")
"""The end of an error's name."""


def target_url(entry: AuditEntry) -> str:
    """The URL of the task, the list of a bulk action, the lane, pool, name, worker or error; empty without one."""
    try:
        return _url(entry)
    except (NoReverseMatch, ValueError):  # a terminal may have written any target
        return ""


def _url(entry: AuditEntry) -> str:
    if entry.is_mass:
        return url("tasks", entry.filter) if entry.filter.keys() <= LABELS.keys() else ""
    if len(entry.ids) == 1:
        ((pool, id),) = entry.ids
        return task_url(id, pool)
    was = entry.before
    if entry.verb in OF_LANES and {"pool", "lane"} <= was.keys():
        return url("lane", pool=was["pool"], lane=was["lane"])
    if entry.verb in ("pause_pool", "resume_pool") and was.get("pool"):
        return url("pool", pool=was["pool"])
    if entry.verb in ("pause_name", "resume_name") and was.get("name"):
        return url("registry-task", id=was["name"])
    if entry.verb in ("quiet", "stop", "stacks"):
        return url("worker", id=entry.target)
    found = FINGERPRINT.search(entry.target) if entry.verb.endswith("_error") else None
    return url("error", fingerprint=found[1]) if found else ""


def target_name(entry: AuditEntry) -> str:
    """The name of the one task that an action acted on, as it was then, or of a lane with a digest; else empty."""
    was = entry.before
    if entry.verb in OF_LANES and {"pool", "lane"} <= was.keys():
        shown = lane_label(str(was["lane"]), str(was.get("id") or ""))
        return f"{was['pool']}/{shown}" if shown != was["lane"] else ""
    facts = (entry.before.get(f"{pool} {id}") for pool, id in entry.ids[:1]) if len(entry.ids) == 1 else ()
    return str(next((each.get("name", "") for each in facts if isinstance(each, dict)), ""))
