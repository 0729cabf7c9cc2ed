"""Bound tasks: the body of a task with `bind=True`, whose `self` becomes `current()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from queueops.migrate.code import (
    dict_items,
    has_stars,
    is_name,
    is_none,
    keywords,
    literal,
    positional,
    text_of,
)
from queueops.migrate.plan import Reason, Task, Use

READ = {
    "request.id": "{current}().id",
    "request.retries": "({current}().attempt - 1)",
    "request.headers": "{current}().meta",
    "request.root_id": "{current}().root",
    "name": "{current}().task.name",
}
ADVICE = {
    "update_state": "write current().progress(done, total), or current().log(text)",
    "retry": "write raise RetryLater(seconds, error), as a statement of its own",
    "request": "current() has id, attempt, meta, root, pool and progress",
    "MaxRetriesExceededError": "the last attempt fails with the error of RetryLater; write follow_up={'failure': ...}",
    "replace": "push the other task with current().push(...)",
    "add_to_chord": "write current().add(part)",
    "app": "there is no app object",
}


class Body(cst.CSTTransformer):
    """Rewrites the uses of `self`. What remains of them is in `leftovers`."""

    def __init__(self, task: Task, use: Use, line_of: Callable[[cst.CSTNode], int]) -> None:
        super().__init__()
        self.task, self.use, self.line_of = task, use, line_of
        self.name = task.self_name or ""
        self.retries_itself = False
        self._open: dict[cst.Name, str] = {}

    @property
    def leftovers(self) -> list[Reason]:
        """The uses of `self` that have no counterpart."""
        return [
            (self.line_of(node), what, ADVICE.get(what.split(".")[1] if "." in what else "", "self has no counterpart"))
            for node, what in self._open.items()
        ]

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        """Leave a function alone that has a parameter of this name."""
        return not any(param.name.value == self.name for param in _parameters(node.params))

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        """The same for a lambda."""
        return not any(param.name.value == self.name for param in _parameters(node.params))

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        """Take down a use of `self` with what is read of it."""
        if is_name(node.value, self.name):
            self._open[node.value] = f"{self.name}.{node.attr.value}"  # type: ignore[index]
            return False
        return True

    def visit_Name(self, node: cst.Name) -> None:
        """Take down a bare use of `self`."""
        if node.value == self.name:
            self._open.setdefault(node, self.name)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        """Replace `self.request.id` and the like."""
        root = original_node.value.value if isinstance(original_node.value, cst.Attribute) else original_node.value
        if not is_name(root, self.name):
            return updated_node
        read = text_of(original_node).removeprefix(f"{self.name}.")
        if read == "max_retries":
            made = self.task.retries
        elif read in READ:
            made = READ[read].format(current=self.use("current"))
        else:
            return updated_node
        self._open.pop(root, None)  # type: ignore[call-overload]
        return cst.parse_expression(made)

    def leave_Raise(self, original_node: cst.Raise, updated_node: cst.Raise) -> cst.Raise:
        """Replace `raise self.retry(...)`."""
        made = self._retry(original_node.exc, updated_node.exc)
        return updated_node if made is None else updated_node.with_changes(exc=made)

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.BaseSmallStatement:
        """Replace `self.retry(...)` without a raise: it raises by itself."""
        made = self._retry(original_node.value, updated_node.value)
        return updated_node if made is None else cst.Raise(made)

    def leave_Return(self, original_node: cst.Return, updated_node: cst.Return) -> cst.BaseSmallStatement:
        """Replace `return self.retry(...)`."""
        made = self._retry(original_node.value, updated_node.value)
        return updated_node if made is None else cst.Raise(made)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """Replace a report of progress whose meta has a number done and a total."""
        if not self._is(original_node, "update_state"):
            return updated_node
        meta = dict_items(keywords(updated_node.args).get("meta"))
        done = next((name for name in ("current", "done") if meta and name in meta), "")
        if meta is None or not done or set(meta) != {done, "total"}:
            return updated_node
        self._open.pop(original_node.func.value, None)  # type: ignore[attr-defined]
        return cst.parse_expression(
            f"{self.use('current')}().progress({text_of(meta[done])}, {text_of(meta['total'])})"
        )

    def _is(self, node: Any, name: str) -> bool:
        return (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and is_name(node.func.value, self.name)
            and node.func.attr.value == name
        )

    def _retry(self, original: Any, updated: Any) -> cst.BaseExpression | None:
        """The RetryLater of a `self.retry(...)`; None if it has an argument without a counterpart."""
        if not self._is(original, "retry"):
            return None
        self.retries_itself = True
        options = _retry_arguments(updated)
        if options is None:
            return None
        self._open.pop(original.func.value, None)
        seconds = options.get("countdown")
        made = self.task.delay if seconds is None or is_none(seconds) else text_of(seconds)
        error = f", {text_of(options['exc'])}" if "exc" in options and not is_none(options["exc"]) else ""
        return cst.parse_expression(f"{self.use('RetryLater')}({made}{error})")


def _retry_arguments(call: cst.Call) -> Mapping[str, cst.BaseExpression] | None:
    if has_stars(call.args) or positional(call.args):
        return None
    options = keywords(call.args)
    known = {"exc", "countdown", "throw"}
    return options if set(options) <= known and literal(options.get("throw")) is not False else None


def _parameters(params: cst.Parameters) -> list[cst.Param]:
    stars = [each for each in (params.star_arg, params.star_kwarg) if isinstance(each, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]
