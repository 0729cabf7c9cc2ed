"""The status of a task and its progress, as producers read them."""

from __future__ import annotations

import datetime as dt
import json

from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.results.handle import Progress, TaskStatus
from queueops.testing import run_worker
from tests.support import tasks_for_tests as tasks


def test_the_status_has_the_arguments_as_they_are_stored(namespace):
    when = dt.date(2026, 1, 2)
    status = tasks.mail.using(lane="bulk").push(42, template="to " + str(when)).status()
    assert (status.args, status.kwargs, status.lane, status.kind) == (
        [42],
        {"template": "to 2026-01-02"},
        "bulk",
        "task",
    )
    assert tasks.come_again.push().status().args == []


def test_a_status_whose_arguments_cannot_be_read_still_tells_the_rest(namespace):
    handle = tasks.add.push(1)
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "a", b"{")
    assert (handle.status().args, handle.status().kwargs, handle.status().state) == (None, None, State.PENDING)


def test_the_status_of_a_failed_task_has_its_error_and_traceback_unredacted(namespace):
    handle = tasks.fail.using(retries=0).push("password=hunter2")
    assert (handle.status().error, handle.status().error_type, handle.status().traceback) == ("", "", "")
    run_worker()
    status = handle.status()
    assert (status.error, status.error_type) == ("password=hunter2", "ValueError")
    assert "raise ValueError(text)" in status.traceback
    assert "password=hunter2" in status.traceback


def test_a_status_and_a_progress_are_json_as_dicts(namespace):
    handle = tasks.count_to.using(tags=["a"]).push(4)
    run_worker()
    found = handle.status().as_dict()
    assert json.loads(json.dumps(found)) == found
    assert found.keys() == {*TaskStatus.__struct_fields__, "is_over"}
    assert (found["id"], found["state"], found["tags"], found["is_over"]) == (handle.id, "succeeded", ["a"], True)
    assert (found["args"], found["progress"]) == ([4], {"done": 4.0, "total": None, "share": None})
    assert Progress(1, 4).as_dict() == {"done": 1, "total": 4, "share": 0.25}
