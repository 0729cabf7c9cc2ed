"""Eager mode takes the store's place in its block alone, and says what only a store can do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from queueops import inspect
from queueops.errors.kinds import NeedsStore
from queueops.redis.broker import get_broker
from queueops.testing import eager

FIRST_USE_WITHIN = """
import importlib, pkgutil, sys
import django
django.setup()
import queueops, console
from queueops.testing import eager
from queueops.testing.memory import MemoryBroker
from unittest import mock

def keeps_eager(value):
    return issubclass(type(value), (MemoryBroker, mock.NonCallableMock))

with eager():
    for package in (queueops, console):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name != "console.admin":  # Django imports it where its admin is installed
                importlib.import_module(module.name)
kept = [(name, key) for name, module in list(sys.modules.items()) if name.startswith(("queueops", "console"))
        for key, value in list(vars(module).items()) if keeps_eager(value)]
assert not kept, kept
from queueops import control, inspect, schedules
control.cancel(["x"])
inspect.snapshot(), inspect.workers(), schedules.list()
"""


def test_modules_that_are_first_used_in_eager_mode_use_the_store_afterwards(namespace: str) -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run([sys.executable, "-c", FIRST_USE_WITHIN], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_an_eager_block_within_another_ends_alone(namespace: str) -> None:
    with eager() as outer:
        with eager() as inner:
            assert get_broker() is inner
        assert get_broker() is outer
    assert not getattr(get_broker(), "runs_here", False)


CALLS: list[Callable[[], Any]] = [
    inspect.snapshot,
    lambda: inspect.tasks(inspect.TaskQuery()),
    lambda: inspect.why("x"),
]


@pytest.mark.parametrize("call", CALLS)
def test_what_only_a_store_can_do_is_refused_with_advice(call: Callable[[], Any]) -> None:
    with eager(), pytest.raises(NeedsStore, match=r"does not work in eager\(\) .* Use namespace\(\)"):
        call()


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["", "tasks/", "workers/", "lanes/", "schedules/", "errors/", "registry/"])
def test_a_page_of_the_console_is_refused_with_advice(admin_client: Client, page: str) -> None:
    with eager(), pytest.raises(NeedsStore, match=r"does not work in eager\(\)"):
        admin_client.get(f"/ops/{page}")
