"""The project as it is configured and installed: system checks, and versions of packages."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from django.core.checks import ERROR, WARNING, CheckMessage, run_checks

from queueops import conf, inspect
from queueops.errors import QueueOpsError
from queueops.management.doctor.finding import FAIL, OK, WARN, Finding

OURS = re.compile(r"queueops(?:_console)?\.")
SUBJECTS = {
    "store": ("E003", "E004", "W101", "W102", "W106", "E110", "E112", "W113"),
    "persistence": ("E103", "E104", "E105"),
    "permissions": ("W108", "W109", "W111", "E114"),
    "versions": ("E007", "E107"),
    "schedules": ("E005",),
    "files": ("W005", "E008"),
}
"""System checks of `queueops` by what they are about; all others are about settings."""
SHOWN = ("django", "redis", "hiredis", "msgspec")
NEED = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?>=([\d.]+)(?:; extra == '([\w-]+)')?$")


def system_checks(*, with_store: bool) -> Iterator[Finding]:
    """What the system checks say that are not silenced; with a store also those of `check --deploy`."""
    told = [message for message in run_checks(include_deployment_checks=with_store) if not message.is_silenced()]
    ours = [message for message in told if OURS.match(message.id or "") or message.level >= ERROR]
    found = [_finding(message) for message in ours]
    yield from found
    if others := sorted({message.id or "" for message in told if message not in ours}):
        seen = f"Django has {len(others)} warnings: {', '.join(others)}."
        yield Finding("settings", WARN, seen, "Read them: manage.py check --deploy")
    elif "settings" not in {each.check for each in found}:
        yield Finding("settings", OK, "No system check finds a fault.")


def _finding(message: CheckMessage) -> Finding:
    app, _, number = (message.id or "").partition(".")
    ours = SUBJECTS.items() if app == "queueops" else ()
    subject = next((name for name, numbers in ours if number in numbers), "settings")
    level = FAIL if message.level >= ERROR else WARN if message.level >= WARNING else OK
    return Finding(subject, level, str(message.msg), str(message.hint or ""))


def sound(known: set[str]) -> Iterator[Finding]:
    """The facts of the store, for each check of it that has no finding yet."""
    health = inspect.snapshot().redis
    if "store" not in known:
        used = f"{health.used_memory:,} of {health.maxmemory:,} bytes" if health.maxmemory else "no limit of memory"
        yield Finding("store", OK, f"{health.version} answers; {used}.")
    if "persistence" not in known:
        is_kept = "it writes an append-only file" if health.aof else "whether it writes a file is not known"
        yield Finding("persistence", OK, f"{is_kept.capitalize()}; eviction policy {health.policy or 'not known'}.")
    if "permissions" not in known:
        yield Finding("permissions", OK, "The store user may send each command that QueueOps needs.")


def versions() -> Iterator[Finding]:
    """Installed packages that are older than QueueOps needs; live workers of another version of QueueOps."""
    found = [*_too_old(), *_mixed()]
    yield from found
    if not found:
        shown = ", ".join(f"{name} {version(name)}" for name in SHOWN)
        yield Finding("versions", OK, f"QueueOps {_own()}, Python {platform.python_version()}, {shown}.")


def _too_old() -> Iterator[Finding]:
    seen = set()
    needs = requires("queueops") if _installed("queueops") else None  # a tree that is not installed has no metadata
    for name, least, extra in (need.groups() for need in map(NEED.match, needs or ()) if need):
        installed = _installed(name)
        if name in seen or not installed or _parts(installed) >= _parts(least):
            continue
        seen.add(name)
        of = f"The extra {extra} of QueueOps" if extra else "QueueOps"
        yield Finding(
            "versions",
            WARN if extra else FAIL,
            f"{of} needs {name} {least} or newer, and {installed} is installed.",
            f"Write: pip install '{name}>={least}'",
        )


def _mixed() -> Iterator[Finding]:
    """Live workers of another version of QueueOps than this process has."""
    if conf.problems():
        return
    try:
        live = [row for row in inspect.workers() if row.state == "live" and row.version]
    except QueueOpsError:  # the check of the store says so
        return
    others = sorted({row.version for row in live} - {_own()})
    if others:
        seen = f"Workers run QueueOps {', '.join(others)}, and this process {_own()}."
        yield Finding("versions", FAIL, seen, "Install one version everywhere, and restart all processes.")


def _own() -> str:
    return _installed("queueops") or "0"


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])
