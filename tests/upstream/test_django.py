"""Django's tests of its dummy and its immediate backend, and of tasks, with the backend of QueueOps in their place.

On Django 5.2 they run with the package django-tasks, which is the same framework: its own distributions have no tests.
Outside of CI they are skipped until `python -m tests.upstream.sdist` has downloaded them.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from django.test import SimpleTestCase

from queueops.contrib.django_library import library
from tests.upstream import sdist

if os.environ.get("CI"):
    sdist.download()
elif not sdist.ARCHIVE.exists():
    pytest.skip("Django's tests are not here: python -m tests.upstream.sdist", allow_module_level=True)

IS_BACKPORT = library().__name__ == "django_tasks"
OURS = {
    "django.tasks.backends.dummy": "tests.upstream.backends",
    "django.tasks.backends.immediate": "tests.upstream.backends",
}
BACKPORT = {
    "django.tasks": "django_tasks",
    "InvalidTaskBackend": "InvalidTaskBackendError",
    "InvalidTask": "InvalidTaskError",
}
MODULES = ("test_dummy_backend", "test_immediate_backend", "test_tasks")
NOT_OURS = {
    "test_custom_backend": "it has backends of its own, and tests the framework with them",
}
_MEMORY = "it changes the results that the dummy backend has in memory; ours are in the store"
_ABLE = "QueueOps can do it"
NOT_APPLICABLE = {
    "DummyBackendTestCase.test_clear": "tasks stay in the store; only what our stand-in remembers is cleared",
    "DummyBackendTestCase.test_refresh_result": _MEMORY,
    "DummyBackendTestCase.test_refresh_result_async": _MEMORY,
    "ImmediateBackendTestCase.test_cannot_get_result": _ABLE,
    "ImmediateBackendTestCase.test_cannot_refresh_result": _ABLE,
    "ImmediateBackendTestCase.test_cannot_pass_run_after": _ABLE,
}
_NO_PICKLE = "the backport's tasks cannot be pickled"
_OTHER_TEXT = "the backport says it in other words"
NOT_IN_BACKPORT = {
    "DummyBackendTestCase.test_validate_disallowed_async_task": _OTHER_TEXT,
    "TaskTestCase.test_pickle_task": _NO_PICKLE,
    "TaskTestCase.test_pickle_task_result": _NO_PICKLE,
    "TaskTestCase.test_unpickle_arbitrary_string": _NO_PICKLE,
    "TaskTestCase.test_unpickle_non_task_object": _NO_PICKLE,
    "TaskTestCase.test_run_after_in_decorator": _OTHER_TEXT,
}
FOLDER = Path(
    mkdtemp(prefix="queueops-upstream-")
)  # until the end of the run: tracebacks show the lines of these files
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def adapted(text: str) -> str:
    """A module of Django's tests that uses our backends, and the framework that is there."""
    for old, new in (OURS | (BACKPORT if IS_BACKPORT else {})).items():
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


def loaded() -> dict[str, type[SimpleTestCase]]:
    """The classes of Django's tests. The package has the name that it has in Django's own runs: some tests tell it."""
    (FOLDER / "tasks").mkdir()
    for name, text in sdist.modules().items():
        (FOLDER / "tasks" / name).write_text(adapted(text))
    sys.path.insert(0, str(FOLDER))
    try:
        found = [import_module(f"tasks.{name}") for name in MODULES]
    finally:
        sys.path.remove(str(FOLDER))
    return {
        name: value
        for module in found
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, SimpleTestCase) and value.__module__ == module.__name__
    }


def run_here(name: str, case: type[SimpleTestCase]) -> type[SimpleTestCase]:
    """The class without the tests that are left out."""
    left_out = [test for place in LEFT_OUT for owner, test in [place.split(".")] if owner == name]
    return type(name, (case,), {"__module__": __name__, **dict.fromkeys(left_out)})


LEFT_OUT = NOT_APPLICABLE | (NOT_IN_BACKPORT if IS_BACKPORT else {})
CASES = loaded()
globals().update({name: run_here(name, case) for name, case in CASES.items()})


@pytest.fixture(autouse=True)
def store(namespace: str, settings: Any) -> None:
    """Each test has a namespace of its own. Django's backends enqueue within the open transaction."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "now"}


def names_in(case: type) -> Iterator[str]:
    return (name for name in dir(case) if name.startswith("test_"))


def test_all_of_djangos_modules_are_run_or_have_a_reason() -> None:
    there = {name.removesuffix(".py") for name in sdist.modules() if name.startswith("test_")}
    assert there == {*MODULES, *NOT_OURS}


def test_what_is_left_out_is_there() -> None:
    there: set[Any] = {f"{name}.{test}" for name, case in CASES.items() for test in names_in(case)}
    assert set(LEFT_OUT) <= there
    assert len(there) - len(LEFT_OUT) > 50
