"""Canvas: `chain`, `group`, `chord` and signatures."""

from __future__ import annotations

import libcst as cst

from queueops.migrate.code import (
    call_of,
    dict_items,
    has_stars,
    in_brackets,
    keywords,
    literal,
    method,
    named,
    positional,
    short,
    text_of,
)
from queueops.migrate.parts import canvas_of, is_part, tasks_within
from queueops.migrate.pushes import ERRBACK, ignores_previous, spread, spread_names, using
from queueops.migrate.rewriter import Rewriter, Stays, given


def rewrite_canvas(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`chain(...)`, `group(...)`, `chord(header, body)`, and each of them called."""
    if not isinstance(original, cst.Call):
        return None
    try:
        if kind := canvas_of(rewriter, original):
            return _composite(rewriter, kind, original, updated)
        if kind := canvas_of(rewriter, original.func):
            return _called(rewriter, kind, original, updated)
    except Stays:
        rewriter.composite_stays = True
        raise
    return None


def _composite(rewriter: Rewriter, kind: str, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    for task in tasks_within(rewriter, original):
        rewriter.moving(task)
    above = rewriter.names.parent(original)
    if kind == "chord":
        if isinstance(above, cst.Call) and above.func is original:
            return None  # the call around it is rewritten as a whole
        rewriter.handle(original)
        return _chord(rewriter, _arguments(updated))
    if keywords(updated.args) or any(arg.star == "**" for arg in updated.args):
        raise Stays(f"{kind} takes parts only; write {kind}(...).using(...)")
    rewriter.handle(original)
    _check_variables(rewriter, original)
    return updated.with_changes(func=cst.parse_expression(rewriter.use(kind)))


def _check_variables(rewriter: Rewriter, call: cst.Call) -> None:
    """Note parts that come from elsewhere, if some tasks stay."""
    unknown = [arg.value for arg in call.args if isinstance(arg.value, (cst.Name, cst.Attribute)) or arg.star]
    if unknown and any(not task.moves for task in rewriter.project.tasks.values()):
        why = "some tasks of the project stay: its parts must be calls of tasks that are rewritten"
        rewriter.notes.check(rewriter.names.line(call), short(call), why)


def _called(rewriter: Rewriter, kind: str, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
    inner = original.func
    for task in tasks_within(rewriter, original):
        rewriter.moving(task)
    if kind == "chord":
        parts = {**_arguments(cst.ensure_type(updated.func, cst.Call)), "body": _only(updated)}
        rewriter.handle(inner)
        return method(_chord(rewriter, parts), "push")
    if updated.args:
        raise Stays("a chain or group is pushed without further arguments; give them to .s()")
    return method(updated.func, "push")


def _arguments(call: cst.Call) -> dict[str, cst.BaseExpression]:
    found = keywords(call.args)
    for name, arg in zip(("header", "body"), positional(call.args), strict=False):
        found[name] = arg.value
    if has_stars(call.args) or set(found) - {"header", "body"} or "header" not in found:
        raise Stays("write chain(group(...), total.s())")
    return found


def _only(call: cst.Call) -> cst.BaseExpression:
    found = keywords(call.args)
    if len(call.args) != 1 or has_stars(call.args) or set(found) - {"body"}:
        raise Stays("write chain(group(...), total.s()).push()")
    return call.args[0].value


def _chord(rewriter: Rewriter, parts: dict[str, cst.BaseExpression]) -> cst.Call:
    """A chain of the group and the body."""
    if not given(parts.get("body")):
        raise Stays("write chain(group(...), total.s())")
    header = parts["header"]
    group = rewriter.use("group")
    if not (isinstance(header, cst.Call) and text_of(header.func) == group):
        header = cst.Call(cst.parse_expression(group), [cst.Arg(header)])
    return call_of(rewriter.use("chain"), [cst.Arg(header), cst.Arg(parts["body"])])


def rewrite_part(rewriter: Rewriter, original: object, updated: cst.Call) -> cst.BaseExpression | None:
    """`.signature(...)`, and the methods of a signature: `.set(...)`, `.on_error(...)`, `.link(...)`."""
    if not isinstance(original, cst.Call):
        return None
    if not isinstance(original.func, cst.Attribute):
        return _called_part(rewriter, original, updated)
    name, target = original.func.attr.value, original.func.value
    value = updated.func.value if isinstance(updated.func, cst.Attribute) else updated.func
    if name in ("s", "si") and rewriter.task_of(target):
        rewriter.moving(target)
        return None
    if name in ("signature", "subtask") and rewriter.moving(target):
        return _signature(rewriter, value, original, updated)
    kind = (
        is_part(rewriter, target)
        if name in ("set", "on_error", "link", "link_error", "apply", "clone", "freeze")
        else ""
    )
    if not kind:
        return None
    if name == "set":
        return _set(rewriter, value, original, updated, composite=kind == "composite")
    if name == "on_error":
        if len(original.args) != 1 or is_part(rewriter, original.args[0].value) != "task":
            raise Stays('write using(follow_up={"failure": alert.s()}) with calls of single tasks')
        if not ignores_previous(original.args[0].value):
            raise Stays(ERRBACK)
        items = expression_of_failure(updated.args[0].value)
        return method(in_brackets(value), "using", [named("follow_up", items)])
    raise Stays(f"a part does not change: write part = part.using(...) in place of {name}()")


def _called_part(rewriter: Rewriter, original: cst.Call, updated: cst.Call) -> cst.BaseExpression | None:
    """`(a.s() | b.s())()` is a push. `a.s(1)()` runs here and now."""
    kind = is_part(rewriter, original.func)
    if kind == "task":
        raise Stays("Celery runs it here and now; write a call, such as add(1, 2)")
    if kind != "composite":
        return None
    if original.args:
        raise Stays("a chain or group is pushed without further arguments; give them to .s()")
    for task in tasks_within(rewriter, rewriter.names.value_of(original.func) or original.func):
        rewriter.moving(task)
    return method(in_brackets(updated.func), "push")


def expression_of_failure(call: cst.BaseExpression) -> str:
    """The follow-up of a failure."""
    return f'{{"failure": {text_of(call)}}}'


def _set(
    rewriter: Rewriter, value: cst.BaseExpression, original: cst.Call, updated: cst.Call, *, composite: bool
) -> cst.BaseExpression:
    if has_stars(updated.args) or positional(updated.args):
        raise Stays("write using(...) with each option by its name")
    chosen, delay = using(rewriter, keywords(updated.args), original, composite=composite)
    if delay is not None:
        chosen.append(named("delay", delay))
    return method(in_brackets(value), "using", chosen) if chosen else value


def _signature(
    rewriter: Rewriter, value: cst.BaseExpression, original: cst.Call, updated: cst.Call
) -> cst.BaseExpression:
    if has_stars(updated.args) or len(positional(updated.args)) > 2:
        raise Stays("write .s(...) or .si(...)")
    options = keywords(updated.args)
    for name, arg in zip(("args", "kwargs"), positional(updated.args), strict=False):
        options[name] = arg.value
    immutable = literal(options.pop("immutable", cst.Name("False")))
    if immutable not in (True, False):
        raise Stays("write .s(...) or .si(...)")
    args, kwargs = spread(options.pop("args", None)), spread_names(options.pop("kwargs", None))
    extra = dict_items(options.pop("options", None)) or {}
    chosen, delay = using(rewriter, {**options, **extra}, original)
    if delay is not None:
        chosen.append(named("delay", delay))
    target = method(value, "using", chosen) if chosen else value
    return method(target, "si" if immutable else "s", [*args, *kwargs])
