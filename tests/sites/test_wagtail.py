"""A site of Wagtail, as `wagtail start` makes it, with its tasks on QueueOps and a real worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import postgresql

ROOT = Path(__file__).resolve().parents[2]
if not os.environ.get("CI"):
    pytest.importorskip("wagtail", reason="there is no Wagtail: pip install -e '.[ci]'")

SETTINGS = """
from queueops import Retry
from shop.settings.dev import *

DEBUG = False
INSTALLED_APPS += ["queueops"]
QUEUEOPS = {{"NAMESPACE": {namespace!r}}}
OPTIONS = {{"retries": 2, "retry": Retry(delay=0.2)}}  # two updates of a page in Wagtail's index can collide
TASKS = {{"default": {{"BACKEND": "queueops.contrib.django_tasks.QueueOpsBackend", "QUEUES": [], "OPTIONS": OPTIONS}}}}
DATABASES = {{"default": {database!r}}}
"""


class Site:
    """The project in a folder, and its commands."""

    def __init__(self, folder: Path, url: str, namespace: str, database: dict[str, Any]) -> None:
        self.folder = folder
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "shop.settings.queueops",
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "QUEUEOPS_URL": url,
        }
        folder.mkdir()
        self.run("-c", "from wagtail.bin.wagtail import main; main()", "start", "shop", ".")
        settings = SETTINGS.format(namespace=namespace, database=database)
        (folder / "shop" / "settings" / "queueops.py").write_text(settings)

    def run(self, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-5000:]
        return done.stdout

    @contextmanager
    def worker(self) -> Iterator[None]:
        """A worker, which ends in order."""
        in_order = ("--processes", "1", "--threads", "1")  # else an earlier edit may be indexed after a later one
        command = [sys.executable, "-m", "django", "runworker", *in_order]
        with (self.folder / "worker.log").open("w") as log:
            running = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            running.terminate()
            assert running.wait(60) == 0


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    if request.param == "sqlite":
        options = {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"}
        yield {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "db.sqlite3"), "OPTIONS": options}
    else:
        with postgresql.server() as found:
            yield found


def test_each_task_of_the_admin_pages_succeeds_and_search_finds_the_page(
    database: dict[str, Any], redis_url: str, namespace: str, tmp_path: Path
) -> None:
    site = Site(tmp_path / "site", redis_url, namespace, database)
    with site.worker():
        story = json.loads(site.run("-m", "tests.sites.wagtail_walk"))
    assert len(story["tasks"]) > 20
    assert {name for name, _, _ in story["tasks"]} >= {
        "delete_file_from_storage_task",
        "insert_or_update_object_task",
        "update_reference_index_task",
    }
    assert [task for task in story["tasks"] if task[1] != "succeeded" or "DoesNotExist" in task[2]] == []
    assert story["found"] == {"Pegasus": ["Pegasus"], "Unicorn": [], "Dragon": []}
