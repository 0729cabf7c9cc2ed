"""The verbs of `manage.py queue` that are about more than a task's next run."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from console.models import AuditEntry
from queueops import inspect
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from tests.composites.trees import chain_of, plant
from tests.inspecting.errors import stored
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


def failed(desk: Desk, *ids: str) -> None:
    desk.push(*ids)
    for lease in desk.claim(len(ids)):
        desk.settle(lease, Outcome.ERROR, delay_ms=-1, **stored(message="boom"))


def test_what_was_deleted_is_restored(desk: Desk) -> None:
    failed(desk, "a")
    queue("delete", "a")
    assert inspect.task("a") is None
    assert queue_json("restore", "a")[0]["state"] == "failed"


def test_a_refusal_says_to_its_end_what_to_do(desk: Desk) -> None:
    plant(desk, chain_of("c" * 60, "a"))
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored(message="boom"))
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("queue", "retry", "a", stdout=out)
    assert "which has failed: retry that, and what did not succeed in it comes again" in out.getvalue()


def test_ended_tasks_are_kept_for_days(desk: Desk) -> None:
    failed(desk, "a")
    before = inspect.task("a")
    assert queue_json("keep", "a", "--days", "300")[0]["word"] == "OK"
    after = inspect.task("a")
    assert before is not None
    assert after is not None
    assert (after.deadline_ms or 0) - (before.deadline_ms or 0) > 200 * 86_400_000


def test_a_task_gets_another_priority_and_lane(desk: Desk) -> None:
    desk.push("a")
    queue("priority", "a", "--to", "7")
    queue("move", "a", "--to", "slow")
    task = inspect.task("a")
    assert task is not None
    assert (task.priority, task.lane) == (7, "slow")
    assert failing("priority", "a", "--to", "101")[0] == 2


def test_a_running_task_is_released(desk: Desk) -> None:
    desk.push("a")
    desk.claim()
    assert queue_json("release", "a")[0]["state"] == "pending"


def test_a_quarantined_task_is_requeued_or_discarded_which_asks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.push("a")
    desk.settle(desk.lease(), Outcome.QUARANTINE, value=b"broken")
    assert queue_json("requeue", "a")[0]["state"] == "pending"
    desk.settle(desk.lease(), Outcome.QUARANTINE, value=b"broken")
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert failing("discard", "a") == (1, "Nothing was done.")
    assert queue_json("discard", "a", "--yes")[0]["word"] == "OK"
    assert inspect.task("a") is None


def test_a_task_is_edited_and_runs_again(desk: Desk) -> None:
    failed(desk, "a")
    (row,) = queue_json("edit", "a", "--args", "[1]", "--kwargs", '{"x": "y"}')
    assert row["state"] == "pending"
    assert desk.lease().args == b'[[1],{"x":"y"}]'


def test_what_is_not_edited_stays_as_it_was(desk: Desk) -> None:
    desk.push("a", args=b'[[1],{"password":"hunter2"}]')
    queue("edit", "a", "--args", "[2]")
    assert get_broker().record("default", "a").args == b'[[2],{"password":"hunter2"}]'
    queue("edit", "a", "--kwargs", '{"x": 1}')
    assert get_broker().record("default", "a").args == b'[[2],{"x":1}]'
    assert failing("edit", "a") == (2, "Edit what? Give --args, --kwargs or both.")
    assert "hunter2" not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    "words",
    [
        ("edit", "a", "--args", "{}", "--kwargs", "{}"),
        ("edit", "a", "--args", "[", "--kwargs", "{}"),
        ("edit", "a", "--args", '["[redacted]"]', "--kwargs", "{}"),
        ("edit", "a", "--args", '["https://***@h"]', "--kwargs", "{}"),
        ("edit", "a"),
        ("keep", "a", "--days", "0"),
        ("list", "--limit", "0"),
        ("list", "--limit=-1"),
        ("set-lane", "default"),
        ("set-lane", "default", "--limit", "many"),
        ("set-lane", "default", "--rate", "0"),
        ("set-lane", "default", "--rate", "often"),
        ("set-lane", "default", "--rate", "inf"),
    ],
)
def test_a_wrong_call_changes_nothing(desk: Desk, words: tuple[str, ...]) -> None:
    failed(desk, "a")
    assert failing(*words)[0]
    assert inspect.task("a", "").state == "failed"  # type: ignore[union-attr]


def test_a_lane_is_limited_and_weighed(desk: Desk) -> None:
    desk.push("a")
    said = queue("set-lane", "default", "--limit", "3", "--weight", "2").strip()
    assert said == "The lane default of the pool default is set: limit none -> 3, rate none -> none, weight 1 -> 2."
    assert "limit 3 -> none, rate none -> 0.5, weight 2" in queue(
        "set-lane", "default", "--limit", "none", "--rate", "0.5"
    )
    (lane,) = inspect.lanes()
    assert (lane.limit, lane.rate, lane.weight) == (None, 0.5, 2)
    assert "rate 0.5 -> none" in queue("set-lane", "default", "--rate", "none")


def test_errors_and_workers_are_listed(desk: Desk) -> None:
    assert queue("workers") == "There is no worker.\n"
    desk.broker.beat("default", "w1", {"state": "hung", "silent_since": desk.now(), "pools": "default"})
    assert "w1      hung   default" in queue("workers")
    assert queue("errors") == "No error is known.\n"
    failed(desk, "a")
    assert "boom" in queue("errors")
    assert queue_json("errors")[0]["failed"] == 1
    assert failing("quiet", "nobody") == (1, "There is no worker 'nobody'; `queue workers` lists them.")
