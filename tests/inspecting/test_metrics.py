"""The metrics: what Prometheus reads of a pool with work, and who may read it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import RequestFactory
from prometheus_client.parser import text_string_to_metric_families

from queueops import inspect
from queueops.inspect.loads import UNKNOWN_S
from queueops.metrics import exposition, metrics
from queueops.testing import run_worker
from tests.kernel.desk import Desk
from tests.support.tasks_for_tests import add

TOKEN = "a-token-of-this-test"


def scrape(**headers: str) -> HttpResponse:
    return metrics(RequestFactory(headers=headers).get("/metrics"))


def samples(text: str) -> dict[tuple[str, ...], float]:
    """The value of each series, by its name and the values of its labels."""
    return {
        (sample.name, *(sample.labels[key] for key in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def token(settings: Any, namespace: str) -> str:
    settings.QUEUEOPS = settings.QUEUEOPS | {"METRICS_TOKEN": TOKEN}
    return TOKEN


RAN = {"ok|add": 3, "err|add": 1, "ms|add": 800, "ok|mul": 2, "ms|mul": 4}
"""What a worker tells of the attempts of two names."""


def test_a_scrape_has_the_figures_of_the_overview(desk: Desk, token: str) -> None:
    desk.exchange(metrics=RAN)
    for _ in range(3):
        add.using(lane="mail").push(1)
    add.using(expires=datetime(2020, 1, 1, tzinfo=UTC)).push(1)
    desk.broker.tick("default")
    response = scrape(Authorization=f"Bearer {token}")
    assert response.headers["Content-Type"].startswith("text/plain")
    found = samples(response.content.decode())
    shown = inspect.snapshot()
    (pool,) = shown.pools
    for state, count in pool.states.items():
        assert found["queueops_tasks", "default", state] == count
    assert found["queueops_tasks", "default", "pending"] == 3
    assert found["queueops_lane_ready_tasks", "mail", "default"] == 3
    assert found["queueops_name_ended_attempts", "add", "default"] == 4
    assert found["queueops_name_failed_attempts", "add", "default"] == 1
    assert found["queueops_name_run_seconds", "add", "default"] == 0.2
    assert found["queueops_expired_tasks", "default"] == 1
    assert found["queueops_workers", "default"] == pool.workers
    assert found["queueops_failure_ratio", "default"] == pytest.approx(pool.failure_rate)
    assert found["queueops_alarms", "danger"] == sum(alarm.level == "danger" for alarm in shown.alarms)


def test_a_client_that_asks_for_openmetrics_gets_it(token: str) -> None:
    response = scrape(Authorization=f"Bearer {token}", Accept="application/openmetrics-text; version=1.0.0")
    assert response.headers["Content-Type"].startswith("application/openmetrics-text")
    assert response.content.endswith(b"# EOF\n")


def test_work_that_waits_is_told_in_seconds(token: str) -> None:
    for _ in range(4):
        add.push(1)
    (pool,) = inspect.load()
    assert (pool.waiting_s, pool.slots) == (4 * UNKNOWN_S, 0)  # no run has ended: an autoscaler starts a worker
    run_worker()
    (pool,) = inspect.load()
    assert pool.waiting_s == 0


def test_most_names_have_a_series_and_the_others_are_counted(desk: Desk) -> None:
    desk.exchange(metrics=RAN)
    (pool,) = inspect.load(most_names=1)
    assert ([row.name for row in pool.names], pool.names_left) == (["add"], 1)


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer \xe9"])
def test_a_client_without_the_token_reads_nothing(token: str, authorization: str) -> None:
    response = scrape(Authorization=authorization)
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert b"queueops_" not in response.content


def test_the_view_refuses_all_while_no_token_is_set(namespace: str) -> None:
    response = scrape(Authorization="Bearer ")
    assert (response.status_code, b"METRICS_TOKEN" in response.content) == (403, True)


def test_a_store_that_does_not_answer_is_no_scrape(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1", "METRICS_TOKEN": TOKEN}
    response = scrape(Authorization=f"Bearer {TOKEN}")
    assert (response.status_code, response.content.decode()) == (503, exposition.AWAY)
    assert "A scrape of the metrics failed" in caplog.text


def get(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_command_serves_them_on_a_port_of_their_own(namespace: str, redis_url: str) -> None:
    add.push(1)
    process = subprocess.Popen(
        [sys.executable, "manage.py", "metrics", "--port", "0"],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().rpartition(" ")[2].strip()
        status, text = get(url)
        assert (status, samples(text)["queueops_tasks", "default", "pending"]) == (200, 1)
        assert get(url.replace("/metrics", "/other"))[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(60)
        process.stdout.close()


def test_the_command_needs_a_token_where_other_machines_reach_it(namespace: str) -> None:
    with pytest.raises(CommandError, match=r"Set QUEUEOPS\['METRICS_TOKEN'\]"):
        call_command("metrics", host="0.0.0.0", port=0)


def test_a_port_that_is_no_port_is_refused(namespace: str) -> None:
    with pytest.raises(CommandError, match=r"Cannot listen on 127\.0\.0\.1:70000"):
        call_command("metrics", port=70_000)
