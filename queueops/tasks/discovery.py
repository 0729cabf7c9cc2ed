"""Task discovery: checks that workers find the code of a task; they import `tasks.py` and TASK_MODULES of each app."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.apps import apps

from queueops.errors.tasks import NotImportable
from queueops.model import warn_once
from queueops.redis import broker as brokers

_SCRIPT = (
    "it is defined in a script or a shell. Move it to tasks.py of an installed app; or give it a name=, when the worker"
    " is started by the same file"
)
_NESTED = (
    "it is defined within a function, after the code was loaded. Move it to the top level of tasks.py, or give it a"
    " name= that workers know"
)
_WARNING = (
    "The task %s is pushed, but workers may not know it: its module %s was imported after the tasks.py of all apps."
    " %s in tasks.py of an installed app."
)
_run_here = 0


class Hidden(NamedTuple):
    """Why workers do not find a task. With a reason its push is refused, otherwise a warning is logged."""

    module: str
    reason: str = ""


def hidden(definition: Any, *, named: bool) -> Hidden | None:
    """What hides a function or a class defined now from workers; None if they find it.

    Until all apps are loaded, workers define the same, because they load the same apps.
    """
    module = getattr(definition, "__module__", None) or "?"
    typed = getattr(getattr(definition, "__code__", None), "co_filename", "").startswith("<")  # such as <stdin>
    if typed or module == "__main__" or module not in sys.modules:
        return None if named else Hidden(module, _SCRIPT)
    if not apps.ready:
        return None
    if "<locals>" in definition.__qualname__:
        return None if named else Hidden(module, _NESTED)
    return Hidden(module)


def check(task_name: str, found: Hidden) -> None:
    """Refuse or warn, unless tasks run in this process. Raises NotImportable."""
    if _run_here or brokers.runs_here():
        return
    if found.reason:
        raise NotImportable(name=task_name, reason=found.reason)
    warn_once.warn((task_name, found.module), _WARNING, task_name, found.module, _remedy(found.module))


def _remedy(module: str) -> str:
    """What makes workers import a module: the setting, if an app contains it."""
    app = apps.get_containing_app_config(module)
    if app is None or app.name == module:
        return "Import it"
    return f"Add {module.removeprefix(app.name + '.')!r} to QUEUEOPS['TASK_MODULES'], or import it"


@contextmanager
def tasks_run_here() -> Iterator[None]:
    """In this block, this process runs tasks, as `run_worker()` in a test: every task that it knows can be pushed."""
    global _run_here
    _run_here += 1
    try:
        yield
    finally:
        _run_here -= 1
