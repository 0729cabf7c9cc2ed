"""A push of a task whose code workers do not find is refused or warned about, and so is a pool that is not declared."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from django.core.management import call_command

from queueops import Chain, MapReduce, chain, schedules, task
from queueops.errors.tasks import NotImportable
from queueops.model import warn_once
from queueops.schedules.schedule import Schedule
from queueops.tasks import discovery, registry
from queueops.testing import eager, namespace, run_worker
from queueops.worker.options import WorkerOptions
from tests.support import tasks_for_tests as tasks

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def nothing_warned():
    before = set(registry.handlers())
    warn_once.forget()
    yield
    warn_once.forget()
    for kind, name in set(registry.handlers()) - before:
        registry.unregister(kind, name)


@pytest.fixture
def strict(monkeypatch):
    """As in a project: tasks are run by other processes."""
    monkeypatch.setattr(discovery, "_run_here", 0)


def local_task():
    @task
    def local(number: int = 1) -> int:
        return number

    return local


@pytest.mark.parametrize(
    "way",
    [
        lambda local: local.push(),
        lambda local: local.postpone(60),
        lambda local: local.using(id="x").push(),
        lambda local: local.push_many([()]),
        lambda local: local.push_on_commit(),
        lambda local: chain(tasks.add.s(1), local.s()).push(),
        lambda local: schedules.create(local, Schedule("@every 1h"), id="x"),
    ],
)
def test_a_task_within_a_function_is_refused_with_what_to_write(namespace, strict, redis_client, way):
    with pytest.raises(NotImportable) as caught:
        way(local_task())
    assert str(caught.value) == (
        f"The task {__name__}.local_task.local cannot be pushed: workers do not find its code: it is defined within"
        " a function, after the code was loaded."
        " Move it to the top level of tasks.py, or give it a name= that workers know."
    )
    assert redis_client.keys(f"*{namespace}*:task:*") == []


def test_so_is_a_class_within_a_function(namespace, strict):
    class Letters(MapReduce):
        """Counts letters."""

        def process(self, chunk): ...

    class Both(Chain):
        """Two tasks."""

        def init(self):
            return [tasks.add.s(1)]

    class Named(MapReduce):
        """Workers know it by its name."""

        name = "discovery.named"

        def process(self, chunk): ...

    for made in (Letters, Both):
        with pytest.raises(NotImportable, match="it is defined within a function"):
            made.task.push()
    assert Named.push("a").state == "pending"


def test_what_has_a_name_of_its_own_is_pushed(namespace, strict, caplog):
    named = task(name="discovery.named")(lambda: None)
    assert named.push().state == "pending"
    assert not caplog.records


def test_an_ordinary_call_and_an_eager_push_need_no_worker(strict):
    local = local_task()
    assert local(3) == 3
    with eager():
        assert local.push(4).result() == 4


def test_a_test_in_a_namespace_runs_its_own_tasks(strict, redis_url):
    local = local_task()
    with namespace(redis_url):
        handle = local.push(5)
        run_worker()
        assert handle.result(timeout=0) == 5
    with pytest.raises(NotImportable):
        local.push()


def test_a_task_that_is_defined_while_its_module_is_loaded_at_the_start_is_known(namespace, strict, monkeypatch):
    """As a factory at the top level of tasks.py makes it."""
    monkeypatch.setattr(discovery.apps, "ready", False)
    assert local_task().push().state == "pending"


def test_a_module_that_is_imported_later_is_warned_about_once(namespace, strict, caplog, monkeypatch):
    module = types.ModuleType("shop.views")
    monkeypatch.setitem(sys.modules, "shop.views", module)
    code = "from queueops import task\n@task\ndef bill(number=1): ...\n@task\ndef pay(): ..."
    exec(compile(code, "shop/views.py", "exec"), module.__dict__)
    for _ in range(3):
        module.bill.push()
        module.bill.using(priority=1).push_many([(1,)])
    module.pay.push()
    assert [record.getMessage() for record in caplog.records] == [
        f"The task shop.views.{name} is pushed, but workers may not know it: its module shop.views was imported after"
        " the tasks.py of all apps. Import it in tasks.py of an installed app."
        for name in ("bill", "pay")
    ]


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings", **environment},
        capture_output=True,
        text=True,
    )


SCRIPT = """
import django
{before}
django.setup()
from queueops import task
from queueops.tasks import registry
from queueops.errors.tasks import NotImportable
{after}
try:
    handle = add.push(1)
    print("pushed", handle.id)
except NotImportable as error:
    print(error)
"""
TASK = "from queueops import task\n@task{options}\ndef add(a): ...\n"


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_task_of_a_script_is_refused(namespace, tmp_path, place):
    script = tmp_path / "script.py"
    text = {"before": "", "after": ""} | {place: TASK.format(options="")}
    script.write_text(SCRIPT.format(**text))
    ran = run_python(str(script), PYTHONPATH=str(ROOT))
    assert ran.stdout.startswith(
        "The task __main__.add cannot be pushed: workers do not find its code: it is defined in a script or a"
        " shell. Move it to tasks.py of an installed app; or give it a name=, when the worker is started by the same"
        " file."
    ), ran.stderr


def test_a_task_of_a_shell_is_refused_and_one_of_a_tasks_module_is_not(namespace):
    code = f"{TASK.format(options='')}\ntry:\n    add.push(1)\nexcept Exception as error:\n    print(error)"
    ran = run_python("manage.py", "shell", "-c", code)
    assert "it is defined in a script or a shell" in ran.stdout, ran.stderr
    code = "from queueops_demo.tasks import *\nfrom queueops.tasks import registry\n"
    code += "print(registry.get('task', 'demo.count_words').task.hidden)"
    assert run_python("manage.py", "shell", "-c", code).stdout.strip().endswith("None")


def test_a_task_of_a_script_with_a_name_is_pushed(namespace, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(before="", after=TASK.format(options="(name='shop.add')")))
    ran = run_python(str(script), PYTHONPATH=str(ROOT))
    assert ran.stdout.startswith("pushed"), ran.stderr
    assert "workers may not know" not in ran.stderr


def test_a_pool_that_the_settings_do_not_have_is_warned_about_once(namespace, settings, caplog):
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"mail": {}}}
    for _ in range(2):
        tasks.add.using(pool="mial").push(1)
        chain(tasks.add.s(1)).using(pool="mial").push()
    tasks.add.using(pool="mail").push(1)
    tasks.add.push(1)
    tasks.add.using(pool="reports").push(1)
    assert [record.getMessage() for record in caplog.records] == [
        "QUEUEOPS['POOLS'] does not have the pool 'mial', whose tasks wait until a worker serves it."
        " Declare it with {'mial': {}}, or correct its name; did you mean 'mail'?",
        "QUEUEOPS['POOLS'] does not have the pool 'reports', whose tasks wait until a worker serves it."
        " Declare it with {'reports': {}}, or correct its name; known are: default, mail",
    ]


def test_a_worker_of_such_a_pool_says_so_at_its_start(namespace, settings, caplog, monkeypatch):
    served: list[WorkerOptions] = []
    monkeypatch.setattr(
        "queueops.management.commands.runworker.run_worker", lambda options: served.append(options) or 0
    )
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"mail": {}}}
    for pools in (["mial", "mail"], ["default"]):
        with pytest.raises(SystemExit):
            call_command("runworker", pools=pools)
    told = [record.getMessage() for record in caplog.records if "POOLS" in record.getMessage()]
    assert [options.pools for options in served] == [("mial", "mail"), ("default",)]
    assert len(told) == 1
    assert "does not have the pool 'mial'" in told[0]
    assert "did you mean 'mail'?" in told[0]
