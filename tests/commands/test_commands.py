"""Management commands beside those of other apps: Django runs the one whose app stands first in INSTALLED_APPS."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, load_command_class

from queueops import push
from queueops.testing import run_worker
from tests.support import tasks_for_tests as tasks

ROOT = Path(__file__).parents[2]
OURS = {name: name for name in ("watchdog", "queue", "embedded", "doctor", "demo")} | {"worker": "runworker"}
TASKS = """
from queueops import task

@task(name="rival.add")
def add(a: int, b: int) -> int:
    return a + b
"""
THEIRS = """
from django.core.management.base import BaseCommand

class Command(BaseCommand):
    def handle(self, **options):
        print("theirs")
"""


class Project:
    """Settings with another app, `rival.work`, which has commands of our names."""

    def __init__(self, home: Path) -> None:
        self.home = home
        commands = home / "rival" / "work" / "management" / "commands"
        commands.mkdir(parents=True)
        for folder in (home / "rival", home / "rival" / "work", commands.parent, commands):
            (folder / "__init__.py").touch()
        for name in OURS.values():
            (commands / f"{name}.py").write_text(THEIRS)
        (home / "rival" / "work" / "tasks.py").write_text(TASKS)
        head = "from tests.settings import *\n"
        (home / "before.py").write_text(f"{head}INSTALLED_APPS = ['rival.work', *INSTALLED_APPS]\n")
        (home / "behind.py").write_text(f"{head}INSTALLED_APPS = [*INSTALLED_APPS, 'rival.work']\n")

    def run(self, settings: str, *command: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"DJANGO_SETTINGS_MODULE": settings, "PYTHONPATH": f"{ROOT}{os.pathsep}{self.home}"}
        return subprocess.run(
            [sys.executable, "-m", "django", *command], cwd=self.home, env=env, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    return Project(tmp_path_factory.mktemp("rival"))


def test_the_check_warns_of_each_command_that_another_app_shadows(project: Project) -> None:
    checked = project.run("before", "check")
    assert checked.returncode == 0
    for name, command in OURS.items():
        owner = "console" if command == "demo" else "queueops"
        assert (
            f"?: (queueops.W004) 'manage.py {command}' runs the command of the app 'rival.work', which stands before "
            f"'{owner}' in INSTALLED_APPS.\n\tHINT: Write 'manage.py queueops {name}', or put '{owner}' before "
            "'rival.work'.\n"
        ) in checked.stderr
    assert project.run("before", "runworker").stdout == "theirs\n"


def test_the_check_is_silent_when_our_apps_stand_first(project: Project) -> None:
    assert "queueops.W004" not in project.run("behind", "check").stderr


@pytest.mark.parametrize(("name", "command"), [("worker", "runworker"), ("demo", "demo")])
def test_the_command_of_our_own_has_all_options_of_the_shadowed_one(project: Project, name: str, command: str) -> None:
    own = project.run("before", "queueops", name, "--help").stdout
    plain = project.run("behind", command, "--help").stdout
    assert f"queueops {name} [-h]" in own
    assert "".join(own.split()).replace(f"queueops{name}", command) == "".join(plain.split())


def test_the_help_names_all_commands() -> None:
    said = load_command_class("queueops", "queueops").create_parser("manage.py", "queueops").format_help()
    assert all(f"  {name}  " in said for name in OURS)


def test_work_is_done_though_the_commands_are_shadowed(project: Project, namespace: str) -> None:
    handle = push("rival.add", 1, 2)
    assert project.run("before", "queueops", "worker", "--burst").returncode == 0
    assert handle.result(timeout=0) == 3
    assert "default: " in project.run("before", "queueops", "watchdog", "--once").stdout
    assert handle.id in project.run("before", "queueops", "queue", "show", handle.id, "--json").stdout
    status = project.run("before", "queueops", "embedded", "status", "--json", "--data", str(project.home / "none"))
    assert (status.returncode, '"running": false' in status.stdout) == (1, True)


def test_the_exit_status_and_the_words_of_a_command_are_its_own(project: Project, namespace: str) -> None:
    done = project.run("tests.settings", "queueops", "queue", "show", "nothing")
    assert (done.returncode, "nothing" in done.stderr) == (1, True)
    assert project.run("tests.settings", "queueops", "queue", "list", "--state", "bogus").returncode == 2


def test_the_command_is_called_from_code_as_well(namespace: str) -> None:
    handle = tasks.add.push(1, 2)
    run_worker()
    out = StringIO()
    call_command("queueops", "queue", "show", handle.id, "--json", stdout=out)
    assert handle.id in out.getvalue()


def test_an_unknown_command_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(CommandError, match=r"invalid choice: 'bogus'.*worker.*watchdog"):
        call_command("queueops", "bogus")


def test_the_checks_of_a_command_are_made_before_it_runs(project: Project) -> None:
    (project.home / "wrong.py").write_text("from tests.settings import *\nQUEUEOPS = {'BOGUS': 1}\n")
    done = project.run("wrong", "queueops", "worker", "--burst")
    assert done.returncode == 1
    assert "There is no setting" in done.stderr
