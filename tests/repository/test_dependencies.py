"""What the wheel needs: a project works with its hard dependencies; the demo asks for its extra."""

from __future__ import annotations

import os
import subprocess
import venv
import zipfile
from email.parser import HeaderParser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.wheels import SETTINGS, URLS, build, run

THEIR_TASKS = """
from queueops import task

@task
def double(number: int) -> int:
    return 2 * number
"""
SEE = """
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
client = Client()
client.force_login(User.objects.create_superuser("ada"))
answer = client.get("/ops/tasks/")
assert answer.status_code == 200, answer.content
assert b"theirs.tasks.double" in answer.content
"""
PUSH = """
import django
django.setup()
from theirs.tasks import double
print(double.push(21).id)
"""
ASK = """
import django, sys
django.setup()
import queueops
print(queueops.get(sys.argv[1]).result(timeout=0))
"""


class Bare:
    """A virtual environment with the wheel and its hard dependencies, and a project there."""

    def __init__(self, home: Path, wheel: Path) -> None:
        self.home = home
        venv.create(home / "venv", symlinks=True)
        self.python = home / "venv" / "bin" / "python"
        (self.site,) = (home / "venv").glob("lib/python*/site-packages")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)
        (metadata,) = self.site.glob("*.dist-info/METADATA")
        needs = HeaderParser().parsestr(metadata.read_text()).get_all("Requires-Dist", [])
        self.names: set[str] = set()
        self._link(needs)
        (home / "theirs").mkdir()
        (home / "theirs" / "__init__.py").touch()
        (home / "theirs" / "tasks.py").write_text(THEIR_TASKS)
        (home / "settings.py").write_text(f"{SETTINGS}\nINSTALLED_APPS.append('theirs')\n")
        (home / "urls.py").write_text(URLS)

    def _link(self, requirements: list[str]) -> None:
        """Link each required package, and what that requires in turn, from the environment of the tests."""
        for requirement in map(Requirement, requirements):
            if requirement.name in self.names or not (requirement.marker is None or requirement.marker.evaluate()):
                continue
            self.names.add(requirement.name)
            found = distribution(requirement.name)
            for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
                (self.site / top).symlink_to(found.locate_file(top))
            self._link(found.requires or [])

    def environment(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUEOPS_", "DJANGO_", "PYTHON"))}
        return kept | {"DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": str(self.home)} | more

    def run(self, *command: str, **more: str) -> str:
        return run(list(command), self.home, self.environment(**more), self.python)

    def refused(self, *command: str, **more: str) -> str:
        """Run what must fail, and return what it says."""
        done = subprocess.run(
            [str(self.python), *command], cwd=self.home, env=self.environment(**more),
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stdout + done.stderr
        return done.stderr


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    return Bare(tmp_path_factory.mktemp("bare"), build())


def test_the_hard_dependencies_are_those_of_the_engine_and_the_console(bare: Bare) -> None:
    assert {"django", "django-htmx", "redis", "msgspec"} <= bare.names
    assert not {"django-csp", "gunicorn", "whitenoise", "urllib3"} & bare.names


def test_engine_and_console_work_with_the_hard_dependencies(bare: Bare, redis_url: str, namespace: str) -> None:
    store = {"QUEUEOPS_URL": redis_url}
    assert "no issues" in bare.run("-m", "django", "check", **store)
    bare.run("-m", "django", "migrate", "--verbosity", "0", **store)
    task = bare.run("-c", PUSH, **store).strip()
    bare.run("-c", SEE, **store)
    bare.run("-m", "django", "runworker", "--burst", **store)
    assert bare.run("-c", ASK, task, **store) == "42\n"


def test_the_demo_names_the_extra_that_it_lacks(bare: Bare) -> None:
    said = bare.refused("-m", "django", "demo")
    assert said == (
        "CommandError: The demo needs packages that are not installed: csp, gunicorn, whitenoise. "
        "Write: pip install 'queueops[embedded,project]'\n"
    )
    assert not (bare.home / "var").exists()


def test_a_project_with_jobs_is_told_of_the_extra_that_it_lacks(bare: Bare) -> None:
    (bare.home / "with_jobs.py").write_text("from settings import *\nQUEUEOPS = {'JOBS': {}}\n")
    said = bare.refused("-m", "django", "check", DJANGO_SETTINGS_MODULE="with_jobs")
    missing = "idna, ninja, puremagic, urllib3"
    assert f"(queueops.E007) Jobs need packages that are not installed: {missing}." in said
    assert "HINT: Write: pip install 'queueops[jobs]'" in said


def test_the_stand_alone_project_names_the_extra_that_it_lacks(bare: Bare) -> None:
    said = bare.refused("-m", "django", "check", DJANGO_SETTINGS_MODULE="console.project.settings")
    assert said.splitlines()[-1] == (
        "django.core.exceptions.ImproperlyConfigured: The project console.project needs packages that are not "
        "installed: csp, whitenoise. Write: pip install 'queueops[project]'"
    )
