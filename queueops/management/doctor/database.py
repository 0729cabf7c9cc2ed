"""The database: whether it answers, and has the tables of QueueOps and of the apps that its console needs."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import connections, router
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model

from queueops.management.doctor.finding import FAIL, OK, Finding

OURS = ("queueops", "console")
NEEDED = ("auth", "contenttypes", "sessions")
MOST = 5


def findings() -> Iterator[Finding]:
    """Migrations that are not applied, and tables that are gone although theirs are. Raises a database's errors."""
    labels = _labels()
    models = [model for label in labels for model in apps.get_app_config(label).get_models() if model._meta.managed]
    if not models:
        yield Finding("database", OK, "QueueOps has no table in this project: its console is not installed.")
        return
    by_alias: dict[str, list[type[Model]]] = {}
    for model in models:
        by_alias.setdefault(router.db_for_write(model), []).append(model)
    found = [each for alias, own in by_alias.items() for each in _of(alias, own)]
    yield from found or [Finding("database", OK, f"All {len(models)} tables are there; no migration is missing.")]


def _labels() -> list[str]:
    ours = [config.label for config in apps.get_app_configs() if config.name.partition(".")[0] in OURS]
    with_models = [label for label in ours if any(apps.get_app_config(label).get_models())]
    return [*with_models, *(label for label in NEEDED if with_models and apps.is_installed(f"django.contrib.{label}"))]


def _of(alias: str, models: list[type[Model]]) -> Iterator[Finding]:
    labels = {model._meta.app_label for model in models}
    connection = connections[alias]
    executor = MigrationExecutor(connection)
    targets = [node for node in executor.loader.graph.leaf_nodes() if node[0] in labels]
    waiting = [f"{migration.app_label}.{migration.name}" for migration, _ in executor.migration_plan(targets)]
    if waiting:
        seen = f"The database {alias!r} lacks migrations: {_some(waiting)}."
        yield Finding("database", FAIL, seen, f"Write: manage.py migrate --database {alias}")
        return
    there = set(connection.introspection.table_names())
    gone = [model for model in models if model._meta.db_table not in there]
    if gone:
        seen = f"The database {alias!r} lacks tables of applied migrations: {_some([m._meta.db_table for m in gone])}."
        again = " && ".join(
            f"manage.py migrate --database {alias} --fake {label} zero && manage.py migrate --database {alias} {label}"
            for label in dict.fromkeys(model._meta.app_label for model in gone)
        )
        yield Finding("database", FAIL, seen, f"Restore them from a backup; if no table of the app is left: {again}")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{', '.join(names[:MOST])}{more}"
