"""Task modules: tasks that stand where no worker looks for them."""

from __future__ import annotations

from pathlib import Path

from queueops.migrate.names import Names
from queueops.migrate.notes import Notes
from queueops.migrate.survey import Project

MARKS = ("apps.py", "models.py", "models", "migrations", "tasks.py", "tasks")


def check_module(project: Project, names: Names, notes: Notes) -> None:
    """Note a module with tasks that is not `tasks.py` of an app."""
    tasks = [task for task in project.tasks.values() if task.path == names.source.path and not task.blockers]
    if not tasks:
        return
    inner = _within_app(names.source.path, names.source.module)
    if inner not in ("tasks", ""):
        why = (
            f'workers import tasks.py of each app; add "{inner}" to QUEUEOPS["TASK_MODULES"], or import it in tasks.py'
        )
        notes.check(min(task.line for task in tasks), f"tasks in {names.source.path.name}", why)


def _within_app(path: Path, module: str) -> str:
    """The name of the module from its app on: the nearest folder around it that looks like one."""
    parts = module.split(".")
    folder = path.parent if path.name != "__init__.py" else path.parent.parent
    for size in range(1, len(parts) + 1):
        inner = ".".join(parts[-size:])
        if inner == "tasks" or any((folder / mark).exists() for mark in MARKS if mark != "tasks" or size > 1):
            return inner
        folder = folder.parent
    return parts[-1]
