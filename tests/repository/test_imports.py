"""What a process that only pushes tasks loads: the public names, and not the worker, the console and their like."""

from __future__ import annotations

import json
import subprocess
import sys

PARTS = (
    "console",
    "queueops.control",
    "queueops.events",
    "queueops.inspect",
    "queueops.management",
    "queueops.pool_messages",
    "queueops.pytest_plugin",
    "queueops.testing",
    "queueops.watchdog",
    "queueops.worker",
    "queueops_demo",
)
"""Packages that a producer does not need."""
SET_UP = """
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=['queueops'], QUEUEOPS={'URL': 'redis://127.0.0.1:1/0'})
django.setup()
"""
APPS_OF_CONSOLE = "['django.contrib.auth', 'django.contrib.contenttypes', 'queueops', 'console']"
WITH_CONSOLE = SET_UP.replace("['queueops']", APPS_OF_CONSOLE)
FOR_TERMINALS = {
    "queueops.management",
    "queueops.management.queue",
    "queueops.management.queue.audit",
    "queueops.management.subcommands",
}
"""Where the console registers its audit log and its command, when it is ready."""
DECLARE = """
from queueops import Chain, Group, Iterator, MapReduce, Retry, Schedule, chain, get, group, push, task
@task()
def add(first: int, second: int) -> int:
    return first + second
handle = add.using(lane='mail').s(1, 2)
"""
MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)))"


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has after this code."""
    command = [sys.executable, "-c", f"{code}\n{MODULES}"]
    return set(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def unneeded(modules: set[str]) -> list[str]:
    """Those of the modules that a producer does not need."""
    return sorted(name for name in modules if any(f"{name}.".startswith(f"{part}.") for part in PARTS))


def test_to_import_queueops_loads_none_of_its_modules() -> None:
    modules = loaded_by("import queueops")
    assert {name for name in modules if name.startswith("queueops.")} == set()
    assert not modules & {"django", "redis", "msgspec", "hiredis", "asyncio"}


def test_django_setup_loads_no_module_that_a_producer_does_not_need() -> None:
    modules = loaded_by(SET_UP)
    assert "queueops.tasks.registry" in modules
    assert unneeded(modules) == []


def test_to_declare_tasks_of_all_kinds_loads_no_module_that_a_producer_does_not_need() -> None:
    modules = loaded_by(SET_UP + DECLARE)
    assert "queueops.kinds.mapreduce.job" in modules
    assert unneeded(modules) == []


def test_django_setup_with_the_console_loads_no_page_and_no_question_to_the_store() -> None:
    modules = loaded_by(WITH_CONSOLE)
    assert "console.models" in modules
    assert [name for name in unneeded(modules - FOR_TERMINALS) if not name.startswith("console")] == []
    assert not any(name.startswith(("console.actions", "console.kinds", "console.pages")) for name in modules)
