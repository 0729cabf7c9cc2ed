"""Pushes: `delay` and `apply_async` of a task, and what its results are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst
from libcst import matchers

from queueops.migrate.code import (
    UNKNOWN,
    broken,
    call_of,
    dict_items,
    has_stars,
    in_brackets,
    is_none,
    keywords,
    literal,
    method,
    named,
    positional,
    text_of,
)
from queueops.migrate.parts import is_handle, is_part, tasks_within
from queueops.migrate.rewriter import Rewriter, Stays, given

PUSHES = {"apply_async": "push", "apply_async_on_commit": "push_on_commit"}
PLAIN = {"delay": "push", "delay_on_commit": "push_on_commit"}
USING = {
    "queue": "pool",
    "task_id": "id",
    "expires": "expires",
    "headers": "meta",
    "soft_time_limit": "timeout",
    "time_limit": "timeout",
    "link": "success",
    "link_error": "failure",
    "priority": "priority",
}
NOTHING = {"retry", "retry_policy", "ignore_result", "shadow", "connection", "producer", "acks_late"}
"""Options that have no effect on what the task does."""
OF_A_TASK = {
    "retry": "write raise RetryLater(seconds, error)",
    "request": "write current()",
    "update_state": "write current().progress(done, total)",
    "apply": "write a call, such as add(1, 2)",
    "chunks": "write push_many([(1, 2), (3, 4)])",
    "starmap": "write push_many([(1, 2), (3, 4)])",
    "map": "write push_many([(1,), (2,)])",
    "run": "write a call, such as add(1, 2)",
    "AsyncResult": "write queueops.get(id)",
    "app": "there is no app object",
    "backend": "write queueops.get(id)",
    "apply_async": "write using(...).push, or postpone",
    "max_retries": "an option of @task: retries=",
    "rate_limit": "an option of @task: rate=",
}


def rewrite_method(rewriter: Rewriter, original: object, updated: cst.Attribute) -> cst.BaseExpression | None:
    """`task.delay` becomes `task.push`, also where it is not called."""
    if not isinstance(original, cst.Attribute):
        return None
    name, called = original.attr.value, _is_called(rewriter, original)
    if (task := rewriter.task_of(original.value)) is None:
        return None if called or name not in ("delay", "apply_async") else _method_of_part(rewriter, original, updated)
    if name in PLAIN and rewriter.moving(original.value):
        return updated.with_changes(attr=cst.Name(PLAIN[name]))
    if name in OF_A_TASK and task.moves and not (called and name in (*PUSHES, "apply")):
        raise Stays(OF_A_TASK[name])
    return None


def _method_of_part(rewriter: Rewriter, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression | None:
    """`task.s(1).delay` that is passed on, such as to `on_commit`."""
    if not is_part(rewriter, original.value):
        return None
    for task in tasks_within(rewriter, rewriter.names.value_of(original.value) or original.value):
        rewriter.moving(task)
    if original.attr.value == "apply_async":
        raise Stays("write push, or a function that calls using(...).push()")
    return updated.with_changes(attr=cst.Name("push"))


def rewrite_push(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`task.apply_async(...)`, and the same of a signature, a chain or a group."""
    if not isinstance(original, cst.Call) or not isinstance(original.func, cst.Attribute):
        return None
    name, target = original.func.attr.value, original.func.value
    func = cst.ensure_type(updated.func, cst.Attribute)
    if name in PUSHES and rewriter.moving(target):
        args, kwargs, options = _split(original, updated)
        return pushed(rewriter, func.value, PUSHES[name], [*args, *kwargs], options, original)
    if name == "apply" and rewriter.moving(target):
        raise Stays(OF_A_TASK["apply"])
    if name in ("delay", "apply_async") and is_part(rewriter, target):
        args, kwargs, options = _split(original, updated) if name in PUSHES else (list(updated.args), [], {})
        if args or kwargs:
            raise Stays("a part is pushed without further arguments; give them to .s()")
        for task in tasks_within(rewriter, rewriter.names.value_of(target) or target):
            rewriter.moving(task)
        composite = is_part(rewriter, target) == "composite"
        return pushed(rewriter, func.value, "push", [], options, original, composite=composite)
    if name in ("delay", "apply_async") and rewriter.task_of(target) is None:
        raise Stays("it is not sure that this is a task; for a task write push(...), postpone(60, ...) or using(...)")
    return None


def pushed(
    rewriter: Rewriter,
    value: cst.BaseExpression,
    verb: str,
    args: Sequence[cst.Arg],
    options: Mapping[str, cst.BaseExpression],
    original: cst.Call,
    *,
    composite: bool = False,
) -> cst.BaseExpression:
    """The push of a task or a part, with the options of `apply_async`."""
    chosen, delay = using(rewriter, options, original, composite=composite)
    named_ones = keywords(original.args)
    is_sure = not may_be_none(rewriter, named_ones.get("countdown") or named_ones.get("eta"))
    if delay is not None and verb == "push" and is_sure:
        target = method(in_brackets(value), "using", chosen) if chosen else in_brackets(value)
        return broken(method(target, "postpone", [cst.Arg(delay), *args]))
    if delay is not None:
        chosen = [*chosen, named("delay", delay)]
    target = method(in_brackets(value), "using", chosen) if chosen else in_brackets(value)
    return broken(method(target, verb, args))


def using(
    rewriter: Rewriter, options: Mapping[str, cst.BaseExpression], original: cst.Call, *, composite: bool = False
) -> tuple[list[cst.Arg], cst.BaseExpression | None]:
    """The arguments of `using`, and the delay. Raises Stays for an option without a counterpart."""
    chosen: dict[str, cst.BaseExpression] = {}
    follow_ups: dict[str, cst.BaseExpression] = {}
    delay = None
    for name, value in options.items():
        if not given(value) or name in NOTHING:
            continue
        if name in ("countdown", "eta"):
            if delay is not None:
                raise Stays("it has countdown and eta; write postpone(delay, ...)")
            delay = value
        elif name in ("serializer", "compression") and literal(value) == "json":
            continue
        elif name not in USING:
            raise Stays(f"{name}= has no counterpart in using(...)")
        elif composite and name not in ("task_id", "headers", "link", "link_error"):
            raise Stays(f"{name}= belongs to the tasks of a chain or a group: write task.s(...).using(...)")
        elif name in ("link", "link_error"):
            follow_ups[USING[name]] = _follow_up(rewriter, name, value, original)
        elif name == "priority":
            chosen["priority"] = _priority(rewriter, value)
        elif name == "queue" and may_be_none(rewriter, keywords(original.args).get(name)):
            raise Stays("queue= may be None here, and using(pool=None) is refused: leave it out then")
        elif not (name == "time_limit" and given(options.get("soft_time_limit"))):
            chosen[USING[name]] = value
    found = [named(name, value) for name, value in chosen.items()]
    if follow_ups:
        items = ", ".join(f'"{outcome}": {text_of(call)}' for outcome, call in follow_ups.items())
        found.append(named("follow_up", f"{{{items}}}"))
    return found, delay


def may_be_none(rewriter: Rewriter, node: cst.BaseExpression | None) -> bool:
    """Whether the code says that a value may be None: within it, or as the default of the parameter that it is."""
    if isinstance(node, cst.Name):
        function = rewriter.names.enclosing(node, cst.FunctionDef)
        params = function.params if isinstance(function, cst.FunctionDef) else cst.Parameters()
        return any(
            param.name.value == node.value and is_none(param.default)
            for param in (*params.params, *params.kwonly_params)
        )
    found = matchers.Name("None") | matchers.Call(func=matchers.Attribute(attr=matchers.Name("get")))
    return node is not None and bool(matchers.findall(node, found))


def _follow_up(rewriter: Rewriter, name: str, value: cst.BaseExpression, original: cst.Call) -> cst.BaseExpression:
    """The call of a link, whose task must move. An errback must not need Celery's arguments."""
    node = keywords(original.args).get(name)
    each = [element.value for element in node.elements] if isinstance(node, (cst.List, cst.Tuple)) else [node]
    for link in each:
        if link is None or is_part(rewriter, link) != "task":
            raise Stays(f"{name}= needs calls of single tasks, such as report.s(); write follow_up={{...}}")
        if name == "link_error" and not ignores_previous(link):
            raise Stays(ERRBACK)
    return value


ERRBACK = (
    "an errback gets one dict with task, name, outcome, reason and error, not request, exc and traceback: change its"
    ' parameters, and write using(follow_up={"failure": alert.s()})'
)


def ignores_previous(node: cst.CSTNode) -> bool:
    """Whether a call of a task takes nothing from what ended before it."""
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "si"


def _priority(rewriter: Rewriter, value: cst.BaseExpression) -> cst.BaseExpression:
    number = literal(value)
    if not isinstance(number, int) or rewriter.project.broker not in ("redis", "amqp"):
        raise Stays(
            "the order of priorities depends on Celery's broker; give --broker redis (0 goes first) or --broker amqp,"
            " or write using(priority=), where a higher number goes first"
        )
    return cst.parse_expression(str(-number if rewriter.project.broker == "redis" else number))


def _split(original: cst.Call, updated: cst.Call) -> tuple[list[cst.Arg], list[cst.Arg], dict[str, cst.BaseExpression]]:
    """The arguments of the call, and the options of `apply_async`. Raises Stays for unpacked ones."""
    if has_stars(updated.args) or len(positional(updated.args)) > 3:
        raise Stays("its options are unpacked from a variable; write using(...).push(...) with each option by its name")
    options = keywords(updated.args)
    for name, arg in zip(("args", "kwargs", "task_id"), positional(updated.args), strict=False):
        options[name] = arg.value
    return spread(options.pop("args", None)), spread_names(options.pop("kwargs", None)), options


def spread(node: cst.BaseExpression | None) -> list[cst.Arg]:
    """The arguments that a tuple or a list of them stands for."""
    if node is None or not given(node):
        return []
    if not isinstance(node, (cst.Tuple, cst.List)):
        return [cst.Arg(node, star="*")]
    return [cst.Arg(each.value, star="*" if isinstance(each, cst.StarredElement) else "") for each in node.elements]


def spread_names(node: cst.BaseExpression | None) -> list[cst.Arg]:
    """The named arguments that a dict of them stands for."""
    if node is None or not given(node):
        return []
    items = dict_items(node)
    if items is None or not all(name.isidentifier() for name in items):
        return [cst.Arg(node, star="**")]
    return [named(name, value) for name, value in items.items()]


RESULTS = {
    "get": "result(timeout=5)",
    "wait": "result(timeout=5)",
    "ready": "status().is_over",
    "successful": 'state == "succeeded"',
    "failed": 'state == "failed"',
    "revoke": "cancel(reason)",
}


def rewrite_result(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`result.get(timeout=5)` and the like, of a handle that the same code has pushed."""
    if not isinstance(original, cst.Call) or not isinstance(original.func, cst.Attribute):
        return None
    name = original.func.attr.value
    if name not in RESULTS:
        return None
    if not is_handle(rewriter, original.func.value):
        waits = (
            name == "get" and {"timeout", "propagate"} & set(keywords(original.args)) and not positional(original.args)
        )
        if waits or (name == "successful" and not original.args):
            raise Stays(f"it is not sure that this is the result of a task; for one write {RESULTS[name]}")
        return None
    handle, options = cst.ensure_type(updated.func, cst.Attribute).value, keywords(updated.args)
    if name in ("get", "wait"):
        if set(options) - {"timeout", "interval"} or has_stars(updated.args):
            raise Stays("write result(timeout=5); it raises TaskFailed")
        return method(
            handle, "result", [arg for arg in updated.args if arg.keyword is None or arg.keyword.value == "timeout"]
        )
    if name == "revoke":
        hard = literal(options.get("terminate", cst.Name("False")))
        if hard is UNKNOWN:
            raise Stays("write cancel(hard=True)")
        return method(handle, "cancel", [named("hard", "True")] if hard else [])
    if name == "ready":
        return cst.Attribute(method(handle, "status"), cst.Name("is_over"))
    state = "succeeded" if name == "successful" else "failed"
    return cst.parse_expression(f'({text_of(handle)}.state == "{state}")')


OF_A_HANDLE = {
    "result": "write result(): it waits, and raises TaskFailed",
    "info": "write result(), or status()",
    "status": "write state",
    "task_id": "write id",
    "traceback": "write status(), which has the error",
    "results": "write result(): one handle has the list of results",
    "children": "write result(): one handle has the list of results",
    "join": "write result(timeout=5): it is the list of results",
    "get_leaf": "it has no counterpart",
    "parent": "it has no counterpart",
    "collect": "it has no counterpart",
    "completed_count": "it has no counterpart; queueops.inspect has the parts",
    "waiting": "write not status().is_over",
    "forget": "write using(keep=60) at the push",
    "save": "nothing: a group is in the store",
    "date_done": "write status()",
    "maybe_throw": "write result(): it raises TaskFailed",
    "then": "write chain(...), or using(follow_up={...})",
}


def rewrite_handle(rewriter: Rewriter, original: object, updated: cst.Attribute) -> cst.BaseExpression | None:
    """Note what a handle does not have, or has with another effect."""
    advice = OF_A_HANDLE.get(original.attr.value) if isinstance(original, cst.Attribute) else None
    if advice and isinstance(original, cst.Attribute) and is_handle(rewriter, original.value):
        raise Stays(advice)
    return None


def rewrite_send_task(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`app.send_task("shop.tasks.add", ...)`, for a task that moves."""
    if not isinstance(original, cst.Call) or not _is_send_task(rewriter, original.func):
        return None
    if not positional(updated.args):
        raise Stays("write queueops.push(name, ...)")
    name = literal(updated.args[0].value)
    task = rewriter.project.registered(name) if isinstance(name, str) else None
    if task is None:
        raise Stays("no task of this name is in the given paths; write queueops.push(name, ...) when it has moved")
    if not task.moves:
        raise Stays(f"its task stays with the old queue, see {task.path}:{task.line}")
    args, kwargs, options = _split(original, updated.with_changes(args=updated.args[1:]))
    rewriter.handle(original.func)
    if not any(given(value) for value in options.values()):
        return call_of(rewriter.use("push"), [updated.args[0], *args, *kwargs])
    target = call_of(rewriter.use("task_named"), [updated.args[0]])
    return pushed(rewriter, target, "push", [*args, *kwargs], options, original)


def _is_send_task(rewriter: Rewriter, func: cst.BaseExpression) -> bool:
    full = rewriter.names.full(func)
    app, _, last = full.rpartition(".")
    known = app in ("celery.current_app", "celery.execute") or rewriter.project.is_app(app)
    return last == "send_task" and known


def _is_called(rewriter: Rewriter, node: cst.CSTNode) -> bool:
    above = rewriter.names.parent(node)
    return isinstance(above, cst.Call) and above.func is node
