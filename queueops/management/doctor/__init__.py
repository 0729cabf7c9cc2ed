"""Doctor: examines a project, its store and its processes, and names what is wrong, each with a remedy.

It judges nothing anew: it asks the system checks, the alarms and the starts of workers, and sorts what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db import Error as DatabaseError

from queueops import conf, inspect
from queueops.errors import BadSetting, QueueOpsError
from queueops.errors.kinds import NotOffered
from queueops.management.doctor import database, encrypted_values, files, project, proxies, running
from queueops.management.doctor.finding import FAIL, WARN, Finding
from queueops.redis.broker import get_broker

UNKNOWN = "It cannot be looked at: {reason}"
FIRST = "Mend that first."
NO_STORE, NO_SETTINGS = "the store does not answer.", "settings of QUEUEOPS are wrong."
REFUSED = "the store refuses a question."
NOT_OFFERED = "the store does not offer it."
ORDER = (
    *("settings", "store", "persistence", "permissions", "encryption", "versions", "clock", "database"),
    *("workers", "watchdog", "schedules", "alerts", "work", "files", "proxies"),
)
"""The checks, in the order in which they are shown."""


def examine(url: str = "") -> list[Finding]:
    """All findings, at least one for each check. `url`: where clients find the console, asked as a browser does."""
    silence = _silence()
    found = _guarded("settings", lambda: project.system_checks(with_store=silence is None))
    found += [silence] if silence else []
    found += _guarded("versions", project.versions)
    found += _guarded("database", database.findings)
    found += _guarded("files", files.findings)
    found += _guarded("proxies", lambda: proxies.findings(url))
    if not conf.problems() and silence is None:
        found += _guarded("store", lambda: project.sound({each.check for each in found}))
        found += _guarded("store", running.findings)
        found += _guarded("encryption", encrypted_values.findings)
    found += _not_looked_at(found, silence)
    return sorted(dict.fromkeys(map(_masked, found)), key=lambda each: ORDER.index(each.check))


def _silence() -> Finding | None:
    """Why the store cannot be asked, within some seconds; None if it can, or if its settings are wrong.

    It is a warning if the store answers, but offers no such questions.
    """
    if conf.problems():
        return None
    try:
        try:
            inspect.now_ms()
        except NotOffered as error:
            get_broker().pools()
            return Finding("store", WARN, f"It answers. {error}")
    except BadSetting as error:
        return Finding("store", FAIL, str(error))
    except QueueOpsError as error:
        return Finding("store", FAIL, str(error), f"Start it, or correct {conf.url_source()}.")
    return None


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


def _not_looked_at(found: list[Finding], silence: Finding | None) -> list[Finding]:
    reason, remedy = NO_STORE if silence else REFUSED, FIRST
    if conf.problems():
        reason = NO_SETTINGS
    elif silence and silence.level == WARN:
        reason, remedy = NOT_OFFERED, ""
    missing = [check for check in ORDER if check not in {each.check for each in found}]
    return [Finding(check, WARN, UNKNOWN.format(reason=reason), remedy) for check in missing]


def _masked(found: Finding) -> Finding:
    hide = conf.redactor().text
    return found._replace(seen=hide(found.seen), remedy=hide(found.remedy))
