"""`PYTHON tests/release/smoke.py`: a project of a user, by what an empty environment has: a task runs, a page is shown.

It runs where nothing but the distribution is installed, so it imports no other module of the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

APPS = """
INSTALLED_APPS += ["queueops", "console", "shop"]
ROOT_URLCONF, STATIC_ROOT = "config.urls", BASE_DIR / "static"
"""
URLS = """
from django.urls import include, path

urlpatterns = [path("ops/", include("console.urls"))]
"""
TASKS = """
from queueops import task


@task(retries=3)
def greet(name: str) -> str:
    return f"Hello, {name}"
"""
PUSH = "from shop.tasks import greet; print(greet.push('ada').id)"
SEE = """
import sys
import queueops
from django.contrib.auth.models import User
from django.test import Client
assert queueops.get(sys.argv[1]).result(timeout=0) == "Hello, ada"
client = Client()
client.force_login(User.objects.create_superuser("ada"))
page = client.get("/ops/tasks/", headers={"host": "localhost"})
assert page.status_code == 200, page
assert b"shop.tasks.greet" in page.content
print(queueops.__file__)
"""
SETUP = "import django; django.setup(); "


def python(home: Path, *arguments: str, statuses: tuple[int, ...] = (0,)) -> str:
    """Run this Python in the project, without what the caller's environment says; its output."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=home, env=kept | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode in statuses, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


def smoke(home: Path) -> None:
    """Start a project, push a task, run it, look at it."""
    subprocess.run([sys.executable, "-m", "django", "startproject", "config", "."], cwd=home, check=True)
    (home / "shop").mkdir()
    (home / "shop" / "__init__.py").touch()
    (home / "shop" / "tasks.py").write_text(TASKS)
    with (home / "config" / "settings.py").open("a") as settings:
        settings.write(APPS)
    (home / "config" / "urls.py").write_text(URLS)
    python(home, "manage.py", "migrate", "--verbosity", "0")
    python(home, "manage.py", "collectstatic", "--noinput", "--verbosity", "0")
    try:
        id = python(home, "-c", SETUP + PUSH)
        python(home, "manage.py", "watchdog", "--once")
        python(home, "manage.py", "runworker", "--burst", "--noreload")
        place = python(home, "-c", SETUP + SEE.strip(), id)
        told = json.loads(python(home, "manage.py", "queueops", "doctor", "--json", statuses=(0, 1)))
        checks = {each["check"]: each["level"] for each in told["findings"]}
        # A new project of Django has settings of development, so `settings` may fail.
        assert checks["database"] == checks["versions"] == checks["files"] == "ok", told
    finally:
        python(home, "manage.py", "embedded", "stop")
    assert Path(place).is_relative_to(sys.prefix), place
    print(f"Python {sys.version.split()[0]}: a task ran, and the console shows it.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        smoke(Path(folder))
