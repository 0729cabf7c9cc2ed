"""Survey: finds the apps and tasks of a whole project, before the first file is rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from queueops.migrate.names import Names
from queueops.migrate.plan import Task
from queueops.migrate.sources import Source

Finder = Callable[["Project", Names], None]


@dataclass
class Project:
    """What the survey has found, by full names."""

    aliases: dict[str, str] = field(default_factory=dict)
    apps: set[str] = field(default_factory=set)
    tasks: dict[str, Task] = field(default_factory=dict)
    names: dict[str, Names] = field(default_factory=dict)
    moved_entries: set[cst.CSTNode] = field(default_factory=set)  # entries of schedules that their tasks have now
    left_entries: dict[cst.CSTNode, str] = field(default_factory=dict)  # the others, and why they stay
    zone: str = ""  # of the old queue's schedules, if it is not the project's
    broker: str = ""  # redis or amqp, if a setting says so
    _by_last: dict[str, list[str]] = field(default_factory=dict)  # full names by what stands behind the last dot
    _indexed: int = 0

    def task(self, name: str) -> Task | None:
        """The task with this full name; also if a path begins above or below the one that was given."""
        if not name:
            return None
        if name in self.tasks:
            return self.tasks[name]
        if self._indexed != len(self.tasks):
            self._by_last = {}
            for full in self.tasks:
                self._by_last.setdefault(full.rpartition(".")[2], []).append(full)
            self._indexed = len(self.tasks)
        alike = self._by_last.get(name.rpartition(".")[2], ())
        near = [self.tasks[full] for full in alike if full.endswith(f".{name}") or name.endswith(f".{full}")]
        return near[0] if len(near) == 1 and "." in name else None

    def registered(self, name: str) -> Task | None:
        """The task that producers push by this name."""
        found = [task for task in self.tasks.values() if task.registered == name]
        return found[0] if len(found) == 1 else None

    def is_app(self, name: str) -> bool:
        """Whether a name is an app object of the old queue."""
        return name in self.apps or any(
            "." in name and (app.endswith(f".{name}") or name.endswith(f".{app}")) for app in self.apps
        )


def survey(sources: Iterable[Source], words: re.Pattern[str], finders: Iterable[Finder]) -> Project:
    """Read all files; those that mention the old queue are examined."""
    project = Project()
    chosen = []
    for source in sources:
        project.aliases |= source.aliases
        if source.mentions(words):
            chosen.append(source)
    for source in chosen:
        names = Names(source, project.aliases)
        project.names[str(source.path)] = names
        names.module.visit(_Converted(project, names))
    for find in finders:
        for names in project.names.values():
            find(project, names)
    return project


class Finding(cst.CSTVisitor):
    """A visitor of one file, which notes in the project what it finds."""

    def __init__(self, project: Project, names: Names) -> None:
        super().__init__()
        self.project, self.names = project, names


def find_assigned_apps(project: Project, names: Names, is_app: Callable[[str], bool]) -> None:
    """Take down each `name = Class(...)` whose class, by its full name, makes an app."""
    names.module.visit(_Apps(project, names, is_app))


class _Apps(Finding):
    def __init__(self, project: Project, names: Names, is_app: Callable[[str], bool]) -> None:
        super().__init__(project, names)
        self.is_app = is_app

    def visit_Assign(self, node: cst.Assign) -> None:
        """Take down the names on the left."""
        if isinstance(node.value, cst.Call) and self.is_app(self.names.full(node.value.func)):
            for target in node.targets:
                if isinstance(target.target, cst.Name):
                    self.project.apps.add(f"{self.names.source.module}.{target.target.value}")


def decorators(names: Names, node: cst.FunctionDef) -> Iterator[tuple[cst.Decorator, str, Sequence[cst.Arg]]]:
    """Each decorator of a function, with its full name and the arguments of its call."""
    for decorator in node.decorators:
        call = decorator.decorator
        func, args = (call.func, call.args) if isinstance(call, cst.Call) else (call, ())
        yield decorator, names.full(func), args


class _Converted(Finding):
    """Tasks that are written for QueueOps already."""

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Take down a function below `@task` of queueops."""
        for _, used, _ in decorators(self.names, node):
            if used == "queueops.task":
                full = self.names.full(node.name) or f"{self.names.source.module}.{node.name.value}"
                place = self.names.source.path, self.names.line(node)
                self.project.tasks[full] = Task(full, full, *place, converted=True)
