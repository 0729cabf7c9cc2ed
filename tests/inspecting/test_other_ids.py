"""Ids of other things than tasks: each verb says what has this id, and which command shows it."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from queueops import Schedule, inspect, jobs, schedules
from queueops.model.alerts import Incident
from queueops.model.contracts import Outcome
from queueops.testing import run_worker
from tests.inspecting.errors import stored
from tests.inspecting.test_queue_command import failing, queue
from tests.inspecting.test_why import beat
from tests.kernel.desk import Desk
from tests.support.tasks_for_tests import add
from tests.workflows.test_runs import approval

pytestmark = pytest.mark.django_db


@pytest.fixture
def known(desk: Desk) -> Desk:
    """A store that has one of each, beside the task `a`."""
    beat(desk, "web1:4711:0:cafe", host="web1")
    desk.push("a", name="shop.pay", lane="bulk", tags=("vip",))
    (lease,) = desk.claim(1)
    desk.settle(lease, Outcome.ERROR, delay_ms=-1, **stored("f1f1", "boom"))
    jobs.submit(url="http://8.8.8.8/a", aggregation="shop-1")
    jobs.submit(url="http://8.8.8.8/b", aggregation="Kiosk & Co")
    schedules.create(add, Schedule("0 3 * * *", args=[1, 2]), id="nightly")
    return desk


@pytest.mark.parametrize(
    ("id", "what", "command"),
    [
        ("f1f1", "the fingerprint of an error", "list --error f1f1"),
        ("nightly", "a schedule", "schedule nightly"),
        ("shop-1", "an aggregation of the pool default", "list --pool default --lane aggr:shop-1"),
        ("bulk", "a lane of the pool default", "list --pool default --lane bulk"),
        ("vip", "a tag", "list --tag vip"),
        ("default", "a pool", "pool default"),
        ("shop.pay", "the name of tasks", "name shop.pay"),
        ("web1:4711:0:cafe", "a worker", "history --worker web1:4711:0:cafe"),
    ],
)
def test_show_names_the_command_for_an_id_of_another_kind(known: Desk, id: str, what: str, command: str) -> None:
    status, text = failing("show", id)
    assert status == 1
    assert text.startswith(f"There is no task '{id}'.")
    assert f"It is {what}: manage.py queue {command}" in text
    assert queue(*command.split()) is not None


def test_an_aggregation_whose_lane_has_a_digest_is_named_too(known: Desk) -> None:
    assert (
        "an aggregation of the pool default: manage.py queue list --pool default --lane aggr:="
        in failing("show", "Kiosk & Co")[1]
    )


def test_a_part_of_an_id_means_nothing_else(known: Desk) -> None:
    assert failing("show", "night") == (1, "There is no task 'night'.")
    assert failing("show", "shop") == (1, "There is no task 'shop'.")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("schedule", "a"), "There is no schedule 'a'."),
        (("run", "a"), "There is no run or instance 'a'."),
        (("name", "a"), "No task is named 'a'"),
        (("pool", "a"), "There is no pool 'a'"),
        (("quiet", "a"), "There is no worker 'a'"),
        (("stacks", "a"), "There is no worker 'a'"),
        (("show", "a", "--pool", "far"), "There is no task 'a' in the pool 'far'."),
    ],
)
def test_other_verbs_name_the_command_for_a_task(known: Desk, words: tuple[str, ...], status: str) -> None:
    Desk(known.broker, "far").push("b")
    text = failing(*words)[1]
    assert text.startswith(status)
    assert text.endswith(" It is a task of the pool default: manage.py queue show a")


def test_an_alarm_and_an_alert_about_one_are_shown_by_status(known: Desk) -> None:
    alert = Incident(rule="urgent", key="silent w1", level="danger", text="It is silent.", begun_ms=1, seen_ms=1)
    known.broker.take_alert_turn("test", 60_000)
    assert known.broker.keep_alerts("test", 60_000, {alert.id: alert})
    alarm = inspect.snapshot().alarms[0].key
    for id in (alarm, alert.id, alert.message_id, alert.key):
        assert failing("show", id)[1] == f"There is no task {id!r}. It is an alarm: manage.py queue status"


@pytest.mark.usefixtures("namespace")
def test_the_instance_of_a_workflow_is_shown_by_run() -> None:
    run = approval.using(id="order/7").start(60.0)
    run_worker()
    told = "It is an instance of a workflow: manage.py queue run order/7"
    for verb in (("show",), ("tree",), ("edit", "--args", "[]"), ("chunks",), ("mend", "retry"), ("restart", "map")):
        assert failing(verb[0], "order/7", *verb[1:])[1] == f"There is no task 'order/7'. {told}"
    assert run.id in queue("run", "order/7")
    assert f"manage.py queue run {run.id}" in queue("show", run.id)


@pytest.mark.parametrize("words", [("why", "nightly"), ("retry", "nightly"), ("cancel", "nightly")])
def test_why_and_actions_name_the_command_after_their_answer(
    known: Desk, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("queue", *words, stdout=out)
    assert "It is a schedule: manage.py queue schedule nightly" in out.getvalue()
