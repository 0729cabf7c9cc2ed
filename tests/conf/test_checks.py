"""The system checks say what is wrong, and what to write instead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.checks import run_checks

from queueops.checks import check_environment, check_settings, check_store
from queueops.redis import store_checks
from queueops.redis.embedded import program
from tests.support.for_each import for_each
from tests.support.waiting import wait_until

SOUND = {"redis_version": "7.4.0", "maxmemory_policy": "noeviction", "aof_enabled": 1, "maxmemory": 1}


def ids(messages: Any) -> list[str]:
    return [message.id for message in messages]


@pytest.mark.django_db
def test_the_project_as_it_is_has_no_complaints() -> None:
    assert run_checks() == []


def test_an_unknown_setting_is_an_error_with_advice(settings: Any) -> None:
    settings.QUEUEOPS = {"NAMSPACE": "x"}
    (message,) = check_settings()
    assert message.id == "queueops.E001"
    assert message.msg == "There is no setting QUEUEOPS['NAMSPACE']; did you mean 'NAMESPACE'?"
    assert message.hint.startswith("The settings are URL, ")


def test_a_setting_beside_queueops_is_no_setting_of_it(settings: Any) -> None:
    settings.QUEUEOPS_URL = "redis://localhost"
    (message,) = check_settings()
    assert (message.id, message.msg) == ("queueops.W003", "QueueOps does not read the setting QUEUEOPS_URL.")
    assert message.hint == "Write QUEUEOPS = {'URL': ...}"


@pytest.mark.parametrize("name", ["QUEUOPS", "QUEUE_OPS", "QUEUEOP"])
def test_a_misspelt_queueops_is_told(settings: Any, name: str) -> None:
    """The embedded server would be used in the place of the store that it names."""
    settings.QUEUEOPS = {}  # its end tells QueueOps to read the settings again; the end of a deletion does not
    del settings.QUEUEOPS
    settings.QUEUES, settings.RQ_QUEUES, settings.QUEUEOP_NAME = {"a": 1}, {"a": 1}, "a"
    assert check_settings() == []
    setattr(settings, name, {"URL": "redis://localhost"})
    (message,) = check_settings()
    told = f"QueueOps does not read the setting {name}, so it uses its defaults."
    assert (message.id, message.msg, message.hint) == ("queueops.W003", told, "Write QUEUEOPS = {...}")


def test_a_setting_of_celery_is_told_once_with_all_settings(settings: Any) -> None:
    settings.QUEUEOPS = {"BROKER_URL": "redis://localhost"}
    (message,) = check_settings()
    assert message.msg == "There is no setting QUEUEOPS['BROKER_URL']; write 'URL'"
    assert message.hint.startswith("The settings are URL, ")
    settings.QUEUEOPS = {"CONCURRENCY": 3}
    (message,) = check_settings()
    assert "; known are: ALERTS, CONNECT, " in message.msg
    assert message.hint is None


def test_the_hint_lists_the_settings_for_a_wrong_setting_only(settings: Any) -> None:
    settings.QUEUEOPS = {"RETRY": {"attemps": 1}}
    (message,) = check_settings()
    assert "did you mean 'attempts'" in message.msg
    assert message.hint is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("redis://h:notaport/0", "Port could not be cast"),
        ("redis://h/abc", "must be the number of a database"),
        ("redis://h/1/2", "must be the number of a database"),
        ("redis://h?db=x", "db"),
        ("redis://h?bogus=1", "a connection has no option 'bogus'"),
        ("redis+sentinel://h1,h2", "the name of the sentinels' master is missing"),
        ("redis+sentinel://h1/mine/x", "must be the number of a database"),
        ("redis+cluster://h:port", "Port could not be cast"),
        ("redis+cluster://h/3", "a cluster has the database 0 only"),
    ],
)
def test_a_malformed_url_is_an_error_and_nobody_is_asked(settings: Any, url: str, reason: str) -> None:
    settings.QUEUEOPS = {"URL": url}
    (message,) = check_environment()
    assert message.id == "queueops.E004"
    assert reason in message.msg


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "rediss://u:p@h:7000/3",
        "unix:///run/x.sock?db=2",
        "redis+sentinel://a,b/mine/1",
        "redis+cluster://a,b",
    ],
)
def test_a_url_that_is_well_formed_passes_though_nobody_is_there(settings: Any, url: str) -> None:
    settings.QUEUEOPS = {"URL": url, "CONNECT": {"socket_timeout": 1, "max_connections": 5, "client_name": "web"}}
    assert check_environment() == []


def test_options_of_tls_without_tls_are_an_error(settings: Any) -> None:
    settings.QUEUEOPS = {"URL": "redis://h", "CONNECT": {"ssl_ca_certs": __file__}}
    (message,) = check_environment()
    assert message.id == "queueops.E004"
    assert "ssl_ca_certs" in message.msg
    settings.QUEUEOPS = {"URL": "rediss://h", "CONNECT": {"ssl_ca_certs": __file__}}
    assert check_environment() == []


@pytest.mark.parametrize(
    ("url", "name", "value", "expected"),
    [
        ("rediss://h", "ssl_ca_certs", "/nowhere/ca.pem", "a file that is there"),
        ("rediss://h", "ssl_ca_path", __file__, "a directory that is there"),
        ("redis://h/0", "db", 3, "left out: the URL names the database"),
    ],
)
def test_what_a_connection_could_not_use_is_an_error(
    settings: Any, url: str, name: str, value: object, expected: str
) -> None:
    settings.QUEUEOPS = {"URL": url, "CONNECT": {name: value}}
    (message,) = check_environment()
    assert message.id == "queueops.E004"
    assert f"QUEUEOPS['CONNECT']['{name}'] is" in message.msg
    assert expected in message.msg


def test_every_wrong_setting_is_an_error_of_its_own(settings: Any) -> None:
    settings.QUEUEOPS = {"LEASE": 0, "GRACE": "x"}
    assert ids(check_settings()) == ["queueops.E001", "queueops.E001"]
    assert check_environment() == check_store() == []


def test_settings_that_are_unwise_are_warnings(settings: Any) -> None:
    settings.QUEUEOPS = {"LEASE": 1, "RETRY": {"base": 3, "cap": 1}}
    assert ids(check_settings()) == ["queueops.W001", "queueops.W002"]


def test_a_middleware_that_cannot_be_imported_is_an_error(settings: Any) -> None:
    settings.QUEUEOPS = {"MIDDLEWARE": ["queueops.nothing.Here"], "URL": "redis://h"}
    (message,) = check_environment()
    assert message.id == "queueops.E002"
    assert "'queueops.nothing.Here'" in message.msg


@pytest.mark.parametrize(
    ("path", "problem"),
    [("os.path", "it is module"), ("os.getpid", "get_result"), ("os.environ", "cannot be called")],
)
def test_a_middleware_that_takes_no_get_result_is_an_error(settings: Any, path: str, problem: str) -> None:
    settings.QUEUEOPS = {"MIDDLEWARE": [path], "URL": "redis://h"}
    (message,) = check_environment()
    assert message.id == "queueops.E002"
    assert problem in message.msg
    settings.QUEUEOPS = {"MIDDLEWARE": ["builtins.list"], "URL": "redis://h"}
    assert check_environment() == []


def test_an_embedded_url_without_a_server_program_is_an_error(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_in_wheel", lambda: None)
    monkeypatch.setenv("PATH", "")
    settings.QUEUEOPS = {}
    (message,) = check_environment()
    assert message.id == "queueops.E003"
    assert "queueops[embedded]" in message.hint


def test_the_embedded_server_in_production_is_a_warning(settings: Any) -> None:
    settings.QUEUEOPS = {}
    assert ids(check_store()) == ["queueops.W101"]


@pytest.fixture
def configure(redis_client: redis.Redis) -> Iterator[Callable[[str, str], None]]:
    """Changes the server's configuration, until the end of the test."""
    before: dict[str, str] = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, redis_client.config_get(name)[name])
        redis_client.config_set(name, value)

    yield change
    for name, value in before.items():
        redis_client.config_set(name, value)
    # A server that still writes its first append-only file refuses to end.
    wait_until(lambda: not redis_client.info("persistence")["aof_rewrite_in_progress"])


def test_a_store_that_may_lose_tasks_is_an_error(configure: Callable[[str, str], None]) -> None:
    configure("maxmemory-policy", "allkeys-lru")
    configure("appendonly", "no")
    assert ids(check_store()) == ["queueops.E103", "queueops.E104", "queueops.W106"]


def test_a_store_whose_records_grow_with_long_arguments_is_a_warning(configure: Callable[[str, str], None]) -> None:
    def told() -> list[Any]:
        return [message for message in check_store() if message.id == "queueops.W113"]

    assert told() == []
    configure("hash-max-listpack-value", "64")
    (message,) = told()
    assert message.msg == (
        "A record with arguments of over 64 bytes takes half as much memory again: hash-max-listpack-value is 64."
    )
    assert re.search(r"redis-cli -\S+ .*CONFIG SET hash-max-listpack-value 256 - and", message.hint)  # of this server
    configure("hash-max-listpack-value", "512")
    assert told() == []


def test_a_replica_is_an_error(redis_client: redis.Redis) -> None:
    redis_client.replicaof("127.0.0.1", 1)
    try:
        assert "queueops.E110" in ids(check_store())
    finally:
        redis_client.replicaof("no", "one")
    assert "queueops.E110" not in ids(check_store())


def test_a_store_that_does_not_answer_is_a_warning_without_its_password(settings: Any) -> None:
    settings.QUEUEOPS = {"URL": "redis://:hunter2@127.0.0.1:1"}
    (message,) = check_store()
    assert message.id == "queueops.W102"
    assert "hunter2" not in message.msg


@for_each(
    ("change", "numbers"),
    [
        ({}, []),
        ({"maxmemory_policy": "volatile-ttl"}, [103]),
        ({"aof_enabled": 0}, [104]),
        ({"aof_last_write_status": "err"}, [105]),
        ({"maxmemory": 0}, [106]),
        ({"redis_version": "6.0.16"}, [107]),
        ({"valkey_version": "7.2.4"}, []),
    ],
)
def test_what_the_server_says_of_itself_is_judged(change: dict[str, Any], numbers: list[int]) -> None:
    assert [fault.number for fault in store_checks.faults(SOUND | change)] == numbers


def manage(*arguments: str, directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `manage.py` of the stand-alone project, in an environment of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("QUEUEOPS_", "DJANGO_"))}
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, str(root / "manage.py"), *arguments],
        env=clean | {"QUEUEOPS_DATA": str(directory)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_production_environment_passes_djangos_own_deploy_checks(
    tmp_path: Path, redis_url: str, configure: Callable[[str, str], None]
) -> None:
    configure("maxmemory", "1gb")
    production = {
        "QUEUEOPS_ENV": "production",
        "QUEUEOPS_SECRET_KEY": "an unguessable text, for a test only, of many letters 0123456789",
        "QUEUEOPS_HOSTS": "ops.example.org",
        "QUEUEOPS_URL": redis_url,
    }
    done = manage("check", "--deploy", "--fail-level", "WARNING", directory=tmp_path, **production)
    assert done.returncode == 0, done.stderr


def test_production_demands_a_secret_key(tmp_path: Path) -> None:
    done = manage("check", directory=tmp_path, QUEUEOPS_ENV="production", QUEUEOPS_HOSTS="a")
    assert done.returncode != 0
    assert "QUEUEOPS_SECRET_KEY is not set" in done.stderr


def test_development_makes_a_secret_key_once_and_for_its_owner_only(tmp_path: Path) -> None:
    assert manage("check", directory=tmp_path).returncode == 0
    kept = tmp_path / "secret_key"
    first = kept.read_text()
    assert manage("check", directory=tmp_path).returncode == 0
    assert kept.read_text() == first
    assert len(first) > 60
    assert kept.stat().st_mode & 0o077 == 0


def test_urls_without_the_console_say_which_app_is_missing() -> None:
    apps = ["queueops", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"]
    code = f"""
import django
from django.conf import settings
settings.configure(SECRET_KEY="only for tests", INSTALLED_APPS={apps})
django.setup()
import console.urls
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=root)
    told = "The URLs of the console need 'queueops' and 'console' in INSTALLED_APPS."
    assert done.stderr.splitlines()[-1] == f"django.core.exceptions.ImproperlyConfigured: {told}"
