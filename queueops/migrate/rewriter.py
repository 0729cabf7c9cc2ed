"""Rewriter: walks the code of one file, and applies the rules of the old queue to its calls, functions and names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import libcst as cst
from libcst import matchers

from queueops.migrate.bound import Body
from queueops.migrate.code import is_none, laid_out, short, text_of
from queueops.migrate.names import Names, leftmost
from queueops.migrate.notes import Notes
from queueops.migrate.plan import Task
from queueops.migrate.survey import Project

Rule = Callable[["Rewriter", Any, Any], cst.BaseExpression | None]


class Stays(Exception):
    """A form that a rule knows and does not rewrite. The text says why, and what to write."""


class Rewriter(cst.CSTTransformer):
    """One file. A rule gets the original node, whose names are known, and the node with its rewritten children."""

    def __init__(
        self,
        project: Project,
        names: Names,
        notes: Notes,
        rules: Sequence[Rule],
        qualified: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__()
        self.project, self.names, self.notes, self.rules = project, names, notes, rules
        self.qualified = qualified
        self.used: set[str] = set()
        self.modules: set[str] = set()  # that `import` brings in
        self.handled: set[cst.CSTNode] = set()
        self.listed: set[cst.CSTNode] = set()  # names that a note about their task explains
        self.stayed: set[cst.CSTNode] = set()
        self.composite_stays = False

    def use(self, name: str) -> str:
        """Import a public name of queueops. Answers what to write: the name, or `queueops.name` if it is taken."""
        if name in self.qualified or self.names.taken(name):
            self.modules.add("queueops")
            return f"queueops.{name}"
        self.used.add(name)
        return name

    def task_of(self, node: cst.CSTNode) -> Task | None:
        """The task that a name stands for."""
        return self.project.task(self.names.full(node))

    def task_around(self, node: cst.CSTNode) -> Task | None:
        """The task within whose function a node stands."""
        function = self.names.enclosing(node, cst.FunctionDef)
        while isinstance(function, cst.FunctionDef):
            if task := self.project.tasks.get(f"{self.names.source.module}.{function.name.value}"):
                return task
            function = self.names.enclosing(function, cst.FunctionDef)
        return None

    def moving(self, node: cst.CSTNode) -> Task | None:
        """The same, if it becomes a task of QueueOps. Raises Stays if it does not."""
        task = self.task_of(node)
        if task is not None and not task.moves:
            raise Stays(f"its task stays with the old queue, see {task.path}:{task.line}")
        return task

    def handle(self, node: cst.CSTNode) -> None:
        """Note that the name at the left end of an expression is no longer needed for the old queue."""
        self.handled.add(leftmost(node))

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """Apply the first rule that knows the call."""
        return self._apply(original_node, updated_node)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        """The same for an attribute."""
        return self._apply(original_node, updated_node)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        """The same for a name."""
        return self._apply(original_node, updated_node)

    def _apply(self, original: Any, updated: Any) -> cst.BaseExpression:
        for rule in self.rules:
            try:
                made = rule(self, original, updated)
            except Stays as reason:
                self.notes.left(self.names.line(original), short(original), str(reason))
                return self._stays(original, updated)
            if made is not None:
                return made
        found: cst.BaseExpression = updated
        return found

    def _stays(self, original: Any, updated: Any) -> cst.BaseExpression:
        """A form that stays keeps what it is called on: half of it in each queue would be wrong."""
        self.stayed.add(original)
        if not isinstance(original, cst.Call) or isinstance(original.func, cst.Name):
            found: cst.BaseExpression = updated
            return found
        within = set(matchers.findall(original.func, matchers.Name()))
        self.composite_stays = self.composite_stays or bool(within & self.handled)
        self.handled -= within
        return cst.ensure_type(updated, cst.Call).with_changes(func=original.func)

    def leave_Decorator(self, original_node: cst.Decorator, updated_node: cst.Decorator) -> cst.Decorator:
        """Replace the decorator of a task that moves."""
        function = self.names.parent(original_node)
        task = self._task_at(function, original_node)
        call = original_node.decorator
        if task is None:
            if self.names.line(original_node) in self._staying:
                self.listed.add(leftmost(call))
            return updated_node
        self.handle(call)
        args = laid_out(task.new_args(self.use), task.args)
        func = cst.parse_expression(self.use("task"))
        kept = {text_of(name) for arg in args for name in matchers.findall(arg.value, matchers.Name())}
        gone = (name for arg in task.args for name in matchers.findall(arg.value, matchers.Name()))
        self.handled.update(name for name in gone if text_of(name) not in kept)
        if not args:
            return updated_node.with_changes(decorator=func)
        made = call.with_changes(func=func, args=args) if isinstance(call, cst.Call) else cst.Call(func, args)
        return updated_node.with_changes(decorator=made)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        """Take `self` out of a bound task."""
        task = self._task_at(original_node, None)
        if task is not None and task.plain:
            func, args = cst.parse_expression(self.use("task")), task.new_args(self.use)
            decorator = cst.Decorator(cst.Call(func, args) if args else func)
            return updated_node.with_changes(decorators=[decorator, *updated_node.decorators])
        if task is None or task.self_name is None:
            return updated_node
        body = updated_node.body.visit(Body(task, self.use, lambda node: 0))
        params = updated_node.params.with_changes(params=updated_node.params.params[1:])
        return updated_node.with_changes(body=body, params=params)

    def leave_Dict(self, original_node: cst.Dict, updated_node: cst.Dict) -> cst.Dict:
        """Take out the entries of schedules that their tasks have now."""
        pairs = zip(original_node.elements, updated_node.elements, strict=True)
        kept = [new for old, new in pairs if old not in self.project.moved_entries]
        for gone in self.project.moved_entries.intersection(original_node.elements):
            self.handled.update(matchers.findall(gone, matchers.Name()))
        if len(kept) == len(updated_node.elements):
            return updated_node
        if not kept and not matchers.findall(updated_node.lbrace, matchers.Comment()):
            return cst.Dict([])  # without the empty lines between the braces
        return updated_node.with_changes(elements=kept)

    @cached_property
    def _staying(self) -> set[int]:
        """The lines of the tasks of this file that stay."""
        return {
            task.line for task in self.project.tasks.values() if task.path == self.names.source.path and task.blockers
        }

    def _task_at(self, function: cst.CSTNode, decorator: cst.Decorator | None) -> Task | None:
        """The task that a function becomes here."""
        if not isinstance(function, cst.FunctionDef):
            return None
        task = self.project.tasks.get(f"{self.names.source.module}.{function.name.value}")
        if task is None or task.converted or task.blockers or task.path != self.names.source.path:
            return None
        if decorator is not None:
            return task if self.names.line(decorator) == task.line else None
        lines = [self.names.line(each) for each in (*function.decorators, function)]
        return task if task.line in lines else None


def given(node: cst.BaseExpression | None) -> bool:
    """Whether an optional argument has a value."""
    return node is not None and not is_none(node)


def applied(
    project: Project, names: Names, notes: Notes, rules: Sequence[Rule], qualified: frozenset[str] = frozenset()
) -> tuple[cst.Module, Rewriter]:
    """The tree of a file after all rules, and the notes about its tasks."""
    rewriter = Rewriter(project, names, notes, rules, qualified)
    tree = names.module.visit(rewriter)
    for task in project.tasks.values():
        if task.path == names.source.path:
            for line, what, why in task.blockers:
                notes.left(line, what, f"the task {task.name} stays: {why}")
            for line, what, why in task.checks if task.moves else ():
                notes.check(line, what, why)
    return tree, rewriter
