"""Celery: all rules for its code, in their order."""

from __future__ import annotations

import re

from queueops.migrate import beat, canvas, celery_settings, celery_tasks, imports, leftovers, pushes
from queueops.migrate.names import Names
from queueops.migrate.notes import Notes
from queueops.migrate.rewriter import applied
from queueops.migrate.survey import Project
from queueops.migrate.task_modules import check_module

WORDS = re.compile(r"celery|\.delay|apply_async|send_task|queueops|shared_task|BROKER_URL", re.IGNORECASE)
FINDERS = (celery_tasks.find_apps, celery_tasks.find_tasks, beat.find_zone, beat.find_entries)
RULES = (
    pushes.rewrite_method,
    pushes.rewrite_push,
    pushes.rewrite_result,
    pushes.rewrite_handle,
    pushes.rewrite_send_task,
    canvas.rewrite_canvas,
    canvas.rewrite_part,
    leftovers.rewrite_names,
    leftovers.list_periodic,
    leftovers.rewrite_logger,
)


def rewrite(project: Project, names: Names, notes: Notes) -> str:
    """The new text of a file."""
    tree, rewriter = applied(project, names, notes, RULES)
    if rewriter.composite_stays:  # names of both queues stand side by side: ours are written with their module
        notes.found.clear()
        tree, rewriter = applied(project, names, notes, RULES, frozenset({"chain", "group"}))
    tree = imports.settled(rewriter, tree)
    tree = celery_settings.with_queueops(rewriter, tree)
    names.module.visit(celery_settings.SettingsReport(rewriter))
    leftovers.list_leftovers(rewriter, "celery", "kombu", "django_celery_beat")
    check_module(project, names, notes)
    return tree.code
