"""Alerts of real watchdogs: one that is killed before its message was sent, and the heartbeat of one that works."""

from __future__ import annotations

import signal
import socket
from typing import Any

import pytest

from queueops import alerts, conf
from queueops.redis import keys
from queueops.redis.broker import get_broker
from tests.faults.conftest import Bench
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import serving
from tests.support.tasks_for_tests import add
from tests.support.topology import free_ports
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def test_a_message_of_a_watchdog_that_was_killed_is_sent_by_the_next_one_with_the_same_id(
    bench: Bench, settings: Any
) -> None:
    (port,) = free_ports(1)
    told = {
        "TARGETS": {"hook": {"webhook": f"http://127.0.0.1:{port}/hook"}},
        "RULES": {"urgent": {"to": ["hook"], "levels": ["danger"], "alarms": ["unserved*"]}},
        "HEARTBEAT": {"url": f"http://127.0.0.1:{port}/beat", "every": 1},
    }
    bench.settings |= {"JOBS": LOCAL, "ALERTS": told}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL, "ALERTS": told}
    add.push(1)  # and no worker
    with socket.create_server(("127.0.0.1", port)):  # it accepts connections, and answers nothing
        killed = bench.watchdog()
        wait_until(lambda: [row for row in alerts.alerts().incidents if row.incident.waiting], say=killed.text)
        killed.signal_all(signal.SIGKILL)
        killed.wait()
    (row,) = alerts.alerts().incidents
    assert (row.incident.status, row.incident.told) == ("firing", [])
    turn = keys.alerts(conf.current().namespace, "turn")
    get_broker().ask_key(turn, lambda client, key: client.pexpire(key, 1))  # as it does after a minute
    with serving({path: lambda exchange: exchange.answer(204) for path in ("/hook", "/beat")}, port=port) as server:
        watchdog = bench.watchdog()
        asked = lambda path: [each for each in server.asked if each.path == path]  # noqa: E731
        wait_until(lambda: asked("/hook") and asked("/beat"), say=watchdog.text)
        wait_until(lambda: alerts.alerts().incidents[0].incident.told == ["hook"], say=watchdog.text)
        assert [each.headers["webhook-id"] for each in asked("/hook")] == [row.incident.message_id]
        assert watchdog.stop() == 0
