"""Beat: entries of `beat_schedule`, which become `cron=` of their tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import libcst as cst
from cronsim import CronSim, CronSimError

from queueops.migrate.code import UNKNOWN, dict_items, has_stars, keywords, literal, positional
from queueops.migrate.names import Names
from queueops.migrate.plan import Task
from queueops.migrate.rewriter import Stays
from queueops.migrate.survey import Project

SETTINGS = {"CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE", "beat_schedule"}
BROKERS = {"CELERY_BROKER_URL", "BROKER_URL", "broker_url", "broker"}
ZONES = {"CELERY_TIMEZONE", "timezone"}
FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
LONGEST = 366 * 86_400


def find_zone(project: Project, names: Names) -> None:
    """Take down the time zone of Celery's schedules, and the sort of its broker."""
    names.module.visit(_Settings(project))


class _Settings(cst.CSTVisitor):
    def __init__(self, project: Project) -> None:
        super().__init__()
        self.project = project

    def visit_Assign(self, node: cst.Assign) -> None:
        """A setting by name."""
        for target in node.targets:
            self._take(_last(target.target), node.value)

    def visit_Call(self, node: cst.Call) -> None:
        """A setting of `app.conf.update(...)` or `Celery(...)`."""
        for name, value in keywords(node.args).items():
            self._take(name, value)

    def _take(self, name: str, node: cst.BaseExpression) -> None:
        value = literal(node) if name in ZONES or name in BROKERS else None
        if not isinstance(value, str):
            return
        if name in ZONES and "/" in value:
            self.project.zone = value
        if name in BROKERS and not self.project.broker:
            scheme = value.partition(":")[0].partition("+")[0]
            self.project.broker = {"rediss": "redis", "pyamqp": "amqp", "amqps": "amqp"}.get(scheme, scheme)


def _last(node: cst.BaseExpression) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""


def find_entries(project: Project, names: Names) -> None:
    """Decide each entry of a schedule."""
    names.module.visit(_Entries(project, names))


class _Entries(cst.CSTVisitor):
    def __init__(self, project: Project, names: Names) -> None:
        super().__init__()
        self.project, self.names = project, names

    def visit_Assign(self, node: cst.Assign) -> None:
        """The entries, if a schedule is assigned."""
        if any(_last(target.target) in SETTINGS for target in node.targets):
            self._take(node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        """The same with a type."""
        if _last(node.target) in SETTINGS:
            self._take(node.value)

    def _take(self, value: cst.BaseExpression | None) -> None:
        for element in value.elements if isinstance(value, cst.Dict) else ():
            try:
                task = self._decide(element)
            except Stays as reason:
                self.project.left_entries[element] = str(reason)
            else:
                self.project.moved_entries.add(element)
                task.cron = self._line(element)

    def _decide(self, element: cst.BaseDictElement) -> Task:
        entry = dict_items(element.value)
        if not isinstance(element, cst.DictElement) or entry is None:
            raise Stays("an entry must be a dict with texts as keys; write @task(cron=...)")
        name = literal(entry.get("task"))
        task = self.project.registered(name) if isinstance(name, str) else None
        if task is None:
            raise Stays("no task of this name is in the given paths; write @task(cron=...)")
        if task.blockers:
            raise Stays(f"its task stays with the old queue, see {task.path}:{task.line}")
        if task.converted or task.cron is not None:
            raise Stays("the task is converted or has another schedule: write schedules.create(...), or cron= by hand")
        if extra := self._extra(entry, task):
            raise Stays(f"{extra} has no counterpart in cron=; write schedules.create(task.using(...), line)")
        line_of(self.names, entry.get("schedule"))
        return task

    def _extra(self, entry: Mapping[str, cst.BaseExpression], task: Task) -> str:
        """What an entry has beyond a task, its arguments, its schedule and its queue."""
        if unknown := set(entry) - {"task", "schedule", "args", "kwargs", "options"}:
            return ", ".join(sorted(unknown))
        if any(literal(entry.get(name, cst.Name("None"))) is UNKNOWN for name in ("args", "kwargs")):
            return "arguments that are not literal"
        options = literal(entry["options"]) if "options" in entry else {}
        if not isinstance(options, dict):
            return "options that are not literal"
        return ", ".join(
            sorted(name for name, value in options.items() if not (name == "queue" and value == task.pool))
        )

    def _line(self, element: cst.BaseDictElement) -> str:
        entry = dict_items(element.value) or {}
        line = json.dumps(line_of(self.names, entry.get("schedule")))
        more = [f"zone={json.dumps(self.project.zone)}"] if self.project.zone and "@every" not in line else []
        for name in ("args", "kwargs"):
            if name in entry and (value := literal(entry[name])):
                more.append(f"{name}={list(value)!r}" if name == "args" else f"{name}={value!r}")
        return f"Schedule({line}, {', '.join(more)})" if more else line


def line_of(names: Names, node: cst.BaseExpression | None) -> str:
    """The line of a schedule: crontab(...), a timedelta, or seconds. Raises Stays."""
    if node is None:
        raise Stays("it has no schedule")
    if isinstance(node, cst.Call):
        full = names.full(node.func)
        if full in ("celery.schedules.crontab", "huey.crontab", "huey.api.crontab"):
            return crontab(node)
        if full.rpartition(".")[2] in ("timedelta", "schedule", "every") and full.startswith(("datetime", "celery")):
            return _every(node)
    seconds = literal(node)
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        return _interval(float(seconds))
    raise Stays('its schedule is not literal; write cron="..." at the task')


def _every(node: cst.Call) -> str:
    if len(node.args) == 1 and isinstance(node.args[0].value, cst.Call):
        return _every(node.args[0].value)
    values = {name: literal(value) for name, value in keywords(node.args).items()}
    if positional(node.args) and len(node.args) == 1:
        values["seconds" if node.func.deep_equals(cst.Name("schedule")) else "days"] = literal(node.args[0].value)
    try:
        return _interval(timedelta(**values).total_seconds())
    except (TypeError, ValueError) as error:
        raise Stays('its schedule is not literal; write cron="@every 5m" at the task') from error


def _interval(seconds: float) -> str:
    if not seconds.is_integer() or not 1 <= seconds <= LONGEST:
        raise Stays("an interval is a whole number of seconds, from 1 second to 366 days")
    whole = int(seconds)
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if whole % size == 0:
            return f"@every {whole // size}{letter}"
    return f"@every {whole}s"


def crontab(node: cst.Call) -> str:
    """The line of `crontab(minute=..., hour=...)`. Raises Stays."""
    if has_stars(node.args) or positional(node.args):
        raise Stays('write the line of five fields, such as cron="0 3 * * *"')
    given = {FIELD_NAMES.get(name, name): literal(value) for name, value in keywords(node.args).items()}
    if set(given) - set(FIELDS) or not all(isinstance(value, (int, str)) for value in given.values()):
        raise Stays('its fields are not literal; write cron="0 3 * * *"')
    fields = [_field(name, str(given.get(name, "*"))) for name in FIELDS]
    if not fields[2].startswith("*") and not fields[4].startswith("*"):
        raise Stays("Celery and Huey want both the day and the weekday; in a line either is enough")
    line = " ".join(fields)
    try:
        CronSim(line, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise Stays(f"{line!r} is not a line: {error}") from error
    return line


FIELD_NAMES = {"day": "day_of_month", "month": "month_of_year"}
"""Names of Huey."""


def _field(name: str, text: str) -> str:
    text = "".join(text.split())
    if name == "day_of_week":
        for day in DAYS:
            text = text.lower().replace(day, day[:3])
    return text
