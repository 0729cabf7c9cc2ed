"""A project without Sentry and OpenTelemetry pays nothing; an app without its package says what to install."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from queueops.model import observers
from queueops.model.observers import publishing
from queueops.redis.broker import get_broker
from queueops.tasks import middleware
from queueops.testing import run_worker
from tests.observing import tasks
from tests.support.for_each import for_each

SET_UP = """
import sys
{before}
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=['queueops', *{apps}], QUEUEOPS={{'URL': 'redis://127.0.0.1:1/0'}})
django.setup()
from queueops import task
from queueops.management.commands import runworker
from queueops.worker.supervisor import child_main
"""


def result_of(before: str = "", apps: tuple[str, ...] = (), after: str = "") -> subprocess.CompletedProcess[str]:
    code = SET_UP.format(before=before, apps=list(apps)) + after
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_worker_without_the_apps_loads_neither_package_and_has_no_observer() -> None:
    before = "sys.modules['opentelemetry.sdk'] = None"  # which redis-py would load
    loaded = (
        "[each for each in ('sentry_sdk', 'opentelemetry.trace', 'queueops.contrib.sentry') if each in sys.modules]"
    )
    done = result_of(before, after=f"from queueops.model import observers\nprint({loaded}, observers.registered)")
    assert (done.stdout, done.stderr) == ("[] []\n", "")


ROWS = [("sentry", "sentry_sdk", "sentry-sdk"), ("opentelemetry", "opentelemetry", "opentelemetry-api")]


@for_each("row", ROWS)
def test_an_app_without_its_package_says_what_to_install(row: tuple[str, str, str]) -> None:
    name, module, package = row
    done = result_of(f"sys.modules['{module}'] = None", (f"queueops.contrib.{name}",))
    said = f"queueops.contrib.{name} needs the package {package}: pip install 'queueops[{name}]'"
    assert done.stderr.splitlines()[-1] == f"django.core.exceptions.ImproperlyConfigured: {said}"


def test_without_observers_a_push_and_a_task_meet_none(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(observers, "publishing", lambda *a, **k: called.append(a) or publishing(*a, **k))
    monkeypatch.setattr(observers, "Guarded", called.append)
    handle = tasks.add.push(1)
    run_worker()
    record = get_broker().record("default", handle.id)
    assert record is not None
    assert (record.state, record.trace, called) == ("succeeded", "", [])
    assert middleware._chain(False) is middleware._handle
