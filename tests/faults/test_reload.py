"""A worker of a project with DEBUG on takes up what is saved, and lives through what can't be loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from queueops import task
from queueops.tasks import registry
from queueops.worker.supervisor import autoreload
from queueops.worker.supervisor.autoreload import ChangedFiles
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
NAME = "reloaded.speak"
SETTINGS = """
from tests.settings import *
DEBUG = True
INSTALLED_APPS = [*INSTALLED_APPS, "reloaded"]
"""
CODE = """
from queueops import task

@task(name="reloaded.speak")
def speak():
    return {answer!r}
"""


class Project:
    """A project on disk whose worker runs."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "log"
        self.code = directory / "reloaded" / "tasks.py"
        self.code.parent.mkdir()
        (directory / "reloaded" / "__init__.py").touch()
        (directory / "reloaded_settings.py").write_text(SETTINGS)
        self.save(CODE.format(answer="one"))
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "reloaded_settings",
            "PYTHONPATH": f"{directory}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with self.log.open("ab") as output:
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "django", "runworker"],
                cwd=directory,
                env=environment,
                stdout=output,
                stderr=output,
            )

    def save(self, text: str) -> None:
        """Write the code; its time differs from the one before, however coarse the clock of the disk is."""
        later = self.code.stat().st_mtime + 2 if self.code.exists() else None
        self.code.write_text(text)
        if later is not None:
            os.utime(self.code, (later, later))

    def text(self) -> str:
        return self.log.read_text()


@pytest.fixture
def project(namespace: str, tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path)
    yield project
    project.worker.terminate()
    project.worker.wait(60)


def test_a_saved_change_is_taken_up_and_one_that_cannot_be_loaded_harms_nobody(project: Project) -> None:
    @task(name=NAME)
    def speak() -> str:
        return "here"

    try:
        assert speak.push().result(timeout=120) == "one"
        project.save("a slip of the pen(")
        wait_until(lambda: "the old code still runs: SyntaxError" in project.text(), 120, project.text)
        assert speak.push().result(timeout=120) == "one"
        project.save(CODE.format(answer="two"))
        wait_until(lambda: speak.push().result(timeout=120) == "two", 120, project.text)
    finally:
        registry.unregister("task", NAME)
    assert project.worker.poll() is None


def test_a_worker_that_is_told_to_end_while_it_reloads_does_not_come_back(project: Project) -> None:
    wait_until(lambda: "Process" in project.text(), 120, project.text)
    project.save(CODE.format(answer="two"))
    wait_until(lambda: "reloading" in project.text(), 120, project.text)
    project.worker.terminate()
    project.worker.wait(60)
    assert project.text().count("Worker started") == 1


def test_nothing_changed_is_no_reason_to_reload() -> None:
    changed = ChangedFiles(time.time())  # modules that another test has written are older
    changed._look_at = 0.0
    assert changed() == ""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the only module that was loaded."""
    path = tmp_path / "loaded.py"
    path.touch()
    monkeypatch.setattr(autoreload.autoreload.StatReloader, "watched_files", lambda _: [path])
    monkeypatch.setattr(autoreload, "_try_out", lambda: "")
    monkeypatch.setenv(autoreload.AT_START, "0")
    return path


def found_at_once(loaded_at: float) -> str:
    """What the first look finds."""
    changed = ChangedFiles(loaded_at)
    changed._look_at = 0.0
    return changed()


def test_what_was_saved_while_the_worker_started_is_taken_up(module: Path) -> None:
    loaded_at = time.time() - 60
    os.utime(module, (loaded_at - 5, loaded_at - 5))
    assert found_at_once(loaded_at) == ""
    os.utime(module, (loaded_at + 5, loaded_at + 5))
    assert found_at_once(loaded_at) == str(module)


def test_a_file_from_the_future_is_no_reason_to_reload(module: Path) -> None:
    os.utime(module, (time.time() + 3600,) * 2)
    assert found_at_once(time.time() - 60) == ""


def test_a_project_that_writes_a_module_at_each_start_is_not_started_again_for_ever(module: Path) -> None:
    loaded_at = time.time() - 60
    os.utime(module, (loaded_at + 5, loaded_at + 5))
    assert [found_at_once(loaded_at) != "" for _ in range(5)] == [True, True, True, False, False]
