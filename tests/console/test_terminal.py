"""What is done with `manage.py queue` stands in the console's audit log."""

from __future__ import annotations

import getpass
import socket

import pytest
from django.db import OperationalError
from django.test import Client

from console.actions.catalog import ACTIONS
from console.models import AuditedTask, AuditEntry, Outcome
from queueops import control, inspect
from queueops.management.queue.options import TASKS
from queueops.redis.broker import get_broker
from tests.console.test_audit_pages import told
from tests.inspecting.test_queue_command import failing, queue
from tests.kernel.desk import Desk
from tests.support.chunkwork import ChunkWork

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def entry() -> AuditEntry:
    return AuditEntry.objects.get()


def test_a_task_that_was_cancelled_tells_who_and_where(desk: Desk, operator: Client) -> None:
    desk.push("a")
    queue("cancel", "a", "--reason", "no use")
    found = entry()
    assert found.actor_name == f"{getpass.getuser()}@{socket.gethostname()} (command line)"
    assert (found.actor, found.address, found.reason) == (None, None, "no use")
    assert (found.verb, found.target, found.outcome) == ("cancel", "a", Outcome.DONE)
    assert (found.count, found.changed, found.ids) == (1, 1, [["default", "a"]])
    assert AuditedTask.objects.get(task_id="a", pool="default").entry == found
    assert "Cancel" in operator.get("/ops/tasks/a/audit/").content.decode()
    operator.post(f"/ops/audit/{found.pk}/_undo")
    assert desk.state("a") == "pending"


def test_one_that_was_cancelled_hard_is_recorded_as_that(desk: Desk) -> None:
    desk.push("a")
    lease = desk.lease()
    queue("cancel", "a", "--hard", "--reason", "no use")
    assert (entry().verb, entry().reason) == ("interrupt", "no use")
    assert desk.extend(lease).hard == ["a"]


def test_a_filter_and_each_bounded_call_are_recorded(desk: Desk) -> None:
    desk.push(*[f"t{number}" for number in range(300)], name="add")
    desk.push(*[f"u{number}" for number in range(300)], name="add")
    queue("cancel", "--name", "add", "--yes")
    assert sorted(AuditEntry.objects.values_list("count", "changed")) == [(100, 100), (500, 500)]
    assert {str(found.filter) for found in AuditEntry.objects.all()} == {"{'name': 'add'}"}


def test_what_was_refused_is_recorded_as_refused(desk: Desk) -> None:
    desk.push("a")
    failing("delete", "a")
    assert entry().outcome == Outcome.REFUSED
    assert "not possible while it is pending" in entry().detail


def test_a_lane_that_was_paused_tells_before_and_after_and_can_be_undone(desk: Desk, administrator: Client) -> None:
    desk.push("a")
    queue("pause", "default")
    assert (entry().target, entry().verb) == ("default/default", "pause")
    assert "Paused no yes" in told(administrator, "pause")
    administrator.post(f"/ops/audit/{entry().pk}/_undo")
    assert [lane.paused for lane in inspect.lanes()] == [False]


def test_a_lane_that_is_not_there_is_recorded_as_failed(desk: Desk) -> None:
    desk.push("a")
    failing("pause", "typo")
    assert (entry().outcome, entry().target) == (Outcome.FAILED, "default/typo")


def test_an_edit_tells_the_arguments_with_nothing_secret(desk: Desk, operator: Client) -> None:
    desk.push("a", args=b'[[1],{"password":"hunter2"}]')
    queue("edit", "a", "--args", "[2]", "--kwargs", '{"password": "hunter3"}')
    dense = told(operator, "edit").replace(" ", "")
    assert 'Argumentsbefore[[1],{"password":"[redacted]"}]' in dense
    assert 'Argumentsafter[[2],{"password":"[redacted]"}]' in dense


def test_chunks_that_were_mended_or_edited_are_told(namespace: str, operator: Client) -> None:
    work = ChunkWork(get_broker(), xr=1)
    work.map([{"n": number} for number in range(10)])
    work.fail(work.claim(2))
    queue("mend", "count", "drop", "5", "6")
    assert (entry().changed, entry().target, entry().ids) == (2, "count: 5, 6", [["default", "count"]])
    assert "Chunks 5, 6 –" in told(operator, "drop_chunks")
    queue("edit-chunk", "count", "0", "--data", '{"n": 7}', "--retry")
    assert 'Dataafter{"n":7}' in told(operator, "redo_chunks").replace(" ", "")
    queue("restart", "count", "process")
    assert AuditEntry.objects.get(verb="restart_failed").changed == 1


def test_without_the_audit_log_nothing_is_done(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.push("a")

    def fail(**_: object) -> None:
        raise OperationalError("no such table: queueops_console_auditentry")

    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    status, text = failing("cancel", "a")
    assert status == 1
    assert text.endswith("(is the database there, and migrated?): no such table: queueops_console_auditentry")
    assert desk.state("a") == "pending"


def test_what_the_console_does_to_tasks_can_be_typed() -> None:
    typed = {"rerun": "retry", "interrupt": "cancel"}  # --everything, --hard
    assert {typed.get(verb, verb.replace("_", "-")) for verb in ACTIONS} <= {*TASKS, "edit"}


def test_code_that_acts_is_not_taken_for_an_operator(desk: Desk) -> None:
    desk.push("a")
    control.cancel(["a"])
    assert not AuditEntry.objects.exists()
