"""Jobs are handed in by aggregation: each gets its limit with its first job, and a worker runs the named handler."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import Permanent, Retry, RetryLater, TaskFailed, control, inspect, jobs
from queueops.errors import BadId, BadOption, IdInUse, UnknownOption
from queueops.errors.jobs import AggregationDrains, FingerprintDiffers
from queueops.jobs import Job, JobOptions
from queueops.model import warn_once
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.jobs.conftest import Register
from tests.kernel.desk import Desk
from tests.support.for_each import for_each


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


@pytest.fixture
def fresh_warnings() -> None:
    warn_once.forget()


def conf_of(desk: Desk, lane: str) -> dict[bytes, bytes]:
    """The stored settings of a lane."""
    return desk.client.hgetall(desk.keys.lane_conf(lane))


def test_a_worker_runs_the_handler_with_the_job_and_stores_its_result(handler: Register) -> None:
    seen: list[Job] = []
    handler(lambda job: seen.append(job) or {"size": 7})
    given: JobOptions = {"url": "https://a.example/1", "extra": "{}", "options": {"depth": 2}}
    pushed = jobs.submit(aggregation="shop", handler="work", **given)
    assert run_worker() == 1
    assert seen == [
        Job(id=pushed.id, aggregation="shop", url="https://a.example/1", extra="{}", options={"depth": 2}, attempt=1)
    ]
    assert pushed.result(timeout=1) == {"size": 7}


def test_an_async_handler_runs_too(handler: Register) -> None:
    async def work(job: Job) -> str:
        return job.aggregation

    handler(work)
    pushed = jobs.submit(aggregation="a b", handler="work")
    run_worker()
    assert pushed.result(timeout=1) == "a b"


def test_the_first_job_decides_limit_and_rate_of_its_aggregation(desk: Desk) -> None:
    jobs.submit(aggregation="shop", handler="work", limit=3, rate=50)
    jobs.submit(aggregation="shop", handler="work", limit=9, rate=1)
    assert conf_of(desk, "aggr:shop") == {b"title": b"shop", b"limit": b"3", b"rate": b"50", b"idle": b"172800000"}


def test_an_aggregation_has_a_limit_without_being_told(desk: Desk) -> None:
    jobs.submit(aggregation="é", handler="work")
    (lane,) = [row.lane for row in inspect.lanes()]
    assert conf_of(desk, lane) == {b"title": "é".encode(), b"limit": b"4", b"idle": b"172800000"}


def test_what_an_operator_or_the_settings_have_said_stays(desk: Desk, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": {"lanes": {"aggr:b*": {"limit": 7}}}}}
    control.set_lane("default", "aggr:a", limit=2, new=True)
    for aggregation in ("a", "b1"):
        jobs.submit(aggregation=aggregation, handler="work", limit=9)
    assert [conf_of(desk, f"aggr:{id}")[b"limit"] for id in ("a", "b1")] == [b"2", b"7"]
    control.set_lane("default", "aggr:a", limit=None)
    jobs.submit(aggregation="a", handler="work", limit=9)
    assert b"limit" not in conf_of(desk, "aggr:a")


def test_no_more_jobs_than_the_limit_are_claimed(desk: Desk) -> None:
    jobs.submit_many({"aggregation": f"a{n % 2}", "handler": "work", "limit": 2 + n % 2} for n in range(20))
    leases = desk.claim(20)
    assert sorted(lease.lane for lease in leases) == ["aggr:a0"] * 2 + ["aggr:a1"] * 3
    assert desk.claim(20) == []
    desk.settle(leases[0])
    assert [lease.lane for lease in desk.claim(20)] == [leases[0].lane]


def test_a_first_limit_counts_what_runs_in_the_lane_already(desk: Desk) -> None:
    desk.push("early", lane="aggr:shop")
    desk.lease()
    jobs.submit_many({"aggregation": "shop", "handler": "work", "limit": 2} for _ in range(3))
    assert len(desk.claim(9)) == 1
    desk.check()


def test_a_job_with_an_id_is_created_once_while_its_record_is_kept(handler: Register) -> None:
    handler(lambda job: "done")
    assert jobs.submit(aggregation="a", handler="work", id="order-7").word == "OK"
    assert jobs.submit(aggregation="a", handler="work", id="order-7").word == "EXISTS"
    assert run_worker() == 1
    again = jobs.submit(aggregation="a", handler="work", id="order-7")
    assert (again.word, run_worker(), again.result(timeout=1)) == ("EXISTS", 0, "done")
    control.delete(["order-7"])
    assert jobs.submit(aggregation="a", handler="work", id="order-7").word == "OK"


def work_of(aggregation: str, count: int) -> list[dict[str, Any]]:
    return [{"aggregation": aggregation, "handler": "work"} for _ in range(count)]


def test_a_thousand_jobs_are_created_all_or_none(desk: Desk) -> None:
    jobs.submit(aggregation="full", handler="work")
    control.drain_aggregation("full")
    with pytest.raises(AggregationDrains):
        jobs.submit_many(work_of("shop", 999) + work_of("full", 1))
    assert inspect.aggregation("shop") is None
    assert len({made.id for made in jobs.submit_many(work_of("shop", 1000))}) == 1000


def test_an_id_whose_record_cannot_be_read_refuses_all_jobs(desk: Desk) -> None:
    desk.client.hset(desk.keys.task("mine"), "other", "1")
    with pytest.raises(IdInUse):
        jobs.submit_many([*work_of("shop", 3), {"aggregation": "shop", "handler": "work", "id": "mine"}])
    assert inspect.aggregation("shop") is None


def test_a_key_of_a_wrong_type_refuses_all_jobs(desk: Desk) -> None:
    desk.client.set(desk.keys.task("mine"), "other")
    with pytest.raises(IdInUse):
        jobs.submit_many([*work_of("shop", 3), {"aggregation": "shop", "handler": "work", "id": "mine"}])
    assert inspect.aggregation("shop") is None


def test_an_id_that_is_given_twice_is_one_job(desk: Desk) -> None:
    made = jobs.submit_many([{"aggregation": "a", "handler": "work", "id": "mine"}] * 2)
    assert [each.id for each in made] == ["mine", "mine"]
    assert len(desk.claim(9)) == 1


def test_a_push_whose_answer_was_lost_creates_nothing_twice(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    call, lost = desk.broker.scripts.send, [True]

    def once_lost(script: str, *arguments: Any) -> Any:
        reply = call(script, *arguments)
        if script == "submit_jobs" and lost.pop():
            lost.append(False)
            raise ConnectionResetError
        return reply

    monkeypatch.setattr(desk.broker.scripts, "send", once_lost)
    handles = jobs.submit_many(
        [{"aggregation": "a", "handler": "work"}, {"aggregation": "a", "handler": "work", "id": "mine"}]
    )
    assert [handle.word for handle in handles] == ["REPEAT", "REPEAT"]
    assert len(desk.claim(9)) == 2


@pytest.mark.parametrize(
    ("raised", "state"),
    [(RetryLater(0), "succeeded"), (OSError("cut"), "restart"), (Permanent("no"), "failed")],
)
def test_a_handler_decides_about_its_attempts(handler: Register, raised: BaseException, state: str) -> None:
    def work(job: Job) -> int:
        if job.attempt == 1:
            raise raised
        return job.attempt

    handler(work)
    pushed = jobs.submit(aggregation="a", handler="work", retry=Retry(delay=3600))
    run_worker()
    assert pushed.state == state


def test_a_job_fails_after_as_many_retries_as_it_has(handler: Register) -> None:
    def work(job: Job) -> None:
        raise OSError("the disk is full")

    handler(work)
    pushed = jobs.submit(aggregation="a", handler="work", retries=2, retry=Retry(delay=0))
    assert run_worker() == 3
    with pytest.raises(TaskFailed, match="the disk is full"):
        pushed.result(timeout=1)


def test_the_kind_of_a_job_is_imported_when_a_worker_meets_one(desk: Desk) -> None:
    desk.push("x", kind="job", name="unknown")
    run_worker()
    assert "no task of this worker is named 'unknown' (kind 'job')" in desk.record("x").reason


@for_each(
    ("options", "error"),
    [
        ({"limit": 0}, BadOption),
        ({"limit": True}, BadOption),
        ({"rate": -1}, BadOption),
        ({"url": 7}, BadOption),
        ({"handler": "a b"}, BadId),
        ({"handler": None}, BadId),
        ({"options": 7}, BadOption),
        ({"id": "a b"}, BadId),
        ({"retries": -1}, BadOption),
        ({"lane": "x"}, UnknownOption),
        ({"aggregation": ""}, BadOption),
    ],
)
def test_a_wrong_option_is_refused_and_nothing_is_stored(
    desk: Desk, options: dict[str, Any], error: type[Exception]
) -> None:
    good = {"aggregation": "a", "handler": "work"}
    with pytest.raises(error) as refused:
        jobs.submit_many([good, good | options])
    assert "Job number 2 is wrong" in refused.value.__notes__[0]
    assert desk.client.keys(f"{desk.keys.prefix}*") == []


def test_jobs_are_pushed_in_batches_of_several_pools(desk: Desk) -> None:
    many = [{"aggregation": f"a{n % 7}", "handler": "work", "pool": f"p{n % 2}"} for n in range(1100)]
    handles = jobs.submit_many(many)
    assert [(handle.pool, handle.word) for handle in handles] == [(f"p{n % 2}", "OK") for n in range(1100)]


def test_what_is_stored_passes_every_check(desk: Desk) -> None:
    jobs.submit(aggregation="a", handler="work", delay=60, tags=["red"])
    jobs.submit(aggregation="a", handler="work")
    desk.check()
    assert inspect.fsck("default").faults == ()


def test_a_fingerprint_tells_two_jobs_of_one_id_apart(namespace: str) -> None:
    first = jobs.submit(aggregation="a", handler="work", id="order-7", fingerprint="one")
    assert jobs.submit(aggregation="a", handler="work", id="order-7", fingerprint="one").word == "EXISTS"
    assert jobs.submit(aggregation="a", handler="work", id="order-7").word == "EXISTS"
    many = [{"aggregation": "b", "handler": "work", "id": id, "fingerprint": "two"} for id in ("new", "order-7")]
    with pytest.raises(FingerprintDiffers, match="The id 'order-7' belongs to a job that was submitted with another"):
        jobs.submit_many(many)
    assert [row.id for row in inspect.jobs().rows] == [first.id]
    for wrong in ({"fingerprint": "x"}, {"id": "a", "fingerprint": "x" * 65}, {"id": "a", "fingerprint": 7}):
        with pytest.raises(BadOption, match="fingerprint"):
            jobs.submit(aggregation="a", handler="work", **wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("fresh_warnings")
def test_a_handler_that_the_process_does_not_know_is_warned_about_once(
    handler: Register, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        jobs.submit(aggregation="shop", handler="wrok")
    assert not caplog.records, "a process without handlers may hand in jobs for others"
    handler(lambda job: None)
    for _ in range(2):
        jobs.submit(aggregation="shop", handler="wrok")
    jobs.submit(aggregation="shop", handler="work")
    assert [record.getMessage() for record in caplog.records] == [
        "No @job_handler of this process has the name 'wrok', whose jobs wait until a worker has it;"
        " did you mean 'work'?"
    ]
