"""The head of a run's page, and the question of a signal."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from queueops import control
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from tests.console.test_workflows import Handle, run  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db


def test_the_head_says_that_a_run_is_blocked(run: Handle, operator: Client) -> None:  # noqa: F811
    address, word = f"/ops/tasks/{run.id}/", '<span class="q-tag bad">blocked</span>'
    assert word not in operator.get(address).content.decode()
    run.signal("approve", 1)
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    blocked = Settlement(lease.id, lease.fence, Outcome.SUCCESS, b'{"blocked": "the code has changed"}')
    get_broker().exchange("default", "w1", RoundTrip(settle=[blocked]))
    assert word in operator.get(address).content.decode().split("<h1>")[0]
    control.run_now([run.id])
    assert (run.state, word in operator.get(address).content.decode()) == ("pending", True)


@pytest.mark.parametrize("value", ['{"password": "[redacted]"}', '"https://***@h"'])
def test_a_signal_sends_no_value_with_a_mask(run: Handle, operator: Client, value: str) -> None:  # noqa: F811
    given = {"pool": "default", "next": "/ops/tasks/", "name": "approve", "value": value, "confirmed": "1"}
    asked = html.unescape(operator.post(f"/ops/workflows/{run.id}/_signal", given).content.decode())
    assert "with its value." in asked


def test_the_question_of_a_signal_has_fields_of_the_console(run: Handle, operator: Client) -> None:  # noqa: F811
    given = {"pool": "default", "next": "/ops/tasks/", "name": "approve", "value": "{wrong"}
    asked = html.unescape(operator.post(f"/ops/workflows/{run.id}/_signal", given).content.decode())
    assert "Send the signal to 1 run" in asked
    assert asked.partition("<main")[2].partition("</main>")[0].count('class="form-control"') == 2
