from __future__ import annotations

import re
from typing import Any

import pytest

from queueops import inspect
from queueops.inspect import Finding
from queueops.model.contracts import Outcome, Push
from queueops.redis.broker import get_broker
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, plant
from tests.inspecting.errors import stored
from tests.inspecting.test_queue_command import queue
from tests.kernel.desk import Desk
from tests.kernel.test_attempts import make_older
from tests.support.chunkwork import ChunkWork


@pytest.fixture
def worker(desk: Desk) -> None:
    beat(desk)


def beat(desk: Desk, name: str = "w1", **fields: Any) -> None:
    """A worker says that it is alive."""
    told = {"host": "h1", "slots": 2, "busy": 0, "names": "add,mul", "state": "running"}
    desk.broker.beat("default", name, told | fields)


def first_bad(id: str) -> Finding:
    """The reason: the first check that was not well."""
    return next(finding for finding in inspect.why(id) if not finding.ok)


def tens(text: str) -> str:
    """The text with its seconds rounded to tens: time passes while a test runs."""
    return re.sub(r"\d+(?= s\b)", lambda seconds: str(round(int(seconds[0]) / 10) * 10), text)


@pytest.mark.usefixtures("worker")
def test_a_task_that_is_next_has_nothing_against_it(desk: Desk) -> None:
    desk.push("t", name="add")
    findings = inspect.why("t")
    assert all(finding.ok for finding in findings)
    assert findings[-1].text == "The task is the next one of its lane."


@pytest.mark.usefixtures("worker")
def test_a_paused_lane_comes_first_and_can_be_resumed(desk: Desk) -> None:
    desk.push("t", name="add", lane="side")
    desk.broker.lane("default", "side", paused=1)
    reason = first_bad("t")
    assert (reason.text, reason.verb, reason.target) == ("Its lane side is paused.", "resume_lane", "default/side")


@pytest.mark.usefixtures("worker")
def test_a_full_lane_says_who_holds_its_slots(desk: Desk) -> None:
    desk.push("first", "t", name="add", lane="side")
    desk.broker.lane("default", "side", limit=1)
    desk.lease()
    reason = first_bad("t")
    assert reason.text == (
        "All slots of its lane are taken by first. An operator has set this, not the settings."
        " `manage.py queue set-lane side --pool default --limit none` takes it back."
    )
    assert (reason.value, reason.verb) == ("1 of 1", "set_lane")


@pytest.mark.usefixtures("worker")
def test_a_rate_that_is_used_up_says_when_it_is_free_again(desk: Desk) -> None:
    desk.broker.lane("default", "side", rate=0.005)
    desk.push("first", "t", name="add", lane="side")
    assert [finding.value for finding in inspect.why("t") if "rate limit" in finding.text] == ["0.005/s"]
    desk.lease()
    reason = first_bad("t")
    assert reason.text.startswith("The rate limit of its lane, 0.005/s, is used up: free again in ")
    assert reason.value.endswith("Z")
    assert (reason.verb, reason.target) == ("set_lane", "default/side")
    (row,) = inspect.lanes()
    assert (row.rate, row.spent) == (0.005, True)


def test_nobody_serves_the_pool(desk: Desk) -> None:
    desk.push("t", name="add")
    assert first_bad("t").text == "No live worker serves the pool default; start `manage.py runworker --pool default`."
    beat(desk, state="quiet")
    assert first_bad("t").text == "All live workers of its pool are quiet or ending, and claim no tasks."


def test_nobody_knows_the_name(desk: Desk) -> None:
    desk.push("t", name="new_task")
    beat(desk)
    advice = "No live worker knows the task new_task. Deploy its code, and import it in a tasks.py."
    project = " Another project on this store needs a NAMESPACE of its own."
    renamed = ' A renamed function keeps its name by @task(name="new_task").'
    assert first_bad("t").text == f"{advice}{renamed}{project}"
    desk.push("u", name="new_task", kind="job")
    assert first_bad("u").text == f"{advice}{project}"
    beat(desk, names=",".join(f"n{number}" for number in range(200)))  # it may know more than it tells
    assert not any("knows the task" in finding.text for finding in inspect.why("t"))


UNKNOWN = (
    "Other tasks of its lane come first; "
    "the time of its start is unknown, because no such task has run within half an hour."
)


def test_busy_workers_and_a_place_in_the_lane(desk: Desk) -> None:
    desk.push("a", "b", "t", name="add")
    beat(desk, busy=2)
    texts = [(finding.ok, finding.text, finding.value) for finding in inspect.why("t")]
    assert (False, "All slots of the workers are busy.", "2 of 2 busy") in texts
    assert texts[-1] == (False, UNKNOWN, "3 of 3")
    desk.exchange(metrics={"ok|add": 1, "ms|add": 10_000})
    assert tens(inspect.why("t")[-1].text) == "Other tasks of its lane come first; it starts in about 10 s."


@pytest.mark.usefixtures("worker")
def test_a_postponed_task_says_when_and_can_be_run_now(desk: Desk) -> None:
    desk.push("t", name="add", delay_ms=50_000)
    reason = first_bad("t")
    assert (tens(reason.text), reason.verb) == ("The task is postponed: due in 50 s.", "run_now")


@pytest.mark.usefixtures("worker")
def test_a_task_that_backs_off_says_which_attempt_and_why(desk: Desk) -> None:
    desk.push("t", name="add", retries=2)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=50_000, **stored(message="no such user"))
    reason = first_bad("t")
    told = "The task waits for its next attempt: attempt 1 of 3 failed; the next one starts in 50 s."
    assert tens(reason.text) == told
    assert reason.value == "ValueError: no such user"


def test_a_due_task_that_nobody_promotes(desk: Desk) -> None:
    desk.push("t", name="add", delay_ms=60_000)
    desk.client.zadd(desk.keys.agenda, {"t": desk.now() - 30_000})
    assert tens(first_bad("t").text) == "The task was due 30 s ago: no worker and no watchdog acts on the agenda."


def test_a_running_task_says_who_holds_it_and_how_long(desk: Desk) -> None:
    desk.push("t", name="add")
    desk.lease()
    assert first_bad("t").text == "Its worker is not in the registry. The task is recovered when the lease ends."
    beat(desk)
    findings = inspect.why("t")
    assert all(finding.ok for finding in findings)
    assert findings[1].value == "h1 w1"
    desk.client.zadd(desk.keys.workers, {"w1": desk.now() - 20_000})
    assert tens(first_bad("t").text) == "Its worker has sent no heartbeat for 20 s."
    desk.client.zadd(desk.keys.agenda, {"t": desk.now() - 10_000})
    told = "Its lease ended 10 s ago; no watchdog has run yet"
    assert any(told in tens(finding.text) for finding in inspect.why("t"))


@pytest.mark.parametrize(
    ("state", "what_comes"),
    [
        ("silent", "Its supervisor renews the lease. After HUNG_AFTER the process is killed."),
        ("hung", "The process is hung and is about to be killed."),
    ],
)
def test_a_running_task_says_that_its_process_gives_no_sign_of_life(desk: Desk, state: str, what_comes: str) -> None:
    desk.push("t", "next", name="add")
    desk.lease()
    beat(desk, state=state, silent_since=desk.now() - 40_000)
    reason = first_bad("t")
    assert tens(reason.text) == (
        "Its worker process has been silent for 40 s: a task in it holds the interpreter,"
        f" or the process is stopped. {what_comes}"
    )
    assert (reason.verb, reason.target, reason.place) == ("interrupt", "t", "workers")
    told = "No live worker of its pool claims tasks: each is silent, quiet or ending."
    assert first_bad("next").text == told
    (row,) = inspect.workers()
    assert row.state == state
    assert row.silent_since_ms is not None
    assert row.silent_since_ms < desk.now() - 39_000


def test_a_task_that_is_asked_to_stop(desk: Desk) -> None:
    desk.push("t", name="add")
    desk.lease()
    beat(desk)
    desk.control("cancel", "t", value="too slow")
    reason = first_bad("t")
    assert reason.value == "too slow"
    assert reason.text.startswith("The task was asked to stop, and still runs. A function that is not async must check")


def test_the_ends(desk: Desk) -> None:
    desk.push("good", "bad", "stopped", name="add")
    for lease in desk.claim(2):
        if lease.id == "good":
            desk.settle(lease)
        else:
            desk.settle(lease, Outcome.ERROR, delay_ms=-1, **stored(message="boom"))
    desk.control("cancel", "stopped", value="not needed")
    good, bad, stopped = (inspect.why(id)[0] for id in ("good", "bad", "stopped"))
    assert good.ok
    assert good.text.startswith("The task succeeded after ")
    assert (bad.text, bad.value) == (
        "The task failed: its last allowed attempt failed (attempt 1 of 1).",
        "ValueError: boom",
    )
    assert (stopped.text, stopped.value) == ("The task was cancelled.", "not needed")
    assert inspect.why("good")[1].text == "The task will be deleted in 24 h."


def failed_over_chunk() -> None:
    work = ChunkWork(get_broker(), oc="0")
    work.map(list(range(5)))
    claimed = work.claim(3)
    work.done(claimed[:2])
    work.fail(claimed[2:])


def test_a_failed_map_reduce_says_what_a_retry_keeps_and_what_it_runs(desk: Desk) -> None:
    failed_over_chunk()
    reason, keeps = inspect.why("count")[:2]
    assert (reason.text, reason.verb) == ("The task failed: chunk 2 failed.", "retry")
    assert keeps.text == "A retry runs the chunks that are not done (1 failed, 2 pending), then the reduce."
    assert keeps.value == "2 of 5 chunks are done"


def test_a_map_reduce_whose_reduce_failed_says_that_a_retry_reduces_again(desk: Desk) -> None:
    work = ChunkWork(get_broker())
    work.map([1, 2])
    work.done(work.claim(2))
    (lease,) = work.exchange(want=1).leases
    desk.settle(lease, Outcome.ERROR, delay_ms=-1, **stored(message="boom"))
    assert inspect.why("count")[1].text == "A retry runs the reduce again, with the results of the chunks."


def test_a_quarantined_task_says_why(desk: Desk) -> None:
    desk.push("t", name="add")
    desk.settle(desk.lease(), Outcome.QUARANTINE, value=b"arguments can't be read")
    reason = first_bad("t")
    assert (reason.value, reason.verb) == ("arguments can't be read", "requeue")


def test_a_task_quarantined_for_its_unknown_name_needs_a_deploy_first(desk: Desk) -> None:
    desk.push("t", name="add")
    desk.settle(desk.lease(), Outcome.UNKNOWN, b"no task of this worker is named 'add' (kind task)", delay_ms=100)
    make_older(desk, "t", 40 * 86_400_000)
    desk.make_due("t")
    desk.settle(desk.lease(), Outcome.UNKNOWN, b"no task of this worker is named 'add' (kind task)", delay_ms=100)
    reason = first_bad("t")
    assert "Deploy code with this name to the workers first, then requeue it." in reason.text
    assert "To requeue it without that quarantines it again." in reason.text
    assert reason.verb == "requeue"
    assert "mend it: manage.py queue requeue t" in queue("why", "t")


def test_a_task_that_is_gone_and_one_in_the_trash(desk: Desk) -> None:
    desk.push("t")
    desk.settle(desk.lease())
    desk.control("delete", "t")
    assert (first_bad("t").verb, first_bad("t").target) == ("restore", "t")
    assert first_bad("nobody").text.startswith("No task has this id")


def test_indexes_that_disagree_are_the_first_thing_said(desk: Desk) -> None:
    desk.push("t", name="add")
    desk.client.zadd(desk.keys.state("failed"), {"t": 1})
    desk.client.zrem(desk.keys.lane("default"), "t")
    texts = [finding.text for finding in inspect.why("t") if not finding.ok]
    assert texts[:2] == [
        "The state indexes do not match the record. Run `manage.py queue fsck`.",
        "The task is ready, but no lane holds it. Run `manage.py queue fsck`.",
    ]


@pytest.mark.parametrize("state", ["waiting", "idle", "aggregating", "mapping", "reducing", "nonsense"])
def test_every_state_has_an_answer(desk: Desk, state: str) -> None:
    desk.broker.push([Push(id="t", name="add", parent_id="p")])
    desk.client.hset(desk.keys.task("t"), "s", state)
    assert inspect.why("t")


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_part_that_has_ended_is_mended_by_a_retry_of_what_it_is_part_of(desk: Desk, state: str) -> None:
    plant(desk, chain_of("c", "a"))
    if state == "failed":
        desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    else:
        desk.told("cancel", "c")
    for task_id in ("a", "c"):
        assert (first_bad(task_id).verb, first_bad(task_id).target) == ("retry", "c")


def test_so_is_one_in_another_pool(desk: Desk) -> None:
    pools = Pools(desk.broker, "north")
    pools.plant(chain_of("c", "a"), a="north")
    pools.deliver()
    pools.settle(pools.lease("north"), Outcome.ERROR, b"{}", delay_ms=-1)
    pools.deliver()
    assert (first_bad("a").verb, first_bad("a").target) == ("retry", "c")
    task = inspect.task("a")
    assert task is not None
    assert (task.retried_by, "retry" in task.allowed) == ("c", False)
