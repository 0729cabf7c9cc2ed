"""The subjects of the golden files: each gives its lines, sorted."""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from string import Formatter
from typing import Any

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.db.migrations.loader import MigrationLoader
from django.urls import URLPattern, URLResolver, get_resolver

import console
import queueops
from queueops import conf
from queueops.conf import alert_settings, tables
from queueops.conf import readers as read
from queueops.errors import Explained
from queueops.kinds.jobs import settings as jobs
from queueops.kinds.workflows import settings as workflows
from queueops.model import kinds
from queueops.redis import keys
from queueops.redis.library import functions

FOLDER = Path(__file__).parent
TESTS = FOLDER.parent
PUBLIC = ("", ".control", ".events", ".inspect", ".jobs", ".schedules", ".testing")
COMMANDS = ("apitoken", "checkworkflows", "demo", "doctor", "embedded", "queue", "queueops", "runworker", "watchdog")

DEFAULTS: dict[str, Any] = {
    "POOLS": conf.PoolSettings,
    "POOLS lanes": conf.LaneSettings,
    "RETRY": conf.BrokerRetry,
    "ALERTS RULES": alert_settings.AlertRule,
    "ALERTS HEARTBEAT": alert_settings.Heartbeat,
    "JOBS": jobs.JobSettings,
    "WORKFLOWS": workflows.WorkflowSettings,
}
"""The objects that settings are read into, whose fields have the defaults."""


def scripts() -> Iterator[str]:
    """The functions of the Lua library, and the flags of each."""
    for name, function in sorted(functions().items()):
        yield " ".join((name, *function.flags))


def public_names() -> Iterator[str]:
    """What `from queueops... import *` gives."""
    for suffix in PUBLIC:
        module: Any = importlib.import_module(f"queueops{suffix}")
        yield from (f"queueops{suffix} {name}" for name in module.__all__)


def addresses() -> Iterator[str]:
    """The console's URL names and paths."""
    yield from _addresses(get_resolver("console.urls"), "")


def _addresses(resolver: URLResolver, before: str) -> Iterator[str]:
    for pattern in resolver.url_patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield f"{path} {pattern.name or ''}".rstrip()
        else:
            yield from _addresses(pattern, path)


def command_line() -> Iterator[str]:
    """Each verb with its arguments; their help is words, which may change."""
    for name in COMMANDS:
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        yield from _arguments(parser, f"manage.py {name}")


def _arguments(parser: argparse.ArgumentParser, words: str) -> Iterator[str]:
    common = {action.dest for action in BaseCommand().create_parser("manage.py", "any")._actions}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, below in action.choices.items():
                yield f"{words} {verb}"
                yield from _arguments(below, f"{words} {verb}")
        elif action.dest not in common:
            choices = ",".join(map(str, action.choices or ()))
            facts = [action.option_strings or action.dest, action.nargs, choices, action.required, action.default]
            yield f"{words} {' '.join(str(fact) for fact in facts)}"


def settings() -> Iterator[str]:
    """The keys of `QUEUEOPS`, of a pool and of a lane, what each must be, and the defaults."""
    for place, reader, names in _tables():
        yield from _limits(place, reader, names)
    for place, made in DEFAULTS.items():
        yield from (f"{place} {field.name} = {_default(field)}" for field in fields(made))
    yield from (f"{field.name.upper()} = {_default(field)}" for field in fields(conf.Settings))


def _tables() -> Iterator[tuple[str, read.Reader[Any], Iterable[str]]]:
    """Each dict of settings: its place, its reader and its keys."""
    readers = {"": conf.READERS, "CONNECT": tables.CONNECT, "JOBS": jobs.READERS, "JOBS RETRY": jobs.RULE}
    readers |= {"WORKFLOWS": workflows.READERS, "ALERTS RULES": alert_settings.RULE}
    readers |= {"ALERTS HEARTBEAT": alert_settings.HEARTBEAT}
    yield from ((place, read.table(table), table) for place, table in readers.items())
    yield "ALERTS", alert_settings.read_alerts, alert_settings.READERS
    yield "POOLS", tables.POOL, ("timeout", "retries", "lanes")
    yield "POOLS lanes", tables.LANE, (field.name for field in fields(conf.LaneSettings))
    yield "RETENTION", tables.KEPT, tables.RETENTION
    yield "RETRY", tables.RETRY, (field.name for field in fields(conf.BrokerRetry))
    yield "SENTRY", tables.SENTRY, (field.name for field in fields(conf.SentrySettings))


def _limits(place: str, reader: read.Reader[Any], keys: Iterable[str]) -> Iterator[str]:
    """What a wrong value is told to be."""
    for key in keys:
        try:
            reader({key: object()})
        except read.Unfit as unfit:
            yield f"{place} {key}: {unfit.expected}".strip()
        else:
            yield f"{place} {key}".strip()


def _default(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return repr(field.default_factory())
    return "required" if field.default is MISSING else repr(field.default)


def errors() -> Iterator[str]:
    """Each class of errors, what it is, and the fields of its message."""
    for module in _modules(queueops):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Explained) and kind.__module__ == module.__name__:
                message = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
                named = sorted({field for _, field, _, _ in Formatter().parse(message) if field})
                bases = ", ".join(base.__name__ for base in kind.__mro__[1:-3])
                yield f"{name}({bases}) {' '.join(named)}".rstrip()


def _modules(package: Any) -> Iterator[Any]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not {"migrations", "project", "pytest_plugin"} & set(found.name.split(".")):
            yield importlib.import_module(found.name)


def stored() -> Iterator[str]:
    """The fields of a record, and the kinds of keys with their types."""
    yield from (f"field {short} {each.name}" for short, each in kinds.fields().items())
    yield from (f"key {kind} {type_}" for kind, type_ in keys.types().items())


def audit_verbs() -> Iterator[str]:
    """What stands in the audit log, now and in rows that are kept."""
    import console.urls  # noqa: F401  the kinds add their URL names
    from console.access.permissions import TABLE
    from console.actions import catalog
    from console.models import Outcome

    yield from (f"verb {verb}" for verb in catalog.verbs())
    yield from (f"outcome {outcome}" for outcome in Outcome.values)
    # The demo adds its URL names when its URLs are imported, and another test may have imported them.
    own = {name: verb for name, verb in TABLE.items() if not name.startswith("demo")}
    yield from (f"permission {name} {verb or ''}".rstrip() for name, verb in own.items())


def checks() -> Iterator[str]:
    """The ids of system checks."""
    for package in (queueops, console):
        for path in Path(package.__path__[0]).rglob("*.py"):
            yield from re.findall(r"\bqueueops(?:_console)?\.[EW]\d{3}\b", path.read_text())


def models() -> Iterator[str]:
    """The state that the migrations lead to."""
    state = MigrationLoader(None).project_state()
    for (app, name), model in state.models.items():
        if app == "queueops_console":
            yield f"{name} {model.options.get('db_table', '')}".rstrip()
            yield from (f"{name} {field} {type(kind).__name__}" for field, kind in model.fields.items())


def _sorted(lines: Callable[[], Iterator[str]]) -> Callable[[], list[str]]:
    return lambda: sorted(set(lines()))


SUBJECTS: dict[str, Callable[[], list[str]]] = {
    subject.__name__: _sorted(subject)
    for subject in (
        scripts,
        public_names,
        addresses,
        command_line,
        settings,
        errors,
        stored,
        audit_verbs,
        checks,
        models,
    )
}
