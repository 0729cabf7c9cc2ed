"""RQ and django-rq in their plain forms: `@job`, `delay`, and `enqueue` of a function."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from queueops.migrate import imports, leftovers, pushes
from queueops.migrate.code import UNKNOWN, keywords, literal, named, positional, short
from queueops.migrate.names import Names
from queueops.migrate.notes import Notes
from queueops.migrate.parts import answers_of
from queueops.migrate.plan import Task
from queueops.migrate.rewriter import Rewriter, Stays, applied, given
from queueops.migrate.survey import Finding, Project, decorators
from queueops.migrate.task_modules import check_module

WORDS = re.compile(r"\bdef ")  # a function that is enqueued may stand in any file
DECORATORS = {"django_rq.job", "django_rq.decorators.job", "rq.decorators.job", "rq.job"}
QUEUES = {"rq.Queue", "rq.queue.Queue", "django_rq.get_queue", "django_rq.queues.get_queue"}
ENQUEUE = {"enqueue": 0, "enqueue_in": 1, "enqueue_at": 1}
"""The position of the function."""
USING = {"job_timeout": "timeout", "result_ttl": "keep", "ttl": "expires", "job_id": "id", "meta": "meta"}
NOTHING = {"description", "connection", "failure_ttl", "connection_class", "queue_class"}


def find_jobs(project: Project, names: Names) -> None:
    """Take down the functions with `@job`."""
    names.module.visit(_Jobs(project, names))


class _Jobs(Finding):
    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        for decorator, used, args in decorators(self.names, node):
            if used in DECORATORS:
                task = _task(self.names, node, self.names.line(decorator))
                task.args = args
                _plan(task, node.decorators[0] is decorator)
                if self.names.enclosing(node, cst.FunctionDef, cst.ClassDef) is not None:
                    task.blockers.append((task.line, "a job within a function or class", "move it to the top level"))
                self.project.tasks[task.name] = task


def _task(names: Names, node: cst.FunctionDef, line: int) -> Task:
    full = f"{names.source.module}.{node.name.value}"
    return Task(full, full, names.source.path, line, options=lambda use: [named("retries", "0")])


def _plan(task: Task, outermost: bool) -> None:
    made, options = [named("retries", "0")], keywords(task.args)
    queue = positional(task.args)
    name = literal(queue[0].value) if len(queue) == 1 else "default" if not queue else UNKNOWN
    if not isinstance(name, str) or any(arg.star for arg in task.args):
        task.blockers.append((task.line, "the queue of @job", 'it must be a text; write @task(pool="mail")'))
    elif name != "default":
        task.pool = name
        made.insert(0, named("pool", queue[0].value))
    for option, value in options.items():
        new = "timeout" if option == "timeout" else USING.get(option)
        if new and new != "id" and (isinstance(literal(value), int) or new == "meta"):
            made.append(named(new, value))
        elif option not in NOTHING:
            task.blockers.append((task.line, f"{option}={short(value)}", "the option has no counterpart in this form"))
    if not outermost:
        task.blockers.append((task.line, "a decorator above @job", "move it below @task"))
    task.options = lambda use: made


def find_enqueued(project: Project, names: Names) -> None:
    """Take down the functions that are enqueued without `@job`: they get `@task`."""
    wanted = _Enqueued(names)
    names.module.visit(wanted)
    for full in wanted.found - set(project.tasks):
        module, _, function = full.rpartition(".")
        for other in project.names.values():
            if other.source.module == module:
                for line in other.module.body:
                    if isinstance(line, cst.FunctionDef) and line.name.value == function:
                        task = _task(other, line, other.line(line))
                        task.plain = True
                        project.tasks[full] = task


class _Enqueued(cst.CSTVisitor):
    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = names
        self.found: set[str] = set()

    def visit_Call(self, node: cst.Call) -> None:
        if (at := _position(self.names, node)) is not None and len(node.args) > at:
            self.found.add(self.names.full(node.args[at].value))


def _position(names: Names, node: cst.Call) -> int | None:
    """Where the function stands in a call of `enqueue`; None for other calls."""
    full = names.full(node.func)
    if full in ("django_rq.enqueue", "django_rq.queues.enqueue"):
        return 0
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in ENQUEUE and _queue(names, node.func.value):
        return ENQUEUE[node.func.attr.value]
    return None


def _queue(names: Names, node: cst.BaseExpression) -> cst.Call | None:
    """The call that makes a queue, also through a variable."""
    made = names.value_of(node) or node
    return made if isinstance(made, cst.Call) and names.full(made.func) in QUEUES else None


def rewrite_enqueue(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`queue.enqueue(f, 1)` becomes `f.push(1)`."""
    if not isinstance(original, cst.Call) or (at := _position(rewriter.names, original)) is None:
        return None
    plain = positional(updated.args)
    if len(plain) <= at or any(arg.star for arg in updated.args[: at + 1]):
        raise Stays("write task.push(...)")
    task = rewriter.moving(original.args[at].value)
    if task is None:
        raise Stays("its function is not in the given paths; put @task above it, and write f.push(...)")
    chosen = list(_options(rewriter, original, updated, task))
    given_apart = {name: value for name, value in keywords(updated.args).items() if name in ("args", "kwargs")}
    named_args = [arg for arg in updated.args if arg.keyword is not None and not _is_option(arg)]
    args = [*plain[at + 1 :], *named_args, *(arg for arg in updated.args if arg.star == "**")]
    if given_apart:
        if args:
            raise Stays("it has args= or kwargs=, and further arguments; write task.push(...)")
        args = [*pushes.spread(given_apart.get("args")), *pushes.spread_names(given_apart.get("kwargs"))]
    value = plain[at].value
    target = cst.Call(cst.Attribute(value, cst.Name("using")), chosen) if chosen else value
    verb = "postpone" if at else "push"
    first = [plain[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)] if at else []
    fresh = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in args]
    rewriter.handle(original.func)
    return cst.Call(cst.Attribute(target, cst.Name(verb)), [*first, *fresh])


def _is_option(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value in {*USING, *NOTHING, *OTHERS, "at_front", "args", "kwargs"}


OTHERS = {"unique", "depends_on", "retry", "on_success", "on_failure", "on_stopped", "pipeline", "timeout", "repeat"}


def _options(rewriter: Rewriter, original: cst.Call, updated: cst.Call, task: Task) -> Iterator[cst.Arg]:
    pool = _pool(rewriter.names, original)
    if pool != task.pool:
        yield named("pool", f'"{pool}"')
    for name, value in keywords(updated.args).items():
        if name in OTHERS:
            raise Stays(f"{name}= has no counterpart in this form; see using(...) and chain(...)")
        if name == "at_front":
            if literal(value) is True:
                yield named("priority", "100")
            elif literal(value) is not False:
                raise Stays("write using(priority=100)")
        elif name in USING and given(value):
            if name != "meta" and isinstance(literal(value), str) and name != "job_id":
                raise Stays(f"{name}= is a text; write seconds")
            yield named(USING[name], value)


def _pool(names: Names, original: cst.Call) -> str:
    """The name of the queue. Raises Stays if it is not literal."""
    made = _queue(names, original.func.value) if isinstance(original.func, cst.Attribute) else None
    if made is None:
        return "default"
    options = keywords(made.args)
    first = positional(made.args)[0].value if positional(made.args) else options.get("name")
    name = "default" if first is None else literal(first)
    if not isinstance(name, str):
        raise Stays("the name of its queue is not literal; write f.using(pool=...).push(...)")
    return name


_RESULT = "write result(timeout=5): it waits, and raises TaskFailed"
_STATE = 'write state, which is a text such as "pending", "locked", "succeeded" or "failed"'
OF_A_JOB = {
    "result": _RESULT,
    "return_value": _RESULT,
    "latest_result": _RESULT,
    "exc_info": "write status(), which has the error",
    "get_status": _STATE,
    "is_finished": _STATE,
    "is_failed": _STATE,
    "is_queued": _STATE,
    "is_started": _STATE,
    "get_id": "write id",
    "refresh": "nothing: state, status() and result() read the store",
    "meta": "write using(meta={...}) at the push",
    "requeue": "write retry()",
    "delete": "write queueops.control.delete([handle.id])",
}


def list_uses(rewriter: Rewriter, original: object, updated: cst.BaseExpression) -> None:
    """Note what a handle does not have, or has with another effect, and what a queue is asked beside `enqueue`."""
    if not isinstance(original, cst.Attribute):
        return
    name, names = original.attr.value, rewriter.names
    if name in OF_A_JOB and (made := answers_of(rewriter, original.value)) and _is_push(rewriter, made):
        raise Stays(OF_A_JOB[name])
    if name not in ENQUEUE and _queue(names, original.value):
        is_push = name.startswith("enqueue") or name == "prepare_data"
        raise Stays("write task.push(...)" if is_push else "a queue is a pool: see queueops.inspect, manage.py queue")


def _is_push(rewriter: Rewriter, call: cst.Call) -> bool:
    """Whether a call enqueues a function that moves."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "delay":
        task = rewriter.task_of(call.func.value)
    else:
        at = _position(rewriter.names, call)
        task = rewriter.task_of(call.args[at].value) if at is not None and len(call.args) > at else None
    return task is not None and task.moves and call not in rewriter.stayed


FINDERS = (find_jobs, find_enqueued)
RULES = (rewrite_enqueue, pushes.rewrite_method, list_uses)


def rewrite(project: Project, names: Names, notes: Notes) -> str:
    """The new text of a file."""
    tree, rewriter = applied(project, names, notes, RULES)
    tree = imports.settled(rewriter, tree)
    leftovers.list_leftovers(rewriter, "rq", "django_rq", "rq_scheduler")
    check_module(project, names, notes)
    return tree.code
