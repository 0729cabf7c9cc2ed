"""Parts and handles: whether an expression is the call of a task, a chain or group, or the handle of a push."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from queueops.migrate.rewriter import Rewriter, Stays

CANVAS = {
    **{f"celery.{name}": name for name in ("chain", "group", "chord")},
    **{f"celery.canvas.{name}": name for name in ("chain", "group", "chord")},
}
CALLS = ("s", "si", "subtask", "signature")


def canvas_of(rewriter: Rewriter, node: cst.CSTNode) -> str:
    """chain, group or chord, if that is what is called; otherwise an empty text."""
    return CANVAS.get(rewriter.names.full(node.func), "") if isinstance(node, cst.Call) else ""


def is_part(rewriter: Rewriter, node: cst.CSTNode) -> str:
    """Answers task for the call of a task, composite for a chain or group, else nothing. Follows a variable."""
    node = rewriter.names.value_of(node) or node
    if node in rewriter.stayed:
        raise Stays("what it is called on stays")
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
        return "composite" if is_part(rewriter, node.left) else ""
    if not isinstance(node, cst.Call):
        return ""
    if canvas_of(rewriter, node):
        return "composite"
    if not isinstance(node.func, cst.Attribute):
        return ""
    if node.func.attr.value in CALLS and rewriter.task_of(node.func.value):
        return "task"
    return is_part(rewriter, node.func.value) if node.func.attr.value in ("set", "on_error", "using") else ""


def is_handle(rewriter: Rewriter, node: cst.CSTNode) -> bool:
    """Whether an expression is what a push answers."""
    node = rewriter.names.value_of(node) or node
    if not isinstance(node, cst.Call):
        return False
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in ("delay", "apply_async"):
        task = rewriter.task_of(node.func.value)
        return task.moves if task else bool(is_part(rewriter, node.func.value))
    return bool(canvas_of(rewriter, node.func))


def answers_of(rewriter: Rewriter, node: cst.CSTNode) -> cst.Call | None:
    """The call whose answer an expression is, also through a variable."""
    made = rewriter.names.value_of(node) or node
    return made if isinstance(made, cst.Call) else None


def tasks_within(rewriter: Rewriter, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The tasks whose calls stand within a chain or group."""

    class _Found(cst.CSTVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.nodes: list[cst.BaseExpression] = []

        def visit_Call(self, call: cst.Call) -> None:
            if (
                isinstance(call.func, cst.Attribute)
                and call.func.attr.value in CALLS
                and rewriter.task_of(call.func.value)
            ):
                self.nodes.append(call.func.value)

    found = _Found()
    node.visit(found)
    yield from found.nodes
