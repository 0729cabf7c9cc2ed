"""Static check: finds clocks, randomness, input and output, threads and pushes in the code of workflows.

It reads the source of a workflow and of the functions of the same package that it calls. What is found by name at the
place of the call is found, and so are methods of known objects: of the module, or made in the function. A method of an
attribute of an object is not. A line with ``# checkworkflows: ignore`` is left out.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import ModuleType
from typing import Any, NamedTuple

from django.db.models import Manager, Model
from django.db.models.manager import ManagerDescriptor

from queueops.kinds.workflows.code_check.forbidden_calls import (
    ACTIVITY,
    CALL,
    HANDLE,
    OF_FILES,
    PATHS_OF_PATHS,
    advice_for,
    name_of_object,
)
from queueops.kinds.workflows.code_check.forbidden_objects import OwnObjects, advice_for_object
from queueops.kinds.workflows.code_check.set_orders import SetOrders
from queueops.tasks.task import Task

IGNORE = "# checkworkflows: ignore"
PUSHES = frozenset(
    (
        *("push", "apush", "postpone", "apostpone", "push_many", "apush_many", "push_on_commit", "apush_on_commit"),
        *("start", "astart", "start_on_commit", "astart_on_commit"),
    )
)
HANDLES = frozenset(("handle", "ahandle"))
OF_KINDS = ("queueops.kinds.", "queueops.chain", "queueops.group")
AWAITED = "write await, or give it to a task group"
_STATE = "a replay sets it again, and other runs share it: use local variables"


class Finding(NamedTuple):
    """A place in the code of a workflow that a replay may not repeat."""

    workflow: str
    path: str
    line: int
    what: str
    advice: str

    def told(self) -> str:
        """The finding in one line."""
        return f"{self.path}:{self.line}: {self.workflow}: {self.what}: {self.advice}"


def check_code(name: str, function: Callable[..., Any]) -> list[Finding]:
    """The findings in the code of a workflow, and in the functions of its package that it calls."""
    found: dict[tuple[str, int, str], Finding] = {}
    seen: set[Any] = set()
    waiting = [inspect.unwrap(function)]
    package = waiting[0].__module__.partition(".")[0]
    while waiting:
        code = waiting.pop(0)
        if code in seen:
            continue
        seen.add(code)
        checker = _FunctionCheck(name, code)
        for finding in checker.findings():
            found.setdefault((finding.path, finding.line, finding.what), finding)
        waiting += [each for each in checker.called if each.__module__.partition(".")[0] == package]
    return sorted(found.values(), key=lambda finding: (finding.path, finding.line))


class _FunctionCheck(ast.NodeVisitor):
    """Checks the source of one function."""

    def __init__(self, workflow: str, function: Any) -> None:
        self.called: list[Any] = []
        self._workflow = workflow
        self._function = function
        self._found: list[tuple[int, str, str]] = []
        self._names: dict[str, str] = {}
        """Names that an import in the function binds, with their full names."""
        self._orders = SetOrders(lambda node: self._resolved(node)[0], self._note)
        self._objects = OwnObjects(self._resolved)
        self._own: set[str] = set()
        self._told: set[ast.expr] = set()
        """Uses of the environment that a finding about more of the expression tells."""

    def findings(self) -> Iterator[Finding]:
        """The findings in this function alone; none without a source."""
        try:
            lines, first = inspect.getsourcelines(self._function)
            path = inspect.getsourcefile(self._function) or "?"
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, TypeError, SyntaxError):  # such as code of an interactive session
            return
        self._note_names(tree)
        for statement in _body(tree):
            self.visit(statement)
        for line, what, advice in self._found:
            if IGNORE not in lines[line - 1]:
                yield Finding(self._workflow, path, first + line - 1, what, advice)

    def visit_Call(self, node: ast.Call) -> None:
        """A call: of a forbidden name, of a task, or of a function to be checked, too."""
        name, target = self._resolved(node.func)
        if name.endswith("kinds.workflows.wf.side_effect"):
            return  # what it calls runs once
        if advice := advice_for(name):
            self._tells(node.func)
            self._note(node, f"{ast.unparse(node.func)}()", advice)
        elif isinstance(target, Task):
            self._note(node, f"{ast.unparse(node.func)}() runs the task in the workflow", CALL)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in PUSHES and self._is_task(node.func.value):
            self._note(node, f"{ast.unparse(node.func)}() pushes again in each replay", CALL)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in HANDLES and self._is_task(node.func.value):
            self._note(node, f"{ast.unparse(node.func)}() reads the store", HANDLE)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in OF_FILES and self._is_path(node.func.value):
            self._note(node, f"{ast.unparse(node.func)}()", ACTIVITY)
        elif isinstance(node.func, ast.Attribute) and (advice := self._advice_for_object(node.func.value)):
            self._note(node, f"{ast.unparse(node.func)}()", advice)
        elif inspect.isfunction(target):
            self.called.append(inspect.unwrap(target))
        self._orders.check_call(node, name)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A statement: a call of a coroutine function that nothing awaits, so that nothing runs."""
        call = node.value
        if isinstance(call, ast.Call) and inspect.iscoroutinefunction(self._resolved(call.func)[1]):
            self._note(node, f"{ast.unparse(call.func)}() is not awaited, so it does nothing", AWAITED)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """An attribute: the manager of a model, or the environment."""
        self._check_environment(node)
        _, target = self._resolved(node)
        if isinstance(target, Manager):
            self._note(node, f"{ast.unparse(node)} uses the database", ACTIVITY)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """A name: of the environment."""
        self._check_environment(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """A subscript: of the environment, of the connections or the caches."""
        name = self._resolved(node.value)[0]
        if name == "os.environ" or (name and name_of_object(self._resolved(node.value)[1]) and advice_for(name)):
            self._tells(node)
            self._note(node, ast.unparse(node), ACTIVITY)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        """A loop: over a set."""
        self._orders.check_loop(node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """A loop in an expression: over a set."""
        self._orders.check_loop(node.iter)
        self.generic_visit(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        """A set of a set needs no order."""
        self._orders.needs_none(node)
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        """The values of a set as arguments, or in a list."""
        self._orders.check_values(node.value, ast.unparse(node))
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        """State of the module."""
        self._note(node, ast.unparse(node), _STATE)

    def _note(self, node: ast.expr | ast.stmt, what: str, advice: str) -> None:
        self._found.append((node.lineno, what, advice))

    def _tells(self, node: ast.expr) -> None:
        self._told.update(each for each in ast.walk(node) if isinstance(each, ast.expr))

    def _check_environment(self, node: ast.expr) -> None:
        """The environment as a whole: a loop over it, a copy, a question whether a name is in it."""
        if node not in self._told and self._resolved(node)[0] == "os.environ":
            self._tells(node)
            self._note(node, ast.unparse(node), ACTIVITY)

    def _advice_for_object(self, node: ast.expr) -> str:
        """What to use in the place of a method of what an expression names; empty if it is not known or allowed."""
        if self._objects.has(node):
            return ACTIVITY
        value = self._resolved(node)[1]
        return "" if value is None else advice_for_object(value)

    def _is_path(self, node: ast.expr) -> bool:
        """Whether this is a path of pathlib: a name of the module, or made here, and what is derived from one."""
        match node:
            case ast.BinOp(op=ast.Div()):
                return self._is_path(node.left)
            case ast.Call():
                made = self._resolved(node.func)[1]
                is_class = isinstance(made, type) and issubclass(made, PurePath)
                return is_class or (isinstance(node.func, ast.Attribute) and self._is_derived(node.func))
            case ast.Attribute() if self._is_derived(node):
                return True
        return isinstance(self._resolved(node)[1], PurePath)

    def _is_derived(self, node: ast.Attribute) -> bool:
        return node.attr in PATHS_OF_PATHS and self._is_path(node.value)

    def _is_task(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and self._resolved(node.func)[0].startswith(OF_KINDS):  # group(...).push()
            return True
        if isinstance(node, ast.Call):  # task.using(...).push()
            return isinstance(node.func, ast.Attribute) and self._is_task(node.func.value)
        value = self._resolved(node)[1]
        return isinstance(value, Task) or (isinstance(value, type) and _is_of_kind(value))

    def _resolved(self, node: ast.expr) -> tuple[str, Any]:
        """The full name of what an expression names, and the object; empty if it is not known here."""
        if isinstance(node, ast.Attribute):
            name, holder = self._resolved(node.value)
            if holder is not None and not _is_plain(holder):
                return (f"{name}.{node.attr}" if name else "", None)
            value = inspect.getattr_static(holder, node.attr, None) if holder is not None else None
            if isinstance(value, staticmethod | classmethod):
                value = value.__func__
            if inspect.isfunction(value) or inspect.isclass(value) or isinstance(value, ModuleType | Task):
                return _full_name(value), value
            if isinstance(holder, type) and issubclass(holder, Model) and _is_manager(node.attr, value):
                return f"{name}.{node.attr}", getattr(holder, node.attr, None)
            return (f"{name}.{node.attr}" if name else "", value)
        if not isinstance(node, ast.Name):
            return "", None
        if node.id in self._names:
            return self._names[node.id], None
        if node.id in self._own:
            return "", None
        cells = dict(zip(self._function.__code__.co_freevars, self._function.__closure__ or (), strict=False))
        if node.id in cells:
            try:
                value = cells[node.id].cell_contents
            except ValueError:  # it is not bound yet
                return "", None
        else:
            value = self._function.__globals__.get(node.id, getattr(builtins, node.id, None))
        return (name_of_object(value) or _full_name(value), value) if value is not None else ("", None)

    def _note_names(self, tree: ast.AST) -> None:
        """The names that the function binds itself."""
        for node in ast.walk(tree):
            self._orders.note_name(node)
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._names[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._own.add(node.id)
            elif isinstance(node, ast.arg):
                self._own.add(node.arg)
        for node in ast.walk(tree):
            self._objects.note_name(node)


def _body(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of the function; its decorators and defaults do not run in the workflow."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from node.body


def _is_plain(value: Any) -> bool:
    """Whether attributes of an object can be looked up without running code."""
    return isinstance(value, ModuleType | type)


def _is_manager(name: str, value: Any) -> bool:
    """Whether an attribute of a model is a manager."""
    return isinstance(value, ManagerDescriptor) or name in ("_default_manager", "_base_manager")


def _is_of_kind(value: type) -> bool:
    """Whether a class is pushed: a map-reduce, an iterator and the like."""
    return any(f"{base.__module__}.".startswith(OF_KINDS) for base in value.__mro__)


def _full_name(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module is None and inspect.isbuiltin(value) and value.__self__ is not None:  # such as random.random
        module = type(value.__self__).__module__
    module = "os" if module in ("posix", "nt") else module  # where its functions are from
    return f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else ""
