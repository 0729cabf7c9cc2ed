"""Celery's apps and tasks: found in the code, each with a plan."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst

from queueops.migrate import celery_options
from queueops.migrate.bound import Body
from queueops.migrate.code import keywords, literal, short, text_of
from queueops.migrate.names import Names
from queueops.migrate.plan import Task
from queueops.migrate.survey import Finding, Project, decorators, find_assigned_apps

DECORATORS = {
    "celery.shared_task",
    "celery.task",
    "celery.task.task",
    "celery.decorators.task",
    "celery.app.shared_task",
}
IN_BODIES = {"chain", "group", "chord", "SoftTimeLimitExceeded", "get_task_logger", "AsyncResult", "signature"}
"""Names of Celery that a task may use and is rewritten all the same: they are rewritten or listed on their own."""


def find_apps(project: Project, names: Names) -> None:
    """Take down each `app = Celery(...)`."""
    find_assigned_apps(project, names, {"celery.Celery", "celery.app.Celery"}.__contains__)


def find_tasks(project: Project, names: Names) -> None:
    """Plan each task of a file."""
    names.module.visit(_Tasks(project, names))


class _Tasks(Finding):
    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """A task, if one of its decorators is Celery's."""
        for decorator, full, args in decorators(self.names, node):
            if full in DECORATORS or (full.endswith(".task") and self.project.is_app(full.removesuffix(".task"))):
                task = plan(self.names, node, decorator, args)
                if (other := self.project.tasks.get(task.name)) and other.path == task.path:
                    task.blockers.append((task.line, node.name.value, "two tasks have this name: give each its own"))
                self.project.tasks[task.name] = task
                return


def plan(names: Names, node: cst.FunctionDef, decorator: cst.Decorator, args: Sequence[cst.Arg]) -> Task:
    """What becomes of a task."""
    options, line = keywords(args), names.line(decorator)
    full = f"{names.source.module}.{node.name.value}"
    given = literal(options.get("name"))
    task = Task(full, given if isinstance(given, str) else full, names.source.path, line, args)
    queue = literal(options.get("queue"))
    task.pool = queue if isinstance(queue, str) else "default" if "queue" not in options else ""
    celery_options.block(task, line)
    _block_place(names, node, decorator, task)
    retries_itself = _read_body(names, node, task, options)
    celery_options.settle_retries(task, retries_itself=retries_itself)
    task.options = partial(celery_options.new_options, task, retries_itself=retries_itself)
    return task


def _block_place(names: Names, node: cst.FunctionDef, decorator: cst.Decorator, task: Task) -> None:
    if names.enclosing(node, cst.FunctionDef, cst.Lambda) is not None:
        task.blockers.append(
            (task.line, "a task within a function", "move it to the top level: workers import it there")
        )
    if names.enclosing(node, cst.ClassDef) is not None:
        task.blockers.append((task.line, "a task within a class", "move it out of the class, and pass a primary key"))
    if node.decorators[0] is not decorator:
        above = short(node.decorators[0].decorator)
        task.blockers.append((task.line, f"@{above} above the task", "move it below @task"))


def _read_body(names: Names, node: cst.FunctionDef, task: Task, options: dict[str, cst.BaseExpression]) -> bool:
    """Note what the body has of Celery. Answers whether the task retries itself."""
    retries_itself = False
    if literal(options.get("bind")) is True:
        first = node.params.params[0] if node.params.params and not node.params.posonly_params else None
        if first is None:
            task.blockers.append(
                (task.line, "bind=True without a parameter for the task", "write the parameters by name")
            )
        else:
            task.self_name = first.name.value
            body = Body(task, lambda name: name, names.line)
            node.body.visit(body)
            task.blockers += body.leftovers
            retries_itself = body.retries_itself
    elif "bind" in options and literal(options["bind"]) is not False:
        task.blockers.append((task.line, f"bind={text_of(options['bind'])}", "write True or leave it out"))
    task.blockers += _foreign(names, node)
    return retries_itself


def _foreign(names: Names, node: cst.FunctionDef) -> list[tuple[int, str, str]]:
    """Uses of Celery within the task that mean its own run."""
    found = []
    for used, full in names.references("celery"):
        around = names.parent(used)
        through = names.full(around).rpartition(".")[2] if isinstance(around, cst.Attribute) else ""  # celery.Ignore
        last = through if through in ADVICE else full.rpartition(".")[2]
        if last in ("current_task", "Ignore", "Reject", "MaxRetriesExceededError", "current_app", "Retry") and any(
            above is node.body for above in _above(names, used)
        ):
            found.append((names.line(used), last, ADVICE[last]))
    return found


def _above(names: Names, node: cst.CSTNode) -> list[cst.CSTNode]:
    found = []
    above = names.enclosing(node, cst.BaseSuite)
    while above is not None:
        found.append(above)
        above = names.enclosing(above, cst.BaseSuite)
    return found


ADVICE = {
    "current_task": "write current(), which has id, attempt, meta and progress",
    "Ignore": "write current().cancel(reason)",
    "Reject": "write current().cancel(reason)",
    "MaxRetriesExceededError": "the last attempt fails with the error of RetryLater; write follow_up={'failure': ...}",
    "current_app": "there is no app object",
    "Retry": "write raise RetryLater(seconds, error)",
}
