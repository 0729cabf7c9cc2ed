"""What runs: workers, watchdogs, clocks, schedules and alerts, by the alarms of the store."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from queueops import conf, inspect
from queueops.inspect import Alarm, Snapshot
from queueops.inspect.alarm import in_pools, manage, no_watchdog
from queueops.inspect.spans import span
from queueops.inspect.store import open_reader
from queueops.inspect.workers import MOST_APART_MS
from queueops.management.doctor.finding import FAIL, OK, WARN, Finding
from queueops.management.queue.formatting import counted

SUBJECTS = {
    "store": ("store", "full", "slow", "broken", "lost"),
    "clock": ("clock",),
    "workers": ("unserved", "lanes", "kind", "unknown", "late", "silent", "kills", "library", "hanging", "stuck"),
    "watchdog": ("watchdog", "overdue", "duty", "own"),
    "schedules": ("schedules", "skipping", "broken-schedule", "paused-schedule"),
    "alerts": ("alert-target",),
    "encryption": ("keys",),
    "files": ("disk", "file"),
}
"""The kinds of alarms by what they are about; all others are about the work itself."""
CHECKED = re.compile(r"store \d+.*")
"""Alarms that repeat a system check of the store."""
ALERTS_DOC = "Set QUEUEOPS['ALERTS']: docs/production.md, Alerts."


def findings() -> Iterator[Finding]:
    """The alarms, and for each check without one what is well."""
    snapshot = inspect.snapshot()
    alarms = [alarm for alarm in snapshot.alarms if not CHECKED.fullmatch(alarm.key)]
    found = [*map(_of_alarm, alarms), *_clock(), *_without_worker(snapshot), *_without_watchdog(snapshot)]
    found += [*_schedules(), *_alerts()]
    yield from found
    known = {each.check for each in found}
    yield from (line for line in _well(snapshot) if line.check not in known)


def _of_alarm(alarm: Alarm) -> Finding:
    subject = next((name for name, words in SUBJECTS.items() if alarm.kind in words), "work")
    level = FAIL if alarm.level == "danger" else WARN
    return Finding(subject, level, " ".join((alarm.text, *alarm.consequences)), alarm.command)


def _clock() -> Iterator[Finding]:
    """The clock of this host against that of the store, half way between question and answer."""
    before = time.time()
    store = inspect.now_ms()
    apart = round(500 * (before + time.time())) - store
    if abs(apart) > MOST_APART_MS:
        way = "ahead of" if apart > 0 else "behind"
        seen = f"The clock of this host is {span(abs(apart))} {way} that of the store."
        yield Finding("clock", WARN, seen, "Let NTP set both: timedatectl set-ntp true")


def _without_worker(snapshot: Snapshot) -> Iterator[Finding]:
    """Pools of the settings, and those with tasks, that no live worker serves. An alarm tells where tasks wait."""
    wanted = {"default", *conf.current().pools}
    told = {pool for alarm in snapshot.alarms if alarm.kind == "unserved" for pool in alarm.pools}
    idle = sorted(
        view.name for view in snapshot.pools if not view.workers and view.name not in told and view.name in wanted
    )
    if idle:
        options = [word for pool in idle for word in ("--pool", pool)]
        yield Finding("workers", WARN, f"No live worker serves the {in_pools(idle)}.", manage("runworker", *options))


def _without_watchdog(snapshot: Snapshot) -> Iterator[Finding]:
    """Pools without a watchdog; the alarm tells only of those with tasks."""
    if any(alarm.kind in ("watchdog", "schedules") for alarm in snapshot.alarms):
        return
    samples = open_reader().samples([view.name for view in snapshot.pools], 0)
    for pool, sampled in samples.items():
        if told := no_watchdog(pool, sampled):
            yield Finding("watchdog", FAIL, f"{told}.", manage("watchdog"))
            return


def _schedules() -> Iterator[Finding]:
    if unkept := inspect.unkept_schedules():
        seen = f"Schedules of the code are not in the store: {', '.join(unkept[:5])}."
        yield Finding("schedules", WARN, seen, f"Start a watchdog with this code: {manage('watchdog')}")


def _alerts() -> Iterator[Finding]:
    if not conf.current().alerts.rules:
        yield Finding("alerts", WARN, "No rule sends alarms to a person or to another system.", ALERTS_DOC)


def _well(snapshot: Snapshot) -> Iterator[Finding]:
    pools = [view.name for view in snapshot.pools]
    workers = [row for row in inspect.workers() if row.state == "live"]
    settings = conf.current().alerts
    beat = f"and a heartbeat each {settings.heartbeat.every:g} s" if settings.heartbeat else "no heartbeat"
    rules, targets = counted(len(settings.rules), "rule", "rules"), counted(len(settings.targets), "target", "targets")
    yield Finding("clock", OK, "The clocks of this host, of the workers' hosts and of the store agree.")
    yield Finding(
        "workers", OK, f"{counted(len(workers), 'live process serves', 'live processes serve')} the {in_pools(pools)}."
    )
    yield Finding("watchdog", OK, f"A watchdog serves the {in_pools(pools)}.")
    yield Finding(
        "schedules", OK, f"{counted(len(inspect.schedules()), 'schedule', 'schedules')}; none is late or broken."
    )
    yield Finding("alerts", OK, f"{rules}, {targets}, {beat}.")
    yield Finding("work", OK, "There is no alarm about tasks.")
