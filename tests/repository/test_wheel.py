"""The wheel works in another Django project: apps, templates, static files, Lua, commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from queueops.redis import embedded
from tests.support.topology import free_ports
from tests.support.waiting import wait_until
from tests.support.wheels import ROOT, SETTINGS, URLS, build, run

THEIR_MODEL = """
from django.db import models

class AuditEntry(models.Model):
    text = models.TextField()
"""

THEIR_TEST = """
import os
import django
django.setup()
from pathlib import Path
from queueops import task

@task(name="theirs.double")
def double(number: int) -> int:
    return 2 * number

def test_double(queueops_worker, queueops_store):
    handle = double.push(4)
    assert queueops_worker() == 1
    assert handle.result(timeout=60) == 8
    assert queueops_store.startswith("embedded:")
    Path(os.environ["THEIR_NOTE"]).write_text(queueops_store)
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel, built from this tree."""
    return build()


@pytest.fixture(scope="module")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of a user, where the wheel is unpacked beside the packages of this environment."""
    home = tmp_path_factory.mktemp("project")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(home / "site")
    (home / "settings.py").write_text(SETTINGS)
    (home / "urls.py").write_text(URLS)
    django(home, "migrate", "--verbosity", "0")
    return home


@pytest.fixture
def address(project: Path) -> Iterator[str]:
    """Where the project answers."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "django", "runserver", "--noreload", f"127.0.0.1:{port}"]
    with (project / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=project, env=environment(project), stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: status(f"{url}/nothing") == 404, say=(project / "server.log").read_text)
        yield url
    finally:
        server.kill()
        server.wait()


def environment(project: Path) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("QUEUEOPS_", "DJANGO_"))}
    return clean | {"PYTHONPATH": f"{project / 'site'}{os.pathsep}{project}", "DJANGO_SETTINGS_MODULE": "settings"}


def django(project: Path, *arguments: str) -> str:
    return run(["-m", "django", *arguments], project, environment(project))


def read(url: str | Request) -> str:
    with urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def status(url: str) -> int:
    try:
        with urlopen(url, timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code
    except URLError:
        return 0


def test_the_wheel_has_all_that_the_apps_need_and_nothing_of_the_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {
        "queueops",
        "console",
        "queueops_demo",
    }
    assert {"queueops/py.typed", "console/py.typed"} <= set(names)
    assert len(names) == len(set(names))
    source = {str(path.relative_to(ROOT)) for path in (ROOT / "queueops").rglob("*.lua")}
    assert source
    assert source <= set(names)
    assert {"console/static/vendor/htmx/htmx.min.js", "console/locale/de/LC_MESSAGES/django.mo"} <= set(names)
    assert any(name.startswith("console/templates/console/") for name in names)


def test_the_code_that_runs_is_the_wheels(project: Path) -> None:
    code = "import queueops, console; print(queueops.__file__, console.__file__)"
    places = run(["-c", code], project, environment(project)).split()
    assert all(place.startswith(str(project / "site")) for place in places)


def test_pytest_finds_the_fixtures_by_itself(project: Path) -> None:
    (project / "test_theirs.py").write_text("def test_worker(queueops_worker):\n    assert queueops_worker\n")
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    collect = ["-m", "pytest", "--collect-only", *quiet, "test_theirs.py"]
    assert "1 test collected" in run(collect, project, environment(project))
    fixtures = run(["-m", "pytest", "--fixtures", *quiet], project, environment(project))
    assert "queueops_worker" in fixtures


def test_a_run_of_tests_has_a_store_of_its_own_that_ends_with_it(project: Path, tmp_path: Path) -> None:
    (project / "test_their_task.py").write_text(THEIR_TEST)
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:django"]
    env = environment(project) | {"THEIR_NOTE": str(tmp_path / "note")}
    assert "1 passed" in run(["-m", "pytest", *quiet, "test_their_task.py"], project, env)
    url = (tmp_path / "note").read_text()
    assert embedded.status(url.removeprefix("embedded:")).running is False
    assert not (project / "var").exists()


def test_the_project_passes_its_checks_and_misses_no_migration(project: Path) -> None:
    assert "no issues" in django(project, "check")
    assert "No changes" in django(project, "makemigrations", "--check", "--dry-run")


def test_a_project_may_have_an_app_of_its_own_with_the_label_console(project: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "shop" / "console"
    theirs.mkdir(parents=True)
    (theirs / "__init__.py").touch()
    (theirs / "models.py").write_text(THEIR_MODEL)
    database = "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'with-shop.sqlite3'}}\n"
    apps = "INSTALLED_APPS = [*INSTALLED_APPS, 'shop.console']\nDEFAULT_AUTO_FIELD = 'django.db.models.AutoField'\n"
    (tmp_path / "with_shop.py").write_text(f"from settings import *\n{apps}{database}")
    env = environment(project) | {"DJANGO_SETTINGS_MODULE": "with_shop"}
    env["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
    assert "no issues" in run(["-m", "django", "check"], tmp_path, env)
    run(["-m", "django", "migrate", "--run-syncdb", "--verbosity", "0"], tmp_path, env)
    with closing(connect(tmp_path / "with-shop.sqlite3")) as database_of_the_shop:
        tables = {name for (name,) in database_of_the_shop.execute("SELECT name FROM sqlite_master")}
    assert {"console_auditentry", "queueops_console_auditentry"} <= tables


def test_the_login_page_and_all_that_it_asks_for_are_served(address: str) -> None:
    page = read(f"{address}/ops/login/")
    assert "<form" in page
    german = Request(f"{address}/ops/login/", headers={"Cookie": "django_language=de"})
    assert '<html lang="de"' in read(german)
    assets = set(re.findall(r"""(?:src|href)=["'](/assets/[^"'#]+)""", page))
    assert {path.rpartition(".")[2] for path in assets} >= {"js", "css"}
    assert {path: status(address + path) for path in assets} == dict.fromkeys(assets, 200)


def test_the_console_is_closed_to_those_who_are_not_logged_in(address: str) -> None:
    with urlopen(f"{address}/ops/", timeout=60) as answer:
        assert answer.url.startswith(f"{address}/ops/login/")


def test_the_static_files_can_be_collected(project: Path) -> None:
    assert "static files copied" in django(project, "collectstatic", "--dry-run", "--noinput", "--settings=collected")


@pytest.fixture(scope="module", autouse=True)
def _collected(project: Path) -> None:
    (project / "collected.py").write_text("from settings import *\nSTATIC_ROOT = BASE_DIR / 'collected'\n")
