"""Audit sample: a task acts on failed tasks, and an iterator reads the audit log page by page."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings

from console.audit.log import judge, written
from console.models import AuditEntry
from queueops import Batch, Iterator, Schedule, control, current, inspect, task
from queueops.inspect import TaskQuery, TaskRow
from queueops_demo.models import Digest
from queueops_demo.tasks.timely import in_demo

NAME, REASON = "night shift", "It failed over a minute ago."
MOST_ENTRIES = 2000
"""Audit entries are never deleted. From this number on the night shift does nothing."""
AT_ONCE = 2
PATIENCE_MS = 60_000
"""The night shift leaves tasks alone for this time after a failure: the user may want to repair them."""
PAGE, KEPT_S = 10, 600


Habit = tuple[str, Callable[[TaskRow], Sequence[Any]]]


def _edited(*args: Any) -> Habit:
    return "edit", lambda row: [control.edit_and_retry(row.id, args, {}, pool=row.pool, who=NAME)]


HABITS: dict[str, Habit] = {
    "demo.share_out": _edited(100, 4),
    "demo.order": _edited("teapot", 1, "ada"),
    "demo.look_up_price": ("delete", lambda row: control.delete([row.id], pool=row.pool, who=NAME)),
}
"""Action of the night shift on failed tasks, by task name."""


@task(name="demo.night_shift", cron=in_demo(Schedule("@every 15s", overlap="skip", catch_up="skip")), tags=["auditing"])
def night_shift() -> dict[str, int]:
    """Retry or delete some tasks that failed a while ago; each action is in the audit log."""
    done: Counter[str] = Counter()
    if AuditEntry.objects.count() >= MOST_ENTRIES:
        return {}
    too_new = time.time() * 1000 - PATIENCE_MS
    for name, habit in HABITS.items():
        failed = inspect.tasks(TaskQuery(state="failed", name=name), limit=200).rows
        for row in [row for row in failed if row.entered_ms < too_new][-AT_ONCE:]:
            done[_act(row, habit)] += 1
    return dict(done)


def _act(row: TaskRow, habit: Habit) -> str:
    verb, act = habit
    before = {f"{row.pool} {row.id}": {"name": row.name, "state": row.state}}
    with written(verb, row.id, [(row.pool, row.id)], actor_name=NAME, reason=REASON, before=before) as entry:
        judge(entry, row.pool, act(row))
    return verb


@task(name="demo.digest_page", tags=["auditing"])
def digest_page(first: int, last: int) -> dict[str, int]:
    """Count the actions in one page of the audit log. Each run writes the same row."""
    entries = AuditEntry.objects.filter(pk__gte=first, pk__lte=last)
    verbs = Counter(entries.values_list("verb", flat=True))
    for step in range(4):
        current().progress(step, 4)
        time.sleep(getattr(settings, "DEMO_STEP", 0.5))
    people = entries.values("actor_name").distinct().count()
    Digest.objects.update_or_create(first=first, defaults={"last": last, "verbs": dict(verbs), "people": people})
    return dict(verbs)


class AuditDigest(Iterator):
    """All pages of the audit log, three at a time."""

    name = "demo.audit_digest"
    tags = ("auditing",)
    keep = KEPT_S
    window, on_failure = 3, "continue"
    cron = in_demo(Schedule("@every 1m", overlap="skip", catch_up="skip"))

    def iterate(self, state: int | None) -> Batch | None:
        """The next pages of the table; `state` is the last row that was read."""
        ahead = AuditEntry.objects.filter(pk__gt=state or 0).order_by("pk")
        rows = list(ahead.values_list("pk", flat=True)[: 3 * PAGE])
        if not rows:
            return None
        pages = [rows[start : start + PAGE] for start in range(0, len(rows), PAGE)]
        return Batch(rows[-1], [digest_page.using(keep=KEPT_S).s(page[0], page[-1]) for page in pages])
