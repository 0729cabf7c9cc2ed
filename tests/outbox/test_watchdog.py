"""A real watchdog sends what processes have left in the outbox, also after the store was down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import transaction

from queueops.contrib.outbox.models import OutboxRow
from queueops.redis import embedded
from queueops.redis.broker import close_brokers
from tests.stores.sqlite_store import SqliteStore
from tests.support import tasks_for_tests as tasks
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults]


@contextmanager
def watchdog(log: Path, url: str) -> Iterator[subprocess.Popen[bytes]]:
    """`manage.py watchdog`, which is killed at the end."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings", "QUEUEOPS_TESTS_URL": url}
    command = [sys.executable, "manage.py", "watchdog"]
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment, cwd=Path.cwd(), stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)


def test_what_was_pushed_while_the_store_was_down_is_sent_when_it_is_back(
    app: Any, settings: Any, empty_directory: Path, tmp_path: Path
) -> None:
    server = embedded.start(empty_directory)
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": server.url}
    embedded.stop(empty_directory)
    with transaction.atomic():
        first = tasks.add.push(1)
        second = tasks.add.push(2)
    with transaction.atomic():
        third = tasks.add.push(3)
    assert OutboxRow.objects.count() == 3, "the commits raised nothing, and the rows wait"
    log = tmp_path / "log"
    with watchdog(log, server.url) as running:
        wait_until(lambda: "The outbox waits, and its relay tries again" in log.read_text(), 120)
        embedded.start(empty_directory)
        wait_until(lambda: not OutboxRow.objects.exists(), 120)
        numbers = [handle.status() and handle.state for handle in (first, second, third)]
        assert numbers == ["pending"] * 3
        assert "The outbox is sent again" in log.read_text() or wait_until(
            lambda: "The outbox is sent again" in log.read_text(), 60
        )
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    close_brokers()


def test_the_watchdog_of_a_store_without_upkeep_relays_the_outbox(app: Any, settings: Any, tmp_path: Path) -> None:
    """The first push finds no store. A later round sends it."""
    store = {"STORE": f"{SqliteStore.__module__}.SqliteStore", "URL": str(tmp_path / "later" / "tasks")}
    settings.QUEUEOPS = settings.QUEUEOPS | store
    with transaction.atomic():
        handle = tasks.add.push(1)
    assert OutboxRow.objects.count() == 1
    (tmp_path / "later").mkdir()
    call_command("watchdog", "--once")
    assert not OutboxRow.objects.exists()
    assert handle.state == "pending"
    close_brokers()


def test_the_settings_of_a_project_without_the_app_import_nothing_of_it() -> None:
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'console.project.settings'; django.setup();"
        "import queueops.jobs, queueops.management.commands.watchdog;"
        "print([name for name in sys.modules if name.startswith(('queueops.contrib.outbox', 'queueops.contrib.once'))])"
    )
    environment = os.environ | {"QUEUEOPS_DATA": str(django_settings.DATA)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
