"""TASK_MODULES: workers import these modules of each app; the push of a task elsewhere says what to add."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from queueops.checks import check_environment

ROOT = Path(__file__).parents[2]
TASK = "from queueops import task\n@task\ndef {name}(): ...\n"
SCRIPT = """
import os, django
from django.conf import settings
settings.configure(INSTALLED_APPS=["queueops", "shop", "bare"], QUEUEOPS={{"URL": os.environ["STORE"], {setting}}})
django.setup()
from queueops.tasks import registry
print(sorted(name for kind, name in registry.handlers() if name.startswith("shop.")))
from shop.jobs.background import tidy
tidy.push()
tidy.push()
"""


def shop(folder: Path) -> None:
    """An app with tasks in two modules, and an app without any."""
    for path, text in {
        "shop/__init__.py": "",
        "shop/tasks.py": TASK.format(name="send"),
        "shop/jobs/__init__.py": "",
        "shop/jobs/background.py": TASK.format(name="tidy"),
        "bare/__init__.py": "",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def ran(folder: Path, url: str, setting: str) -> subprocess.CompletedProcess[str]:
    code = SCRIPT.format(setting=setting)
    environment = os.environ | {"PYTHONPATH": f"{folder}:{ROOT}", "STORE": url}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=folder)


def test_modules_of_the_setting_are_imported_beside_tasks_py_and_a_push_from_elsewhere_names_it(tmp_path, redis_url):
    shop(tmp_path)
    chosen = f'"NAMESPACE": "modules{os.getpid()}", '
    with_it = ran(tmp_path, redis_url, chosen + '"TASK_MODULES": ["jobs.background"]')
    assert with_it.stdout == "['shop.jobs.background.tidy', 'shop.tasks.send']\n", with_it.stderr
    assert "workers may not know" not in with_it.stderr
    without = ran(tmp_path, redis_url, chosen)
    assert without.stdout == "['shop.tasks.send']\n", without.stderr
    assert without.stderr.count("workers may not know it") == 1
    assert "Add 'jobs.background' to QUEUEOPS['TASK_MODULES'], or import it in tasks.py" in without.stderr


def test_a_module_that_no_app_has_is_a_warning_of_the_check(settings):
    settings.QUEUEOPS = settings.QUEUEOPS | {"TASK_MODULES": ["tasks", "models", "jobz.background"]}
    (message,) = [each for each in check_environment() if each.id == "queueops.W006"]
    assert message.msg == "QUEUEOPS['TASK_MODULES'] has 'jobz.background', but no installed app has this module."
