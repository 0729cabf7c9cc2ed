"""Nightly report: a chain that contains a group, which contains a chain."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, Sum
from django.utils import timezone

from queueops import Chain, Schedule, chain, current, group, inspect, task
from queueops_demo.models import Reading, Report
from queueops_demo.tasks.timely import in_demo

KEPT_S = 1800
KEPT_REPORTS = 50
CLOSED_EVERY, CLOSED_FOR = 80, 20
"""Seconds: how often another process locks the ledger, and for how long."""
WIDTH = 40


class LedgerClosed(Exception):
    """The ledger is locked; a retry a little later can read it."""


@task(name="demo.gather_day", tags=["nightly"])
def gather_day(minutes: int) -> dict[str, int]:
    """Sum up what was read in the last minutes."""
    since = timezone.now() - timedelta(minutes=minutes)
    found = Reading.objects.filter(at__gte=since).aggregate(files=Count("pk"), words=Sum("words"))
    _take_time(1)
    return {"minutes": minutes, "files": found["files"], "words": found["words"] or 0}


@task(name="demo.count_tenants", tags=["nightly"])
def count_tenants(day: dict[str, int]) -> dict[str, int]:
    """Count the files of each tenant."""
    rows = Reading.objects.exclude(tenant="").order_by("tenant").values_list("tenant").annotate(Count("pk"))
    _take_time(3)
    return dict(rows)


@task(name="demo.look_at_errors", tags=["nightly"])
def look_at_errors(day: dict[str, int]) -> list[str]:
    """The most frequent errors."""
    _take_time(2)
    return [f"{row.name}: {row.type}, {row.count} times" for row in inspect.errors(5)]


@task(name="demo.read_ledger", retries=0, tags=["nightly", "failing"])
def read_ledger(day: dict[str, int]) -> int:
    """Read the ledger. The task fails while the ledger is closed; a retry a little later succeeds."""
    _take_time(1)
    if time.time() % CLOSED_EVERY < CLOSED_FOR:
        raise LedgerClosed("the accountants have the ledger; retry the report in half a minute")
    return day["words"] // 100


@task(name="demo.rank_files", tags=["nightly"])
def rank_files(day: dict[str, int]) -> list[tuple[str, int]]:
    """The longest of the read files."""
    rows = Reading.objects.order_by("-words", "path").values_list("path", "words").distinct()
    _take_time(2)
    return list(rows[:8])


@task(name="demo.draw_chart", tags=["nightly"])
def draw_chart(ranking: list[tuple[str, int]]) -> str:
    """Draw a bar for each file."""
    most = max((words for _, words in ranking), default=1) or 1
    _take_time(2)
    return "\n".join(f"{'#' * (WIDTH * words // most):{WIDTH}} {words:7,} {path}" for path, words in ranking)


@task(name="demo.publish_report", tags=["nightly"])
def publish_report(found: list[Any]) -> dict[str, int | str]:
    """Write the report as a row for the demo's page and as a file. The oldest reports are deleted."""
    tenants, errors, earned, chart = found
    lines = [f"{tenant}: {files} files" for tenant, files in tenants.items()]
    text = "\n\n".join((f"Earned: {earned:,}", chart, "\n".join(lines), "\n".join(errors)))
    context = current()
    report, _ = Report.objects.update_or_create(task=context.id, defaults={"root": context.root, "text": text})
    kept = Report.objects.order_by("-pk").values_list("pk", flat=True)[:KEPT_REPORTS]
    Report.objects.exclude(pk__in=list(kept)).delete()
    path = _folder() / f"{report.pk % KEPT_REPORTS:02}.txt"  # so there never are more
    path.write_text(text)
    return {"report": report.pk, "file": path.name, "characters": len(text)}


class NightlyReport(Chain):
    """Gather, examine in a group of four parts, publish. If a part of the group fails, the other parts still run."""

    name = "demo.nightly_report"
    tags = ("nightly",)
    keep = KEPT_S
    cron = in_demo(Schedule("@every 20s", overlap="skip", catch_up="skip"))

    def init(self, minutes: int = 60) -> list[Any]:
        """The parts."""
        sides = (count_tenants.s(), look_at_errors.s(), read_ledger.s(), chain(rank_files.s(), draw_chart.s()))
        return [gather_day.s(minutes), group(*sides, on_failure="continue"), publish_report.s()]


def _take_time(seconds: float) -> None:
    """Sleep with progress, as long as a larger database would take."""
    steps = max(1, round(seconds * random.uniform(1, 3)))
    for step in range(steps):
        current().progress(step, steps)
        time.sleep(getattr(settings, "DEMO_STEP", 0.5))
    current().progress(steps, steps)


def _folder() -> Path:
    folder = Path(settings.DATA) / "reports"
    folder.mkdir(exist_ok=True)
    return folder
