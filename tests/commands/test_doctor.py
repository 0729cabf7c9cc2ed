"""The doctor: a real broken part for each check, and what it says of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.urls import clear_url_caches

from queueops.alerts.alerting import MOST_ATTEMPTS, Alerting
from queueops.management.doctor import ORDER, running
from queueops.redis.broker import get_broker
from queueops.watchdog import Watchdog
from tests.alerts.conftest import receiver as receiver
from tests.alerts.conftest import use_alerts as use_alerts
from tests.alerts.test_alerting import HUNG, Alarms, pass_time
from tests.conf.test_checks import configure as configure
from tests.jobs.conftest import LOCAL
from tests.kernel.conftest import desk as desk
from tests.kernel.conftest import desk_class as desk_class
from tests.kernel.conftest import make_desk as make_desk
from tests.kernel.desk import Desk
from tests.kernel.test_permissions import make_user as make_user
from tests.schedules.conftest import Clock
from tests.support.tasks_for_tests import add
from tests.support.topology import Node, ended

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


class Told:
    """What the doctor answered: its exit status, and the findings of each check."""

    def __init__(self, *options: str) -> None:
        out = StringIO()
        self.status = 0
        try:
            call_command("doctor", "--json", *options, stdout=out)
        except SystemExit as error:
            self.status = int(str(error.code))
        self.text = out.getvalue()
        self.findings: list[dict[str, str]] = json.loads(self.text)["findings"]

    def of(self, check: str, *words: str) -> tuple[str, str]:
        """Level and remedy of the finding of this check that has these words."""
        told = [each for each in self.findings if each["check"] == check]
        found = [each for each in told if all(word in each["seen"] for word in words)]
        assert found, told
        return found[0]["level"], found[0]["remedy"]


@pytest.fixture
def sound(desk: Desk, configure: Callable[[str, str], None], settings: Any) -> Desk:
    """A site with a sound store, a worker, a watchdog and a rule of alerts."""
    configure("maxmemory", "1gb")
    alerts = {"TARGETS": {"ops": {"mail": ["ops@example.org"]}}, "RULES": {"all": {"to": ["ops"]}}}
    settings.QUEUEOPS = settings.QUEUEOPS | {"ALERTS": alerts}
    call_command("watchdog", "--once", stdout=StringIO())
    beat(desk)
    return desk


def beat(desk: Desk, worker: str = "w1", **fields: object) -> None:
    """A worker reports."""
    desk.broker.beat("default", worker, {"names": "", "slots": 4, "state": "live", "host": worker} | fields)


def test_a_sound_site_has_no_fault_and_each_check_says_what_it_saw(sound: Desk) -> None:
    told = Told()
    assert [each for each in told.findings if each["level"] == "fail"] == []
    assert told.status == 0
    assert list(dict.fromkeys(each["check"] for each in told.findings)) == list(ORDER)
    beyond_django = {each["check"] for each in told.findings if each["level"] != "ok"}
    assert beyond_django <= {"settings"}  # the settings of the tests are not those of a deploy
    assert len([each for each in told.findings if each["check"] == "settings"]) == 1
    assert Told("--strict").status == 1
    out = StringIO()
    call_command("queueops", "doctor", stdout=out)
    assert "ok    workers: 1 live process serves the pool default." in out.getvalue()


def test_a_store_that_may_lose_tasks_is_a_fault_with_the_line_to_write(
    sound: Desk, configure: Callable[[str, str], None]
) -> None:
    configure("maxmemory-policy", "allkeys-lru")
    configure("appendonly", "no")
    configure("maxmemory", "0")
    told = Told()
    assert told.status == 1
    assert told.of("persistence", "may drop tasks") == ("fail", "Set maxmemory-policy to noeviction.")
    assert told.of("persistence", "no append-only file") == ("fail", "Set appendonly to yes.")
    assert told.of("store", "no memory limit")[0] == "warn"
    assert len([each for each in told.findings if "append-only" in each["seen"]]) == 1


def test_a_store_that_is_away_or_silent_is_told_without_its_password(settings: Any, tmp_path: Path) -> None:
    node = Node(tmp_path / "server")
    with ended(node):
        node.client.config_set("requirepass", "hunter2")
        for port, state in ((node.port, node.frozen()), (1, nullcontext())):
            settings.QUEUEOPS = settings.QUEUEOPS | {"URL": f"redis://:hunter2@127.0.0.1:{port}"}
            with state:
                told = Told()
            assert told.of("store", "did not answer")[0] == "fail"
            assert told.of("workers", "the store does not answer") == ("warn", "Mend that first.")
            assert told.of("database")[0] == "ok"
            assert "hunter2" not in told.text


def test_an_error_of_the_projects_own_code_hides_no_other_finding(sound: Desk, settings: Any) -> None:
    settings.ROOT_URLCONF = "nothing.here"
    clear_url_caches()
    told = Told()
    clear_url_caches()
    assert told.of("settings", "ModuleNotFoundError") == ("fail", "Write: manage.py check --traceback")
    assert told.of("workers")[0] == "ok"


def test_a_user_who_may_not_use_the_keys_is_told_in_each_check(
    sound: Desk, make_user: Callable[..., str], settings: Any
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": make_user("~other:*", "+@all", "allchannels")}
    told = Told()
    assert told.of("permissions", "may not use the keys of the namespace")[0] == "fail"
    assert told.of("workers", "the store refuses a question") == ("warn", "Mend that first.")
    assert told.of("database")[0] == "ok"


def test_wrong_settings_are_told_and_the_rest_is_left(settings: Any) -> None:
    settings.QUEUEOPS = {"LEASE": 0}
    told = Told()
    assert told.of("settings", "LEASE")[0] == "fail"
    assert told.of("store", "settings of QUEUEOPS are wrong")[0] == "warn"


def test_a_user_who_may_not_use_a_command_is_a_fault(sound: Desk, make_user: Callable[..., str], settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": make_user("allkeys", "allchannels", "+@all", "-zadd", "-lpush")}
    remedy = "Permit them: ACL SETUSER name +lpush +zadd."
    assert Told().of("permissions", "may not use LPUSH, ZADD") == ("fail", remedy)


def test_versions_that_do_not_go_together_are_faults(
    sound: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "redis-5.0.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: redis\nVersion: 5.0.1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    beat(sound, "old", version="0.0.9")
    told = Told()
    assert told.of("versions", "needs redis 6.4 or newer, and 5.0.1 is") == ("fail", "Write: pip install 'redis>=6.4'")
    assert told.of("versions", "Workers run QueueOps 0.0.9")[0] == "fail"


def test_a_clock_that_is_wrong_is_told_for_this_host_and_for_those_of_workers(
    sound: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat(sound, "web7", clock=sound.now() + 900_000)
    assert Told().of("clock", "web7", "ahead of")[0] == "warn"
    real = running.time.time
    monkeypatch.setattr(running, "time", SimpleNamespace(time=lambda: real() - 3600))
    assert Told().of("clock", "this host is", "behind")[0] == "warn"


def test_a_missing_table_and_a_missing_migration_are_faults() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE queueops_console_auditentry")
    level, remedy = Told().of("database", "lacks tables of applied migrations: queueops_console_auditentry")
    assert (level, "--fake queueops_console zero" in remedy) == ("fail", True)
    rows = MigrationRecorder(connection).migration_qs.filter(app="queueops_console").order_by("-id")
    rows.first().delete()
    remedy = "Write: manage.py migrate --database default"
    assert Told().of("database", "lacks migrations: queueops_console.") == ("fail", remedy)


def test_without_workers_and_watchdog_both_are_told_also_while_nothing_waits(desk: Desk, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"mail": {}}}
    told = Told()
    assert told.of("workers", "pools default and mail") == ("warn", "manage.py runworker --pool default --pool mail")
    assert told.of("watchdog", "No watchdog has served the pool") == ("fail", "manage.py watchdog")
    desk.push("a")
    told = Told()
    assert told.of("workers", "No live worker serves the pool default: 1 task waits")[0] == "fail"
    desk.client.hset(desk.keys.clock, "tick", desk.now() - 20_000)
    assert told.of("watchdog", "No watchdog has served the pool")[1] == "manage.py watchdog"
    assert Told().of("watchdog", "the last one ran")[1] == "manage.py watchdog"


def test_a_schedule_whose_run_hangs_is_told_with_what_ends_the_run(desk: Desk) -> None:
    desk.tick()
    beat(desk)
    clock = Clock(desk.broker)
    clock.define("reports", ago_ms=40_000, overlap="skip")
    clock.fire()
    (run,) = clock.runs("reports")
    for _ in range(3):
        clock.came("reports")
        clock.fire()
    remedy = f"manage.py queue cancel {run} --hard --pool default"
    assert Told().of("schedules", "reports", "has skipped 3 runs") == ("warn", remedy)


def test_a_target_of_alerts_that_gave_up_is_a_fault(receiver: Any, use_alerts: Any) -> None:
    use_alerts({"hook": {"webhook": receiver.url("/hook")}}, {"urgent": {"to": ["hook"]}})
    receiver.routes["/hook"] = lambda exchange: exchange.answer(503)
    add.push(1)
    alerting = Alerting(look=Alarms(HUNG))
    for _ in range(MOST_ATTEMPTS):
        alerting.round()
        pass_time(300_000)
    Watchdog(get_broker()).round()
    assert Told().of("alerts", "do not reach the target hook")[0] == "fail"


def test_files_that_cannot_be_written_and_static_files_that_are_not_collected_are_faults(
    sound: Desk, settings: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    settings.MEDIA_ROOT = str(tmp_path / "file" / "below")
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}
    hashed = "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": hashed}}
    settings.STATIC_ROOT, settings.DEBUG = str(tmp_path / "static"), False
    told = Told()
    assert told.of("files", "The storage of downloads cannot be used")[0] == "fail"
    assert told.of("files", "A static file is not collected") == ("fail", "Write: manage.py collectstatic")


def test_a_redirect_to_https_that_a_proxy_would_repeat_is_told(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_PROXY_SSL_HEADER = True, None
    level, remedy = Told().of("proxies", "SECURE_PROXY_SSL_HEADER is not")
    assert (level, "--url" in remedy) == ("warn", True)
    assert Told("--url", "https://ada:hunter2@127.0.0.1:1/ops/").of("proxies", "cannot be asked")[0] == "fail"
    assert "hunter2" not in Told("--url", "https://ada:hunter2@127.0.0.1:1/ops/").text
