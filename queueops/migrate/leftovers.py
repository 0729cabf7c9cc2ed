"""Leftovers: what a file still has of Celery after its calls were rewritten, line by line, with what to write."""

from __future__ import annotations

import re

import libcst as cst
from libcst import matchers

from queueops.migrate.code import short
from queueops.migrate.names import leftmost
from queueops.migrate.rewriter import Rewriter, Stays

ADVICE = {
    "AsyncResult": "write queueops.get(id), which answers a handle or None",
    "GroupResult": "write queueops.get(id): one handle has the list of results",
    "Celery": "there is no app object: remove the app with its last task",
    "current_app": "there is no app object",
    "current_task": "write current()",
    "Task": "a class of tasks has no counterpart; write a function with @task, and a middleware or signals",
    "crontab": 'write cron="0 3 * * *" at the task, or Schedule(...)',
    "signature": "write task.s(...), or task_named(name).s(...)",
    "states": 'states are texts such as "pending", "locked", "succeeded", "failed"',
    "shared_task": "the task stays, see its line",
    "before_task_publish": "write a middleware with on_push",
    "after_task_publish": "receive the signal task_pushed",
    "task_prerun": "receive the signal task_started",
    "task_postrun": "receive task_succeeded, task_failed and task_cancelled",
    "task_success": "receive the signal task_succeeded",
    "task_failure": "receive the signal task_failed",
    "task_retry": "receive the signal task_retried",
    "task_revoked": "receive the signal task_cancelled",
    "worker_process_init": 'write Depends(open_client, scope="process"), or receive worker_started',
    "worker_ready": "receive the signal worker_started",
    "worker_shutdown": "receive the signal worker_stopping",
    "Ignore": "write current().cancel(reason)",
    "Reject": "write current().cancel(reason)",
    "Retry": "write raise RetryLater(seconds, error)",
    "MaxRetriesExceededError": "the last attempt fails with the error of RetryLater",
    "SoftTimeLimitExceeded": "write SoftTimeout, when its task has moved",
    "TimeoutError": "a result that is late raises ResultTimeout",
    "chunks": "write push_many([(1, 2), (3, 4)])",
    "xmap": "write push_many",
    "Queue": "write task.push(...); a queue is a pool, task.using(pool=...)",
    "get_queue": "write task.push(...); a queue is a pool, task.using(pool=...)",
    "get_current_job": "write current(), which has id, meta and progress",
    "Job": "write queueops.get(id)",
    "RetryTask": "write raise RetryLater(60)",
    "CancelExecution": "write current().cancel(reason)",
    "lock_task": "write @task(limit=1), or unique=",
    "control": "write handle.cancel(reason), queueops.control or queueops.inspect.workers()",
    "inspect": "write queueops.inspect.workers()",
}


def list_leftovers(rewriter: Rewriter, *packages: str) -> None:
    """Note each use of a name of the old queue that was not rewritten."""
    names, noted = rewriter.names, {note.line for note in rewriter.notes.found}
    for node, full in [found for package in packages for found in names.references(package)]:
        line = names.line(node)
        if node in rewriter.handled or line in noted or node in rewriter.listed:
            continue
        parent = names.parent(node)
        whole = parent if isinstance(parent, cst.Attribute) and parent.value is node else node
        last = names.full(whole).rpartition(".")[2] if whole is not node else full.rpartition(".")[2]
        advice = ADVICE.get(last) or ADVICE.get(full.rpartition(".")[2]) or "it has no counterpart"
        rewriter.notes.left(line, short(whole), advice)

    known_names = rewriter.handled | rewriter.listed
    for attribute in names.attributes():
        line, name = names.line(attribute), attribute.attr.value
        known = leftmost(attribute) in known_names or line in noted or name in OF_AN_APP
        if not known and rewriter.project.is_app(names.full(attribute.value)):
            rewriter.notes.left(line, short(attribute), ADVICE.get(name, "there is no app object"))
    for text in matchers.findall(names.module, matchers.SimpleString()):
        value = cst.ensure_type(text, cst.SimpleString).value
        if METHOD.search(value) or (value[1:-1] in ("delay", "apply_async") and _is_of_a_task(rewriter, text)):
            rewriter.notes.left(
                names.line(text), value, "a text that names a method of a task: its name is push, or using"
            )


def _is_of_a_task(rewriter: Rewriter, text: cst.CSTNode) -> bool:
    """Whether a text is an argument beside a task, as in `patch.object(add, "delay")`."""
    call = rewriter.names.parent(rewriter.names.parent(text))
    return isinstance(call, cst.Call) and any(rewriter.task_of(arg.value) for arg in call.args)


METHOD = re.compile(r"\.(?:delay|apply_async)['\"]$")
OF_AN_APP = {"conf", "task", "autodiscover_tasks", "config_from_object", "send_task", "set_default", "__name__"}
"""Attributes of an app that other notes speak of, or that go with the app."""


def rewrite_names(rewriter: Rewriter, original: object, updated: cst.BaseExpression) -> cst.BaseExpression | None:
    """The soft time limit by its new name. In a task that stays, the old queue still raises the old one."""
    if not isinstance(original, (cst.Name, cst.Attribute)):
        return None
    if isinstance(rewriter.names.parent(original), (cst.ImportAlias, cst.AsName, cst.Attribute)):
        return None
    full = rewriter.names.full(original)
    if full not in ("celery.exceptions.SoftTimeLimitExceeded", "billiard.exceptions.SoftTimeLimitExceeded"):
        return None
    around = rewriter.task_around(original)
    if around is not None and around.blockers:
        return None
    if around is None and any(task.blockers for task in rewriter.project.tasks.values()):
        why = "a task that stays with Celery still raises SoftTimeLimitExceeded: catch both, if such a task comes here"
        rewriter.notes.check(rewriter.names.line(original), short(original), why)
    rewriter.handle(original)
    return cst.parse_expression(rewriter.use("SoftTimeout"))


def list_periodic(rewriter: Rewriter, original: object, updated: cst.BaseExpression) -> None:
    """Note a schedule that is added when the app starts, such as `sender.add_periodic_task(10.0, add.s(1))`."""
    if isinstance(original, cst.Attribute) and original.attr.value == "add_periodic_task":
        raise Stays("write cron= at the task, or schedules.create(task, Schedule(line, args=[...]))")


def rewrite_logger(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`get_task_logger(__name__)`: a logger of a task is an ordinary one."""
    if not isinstance(original, cst.Call) or rewriter.names.full(original.func) != "celery.utils.log.get_task_logger":
        return None
    rewriter.handle(original.func)
    rewriter.modules.add("logging")
    return updated.with_changes(func=cst.parse_expression("logging.getLogger"))
