"""Doctor: examines a project, its store and its processes, and names what is wrong, each with a remedy.

It judges nothing anew: it asks the system checks, the alarms and the starts of workers, and sorts what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db import Error as DatabaseError

from queueops import conf, inspect
from queueops.errors import QueueOpsError
from queueops.management.doctor import database, files, project, proxies, running
from queueops.management.doctor.finding import FAIL, WARN, Finding

UNKNOWN = "It cannot be looked at: {reason}"
FIRST = "Mend that first."
NO_STORE, NO_SETTINGS = "the store does not answer.", "settings of QUEUEOPS are wrong."
REFUSED = "the store refuses a question."
ORDER = (
    *("settings", "store", "persistence", "permissions", "versions", "clock", "database"),
    *("workers", "watchdog", "schedules", "alerts", "work", "files", "proxies"),
)
"""The checks, in the order in which they are shown."""


def examine(url: str = "") -> list[Finding]:
    """All findings, at least one for each check. `url`: where clients find the console, asked as a browser does."""
    reason = _unreachable()
    found = _guarded("settings", lambda: project.system_checks(with_store=not reason))
    found += [Finding("store", FAIL, reason, f"Start it, or correct {conf.url_source()}.")] if reason else []
    found += _guarded("versions", project.versions)
    found += _guarded("database", database.findings)
    found += _guarded("files", files.findings)
    found += _guarded("proxies", lambda: proxies.findings(url))
    if not conf.problems() and not reason:
        found += _guarded("store", lambda: project.sound({each.check for each in found}))
        found += _guarded("store", running.findings)
    found += _not_looked_at(found, NO_SETTINGS if conf.problems() else NO_STORE if reason else REFUSED)
    return sorted(dict.fromkeys(map(_masked, found)), key=lambda each: ORDER.index(each.check))


def _unreachable() -> str:
    """Why the store cannot be asked, within some seconds; empty if it can, or if its settings are wrong."""
    if conf.problems():
        return ""
    try:
        inspect.now_ms()
    except QueueOpsError as error:
        return str(error)
    return ""


def _guarded(check: str, look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """The findings of one look, and what ended it: the other looks are made, whatever a project's code raises."""
    found: list[Finding] = []
    try:
        for each in look():
            found.append(each)
    except QueueOpsError as error:
        found.append(Finding(check, FAIL, str(error)))
    except DatabaseError as error:
        seen = f"The database does not answer: {str(error).strip()}"
        found.append(Finding(check, FAIL, seen, "Start it, or correct DATABASES in the settings."))
    except Exception as error:
        seen = f"It ended with {type(error).__name__}: {error}"
        found.append(Finding(check, FAIL, seen, "Write: manage.py check --traceback"))
    return found


def _not_looked_at(found: list[Finding], reason: str) -> list[Finding]:
    missing = [check for check in ORDER if check not in {each.check for each in found}]
    return [Finding(check, WARN, UNKNOWN.format(reason=reason), FIRST) for check in missing]


def _masked(found: Finding) -> Finding:
    hide = conf.redactor().text
    return found._replace(seen=hide(found.seen), remedy=hide(found.remedy))
