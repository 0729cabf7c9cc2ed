"""Huey in its plain forms: its decorators, calls that queue a task, `schedule` and `call_local`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import libcst as cst

from queueops.migrate import beat, imports, leftovers, pushes
from queueops.migrate.code import has_stars, is_none, keywords, literal, method, named, positional, short, text_of
from queueops.migrate.names import Names
from queueops.migrate.notes import Notes
from queueops.migrate.parts import answers_of
from queueops.migrate.plan import Task, Use
from queueops.migrate.rewriter import Rewriter, Stays, applied, given
from queueops.migrate.survey import Finding, Project, decorators, find_assigned_apps
from queueops.migrate.task_modules import check_module

WORDS = re.compile(r"\bimport\b")  # a call of a task looks like any call, in any file
DECORATORS = {"task", "periodic_task", "db_task", "db_periodic_task", "on_commit_task"}
RENAMED = {"name": "name", "priority": "priority", "expires": "expires"}
IN_THE_GUIDE = "a call of the task queues it in Huey, and runs here in QueueOps: write task.push or task.si(...)"


def find_apps(project: Project, names: Names) -> None:
    """Take down each `huey = RedisHuey(...)`."""
    find_assigned_apps(project, names, lambda full: full.startswith("huey.") and full.endswith("Huey"))


def find_tasks(project: Project, names: Names) -> None:
    """Plan each task of a file."""
    names.module.visit(_Tasks(project, names))


class _Tasks(Finding):
    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        for decorator, full, args in decorators(self.names, node):
            owner, _, name = full.rpartition(".")
            if name in DECORATORS and (owner == "huey.contrib.djhuey" or self.project.is_app(owner)):
                task = _planned(self.names, node, decorator, name, args)
                self.project.tasks[task.name] = task


def _planned(names: Names, node: cst.FunctionDef, decorator: cst.Decorator, kind: str, args: Sequence[cst.Arg]) -> Task:
    full, line = f"{names.source.module}.{node.name.value}", names.line(decorator)
    task = Task(full, full, names.source.path, line, args)
    task.method = "push_on_commit" if kind == "on_commit_task" else "push"
    options = keywords(args)
    if kind.endswith("periodic_task"):
        _schedule(names, task, positional(args))
    elif positional(args) or has_stars(args):
        task.blockers.append((line, "the decorator's arguments", "write each option by its name"))
    for name, value in options.items():
        known = name in RENAMED or name in ("retries", "retry_delay")
        if not known or (name == "context" and not is_none(value)):
            task.blockers.append(
                (line, f"{name}={short(value)}", "the option has no counterpart; see current() and signals")
            )
    if names.enclosing(node, cst.FunctionDef, cst.ClassDef) is not None:
        task.blockers.append((line, "a task within a function or class", "move it to the top level"))
    if node.decorators[0] is not decorator:
        task.blockers.append((line, f"@{short(node.decorators[0].decorator)} above the task", "move it below @task"))
    task.options = lambda use: _new_options(options, use)
    return task


def _schedule(names: Names, task: Task, args: Sequence[cst.Arg]) -> None:
    try:
        if len(args) != 1:
            raise Stays('write cron="0 3 * * *"')
        task.cron = json.dumps(beat.line_of(names, args[0].value))
    except Stays as reason:
        task.blockers.append((task.line, "its schedule", str(reason)))


def _new_options(options: dict[str, cst.BaseExpression], use: Use) -> list[cst.Arg]:
    found = [named(RENAMED[name], value) for name, value in options.items() if name in RENAMED]
    retries = options.get("retries")
    found.append(named("retries", retries if retries is not None else "0"))
    if retries is not None and literal(retries) != 0:
        delay = text_of(options["retry_delay"]) if "retry_delay" in options else "0"
        found.append(named("retry", f"{use('Retry')}(delay={delay}, backoff=1, jitter=0)"))
    return found


def rewrite_call(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`f(1)` becomes `f.push(1)`, `f.call_local(1)` becomes `f(1)`, `f.schedule((1,), delay=10)` becomes a postpone."""
    if not isinstance(original, cst.Call):
        return None
    func = original.func
    if (task := rewriter.task_of(func)) is not None and not task.converted and rewriter.moving(func):
        return updated.with_changes(func=cst.Attribute(updated.func, cst.Name(task.method)))
    if not isinstance(func, cst.Attribute) or (task := rewriter.task_of(func.value)) is None or task.converted:
        return None
    rewriter.moving(func.value)
    value = cst.ensure_type(updated.func, cst.Attribute).value
    if func.attr.value == "call_local":
        return updated.with_changes(func=value)
    if func.attr.value == "schedule":
        return _scheduled(value, updated)
    raise Stays("write push(...), postpone(60, ...) or chain(f.s(1), g.s())")


def _scheduled(value: cst.BaseExpression, call: cst.Call) -> cst.BaseExpression:
    options = keywords(call.args)
    if positional(call.args):
        options["args"] = positional(call.args)[0].value
    delays = [options.pop(name) for name in ("delay", "eta") if name in options]
    args, kwargs = pushes.spread(options.pop("args", None)), pushes.spread_names(options.pop("kwargs", None))
    if options or len(delays) != 1 or not given(delays[0]) or len(positional(call.args)) > 1 or has_stars(call.args):
        raise Stays("write postpone(delay, ...) or postpone(moment, ...)")
    return method(value, "postpone", [cst.Arg(delays[0]), *args, *kwargs])


OF_A_RESULT = {
    "get": "write result(timeout=5), which waits and raises, or state",
    "revoke": "write cancel(reason)",
    "is_revoked": "write status()",
    "reschedule": "write postpone(delay), before the task has begun",
    "reset": "nothing: each result() reads the store",
    "restore": "write queueops.control.reinstate([handle.id])",
    "task": "a handle has id, pool and state",
}

WAITING = {"blocking", "timeout", "backoff", "max_delay", "revoke_on_timeout", "preserve"}
"""What a result of Huey is asked with."""


def rewrite_result(rewriter: Rewriter, original: object, updated: cst.BaseExpression) -> cst.BaseExpression | None:
    """`f(1)(blocking=True)` becomes `f.push(1).result()`, `revoke()` becomes `cancel()`. The others are listed."""
    if isinstance(original, cst.Attribute):
        name, above = original.attr.value, rewriter.names.parent(original)
        is_called = isinstance(above, cst.Call) and above.func is original and name in ("get", "revoke")
        if name in OF_A_RESULT and not is_called and _is_handle(rewriter, original.value):
            raise Stays(OF_A_RESULT[name])
        return None
    if not isinstance(original, cst.Call):
        return None
    name, asked, handle = "get", original.func, cst.ensure_type(updated, cst.Call).func
    if isinstance(asked, cst.Attribute) and asked.attr.value in ("get", "revoke"):
        name, asked, handle = asked.attr.value, asked.value, cst.ensure_type(handle, cst.Attribute).value
    options = keywords(original.args)
    if not _is_handle(rewriter, asked):
        if _may_wait(rewriter, asked, original.args, options):
            raise Stays(f"if this is the answer of a task that moves, {OF_A_RESULT['get']}")
        return None
    waits = literal(options.get("blocking")) is True and not set(options) - {"blocking", "timeout"}
    if positional(original.args) or has_stars(original.args) or (options if name == "revoke" else not waits):
        raise Stays(OF_A_RESULT[name])
    if name == "revoke":
        return method(handle, "cancel")
    return method(handle, "result", [named("timeout", options["timeout"])] if "timeout" in options else [])


def _may_wait(
    rewriter: Rewriter, node: cst.BaseExpression, args: Sequence[cst.Arg], options: Mapping[str, object]
) -> bool:
    """Whether a call looks like that of an answer that came from elsewhere, such as out of a list."""
    if "blocking" not in options or positional(args) or set(options) - WAITING or text_of(node).endswith(".acquire"):
        return False
    return answers_of(rewriter, node) is None and rewriter.task_of(node) is None


def _is_handle(rewriter: Rewriter, node: cst.CSTNode) -> bool:
    """Whether an expression is the answer of a task that was called or scheduled, and moves."""
    made = answers_of(rewriter, node)
    if made is None:
        return False
    func = made.func
    if isinstance(func, cst.Attribute) and func.attr.value == "schedule":
        func = func.value
    task = rewriter.task_of(func)
    return task is not None and task.moves and not task.converted and task.method == "push"


def list_values(rewriter: Rewriter, original: object, updated: cst.BaseExpression) -> cst.BaseExpression | None:
    """A task that is passed on as a function: it would run where it is called."""
    if not isinstance(original, (cst.Name, cst.Attribute)):
        return None
    task, above = rewriter.task_of(original), rewriter.names.parent(original)
    is_call = isinstance(above, cst.Call) and above.func is original
    if task is None or task.converted or not task.moves or is_call:
        return None
    if isinstance(above, (cst.Attribute, cst.ImportAlias, cst.AsName, cst.FunctionDef, cst.ImportFrom)):
        return None
    raise Stays(IN_THE_GUIDE)


FINDERS = (find_apps, find_tasks)
RULES = (rewrite_call, rewrite_result, list_values)


def rewrite(project: Project, names: Names, notes: Notes) -> str:
    """The new text of a file."""
    tree, rewriter = applied(project, names, notes, RULES)
    tree = imports.settled(rewriter, tree)
    leftovers.list_leftovers(rewriter, "huey")
    check_module(project, names, notes)
    return tree.code
