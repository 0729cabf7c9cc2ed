"""Aggregations are listed with their figures, page by page, and changed by an operator."""

from __future__ import annotations

import html
import threading
from typing import Any

import pytest
from django.test import Client

from queueops import control, inspect, jobs
from queueops.errors import FilterError, UnknownLane
from queueops.errors.job_network import AddressRefused
from queueops.errors.jobs import AggregationDrains, AggregationInUse
from queueops.kinds.jobs.store import JobCalls
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker, get_role
from tests.console.conftest import client_of, collected, viewer  # noqa: F401  fixtures
from tests.jobs.conftest import Register
from tests.kernel.desk import NEVER_MS, Desk


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def test_an_aggregation_shows_its_limits_and_its_jobs_by_state(desk: Desk) -> None:
    given = {"aggregation": "a b", "handler": "work", "limit": 3, "rate": 100}
    jobs.submit_many([given | {"delay": 3600}, *[given] * 6])
    first, second, _third = desk.claim(9)
    desk.settle(first, Outcome.ERROR, b"{}", delay_ms=-1)
    desk.settle(second, Outcome.ERROR, b"{}", delay_ms=NEVER_MS)
    row = inspect.aggregation("a b")
    assert row == inspect.aggregations().rows[0]
    assert (row.pool, row.id, row.limit, row.rate, row.paused) == ("default", "a b", 3, 100, False)
    assert (row.ready, row.delayed, row.in_flight, row.failed) == (3, 2, 1, 1)
    assert row.oldest_ms <= inspect.now_ms()


def test_aggregations_behind_many_other_lanes_are_listed(desk: Desk) -> None:
    jobs.submit_many({"aggregation": f"a{number}", "handler": "work"} for number in range(3))
    now = inspect.now_ms()
    for start in range(1, 25_000, 5_000):
        desk.client.zadd(desk.keys.lanes, {f"x{number}": now + number for number in range(start, start + 5_000)})
    jobs.submit(aggregation="a3", handler="work")
    desk.client.zadd(desk.keys.lanes, {"aggr:a3": now + 30_000})
    first = inspect.aggregations(limit=2)
    assert [row.id for row in first.rows] == ["a3"]
    rest = inspect.aggregations(after=first.next, limit=2)
    last = inspect.aggregations(after=rest.next, limit=2)
    assert sorted(row.id for row in (*rest.rows, *last.rows)) == ["a0", "a1", "a2"]
    assert last.next == ""
    desk.client.zadd(desk.keys.lanes, {f"x{number}": now + 9 for number in range(1, 25_001)})  # all at one time
    assert sorted(row.id for row in inspect.aggregations().rows + inspect.aggregations(
        after=inspect.aggregations().next).rows) == ["a0", "a1", "a2", "a3"]  # fmt: skip


def test_other_lanes_are_no_aggregations(desk: Desk) -> None:
    desk.push("x", lane="other")
    assert inspect.aggregations().rows == ()
    assert inspect.aggregation("other") is None


def test_pages_follow_each_other_over_all_pools_without_a_gap(desk: Desk) -> None:
    jobs.submit_many({"aggregation": f"a{n}", "handler": "work", "pool": f"p{n % 3}"} for n in range(40))
    after, seen = "", []
    while True:
        page = inspect.aggregations(after=after, limit=7)
        seen += [row.id for row in page.rows]
        if not (after := page.next):
            break
    assert sorted(seen) == sorted(f"a{n}" for n in range(40))
    assert len(inspect.aggregations("p1").rows) == 13
    assert len(inspect.aggregations("p1", limit=1).rows) == 1


def test_a_place_of_another_list_is_refused(desk: Desk) -> None:
    jobs.submit_many({"aggregation": f"a{n}", "handler": "work"} for n in range(3))
    with pytest.raises(FilterError):
        inspect.destinations(after=inspect.aggregations(limit=1).next)


def test_an_operator_changes_pauses_and_resumes_an_aggregation(desk: Desk) -> None:
    jobs.submit(aggregation="a b", handler="work", limit=2)
    assert control.set_aggregation("a b", limit=5, rate=None) == {"limit": "2"}
    control.pause_aggregation("a b")
    assert desk.claim() == []
    assert inspect.aggregation("a b").paused
    control.resume_aggregation("a b")
    assert len(desk.claim()) == 1
    assert inspect.aggregation("a b").limit == 5
    with pytest.raises(UnknownLane):
        control.set_aggregation("unknown", limit=1)
    with pytest.raises(UnknownLane, match=r"; known are: default$"):  # no digests: nothing reads them as names
        control.pause_lane("default", "zzz")


def idle(settings: Any, seconds: float) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"AGGREGATION_IDLE": seconds}}


def test_an_aggregation_without_jobs_vanishes_after_its_idle_time(desk: Desk, settings: Any) -> None:
    idle(settings, 3600)
    job = jobs.submit(aggregation="a", handler="work", keep=86_400)
    others = [jobs.submit(aggregation=name, handler="work", delay=999) for name in ("drained", "later", "paused")]
    control.pause_aggregation("paused")
    control.drain_aggregation("drained")
    (lease,) = desk.claim()
    desk.settle(lease, Outcome.SUCCESS)
    client, keys = get_broker().client, get_broker().keys("default")

    def come_to_its_end() -> list[str]:
        lanes = [f"aggr:{name}" for name in ("a", "drained", "later", "paused")]
        client.zadd(keys.lanes, dict.fromkeys(lanes, 1), xx=True)
        client.zadd(keys.agenda, dict.fromkeys([f"~idle:{lane}" for lane in lanes], 1))
        desk.tick()
        desk.check()
        return sorted(row.id for row in inspect.aggregations().rows)

    assert come_to_its_end() == ["a", "drained", "later", "paused"], "an ended job is kept"
    assert inspect.now_ms() < client.zscore(keys.agenda, "~idle:aggr:a") <= inspect.now_ms() + 3_600_000
    control.delete([job.id])
    assert come_to_its_end() == ["drained", "later", "paused"]
    control.cancel([each.id for each in others])
    control.delete([each.id for each in others])
    assert come_to_its_end() == ["drained", "paused"], "an operator has told them what to do"
    assert not [key for key in client.keys(f"{keys.prefix}*") if b"aggr:a" in key]
    jobs.submit(aggregation="a", handler="work", limit=7)
    assert inspect.aggregation("a").limit == 7, "it begins anew"


def test_no_push_meets_an_aggregation_that_is_vanishing(namespace: str, settings: Any) -> None:
    idle(settings, 0.001)
    over, broker = threading.Event(), get_broker()
    client, keys = broker.client, broker.keys("default")

    def end_idle_times() -> None:
        while not over.is_set():
            client.zadd(keys.lanes, {"aggr:a": 1}, xx=True)
            client.zadd(keys.agenda, {"~idle:aggr:a": 1})
            Desk(broker).tick()

    thread = threading.Thread(target=end_idle_times)
    thread.start()
    try:
        vanished = 0
        for _ in range(150):
            job = jobs.submit(aggregation="a", handler="work", limit=3)
            assert inspect.aggregation("a").limit == 3, "a job is in a lane without its limit"
            control.cancel([job.id])
            control.delete([job.id])
            vanished += inspect.aggregation("a") is None
    finally:
        over.set()
        thread.join()
    assert vanished


def forget_counts() -> None:
    """The display counters are lost, as after a failover or an edit by hand."""
    get_broker().client.delete(get_broker().keys("default").counts)


@pytest.mark.parametrize("state", ["pending", "postponed", "locked", "restart", "failed", "succeeded"])
def test_counters_that_are_too_low_delete_no_limit(desk: Desk, settings: Any, state: str) -> None:
    idle(settings, 3600)
    delay = {"delay": 999} if state == "postponed" else {}
    job = jobs.submit(aggregation="a", handler="work", limit=7, keep=86_400, **delay)
    if state not in ("pending", "postponed"):
        (lease,) = desk.claim()
        if state == "succeeded":
            desk.settle(lease, Outcome.SUCCESS)
        elif state != "locked":
            delay_ms = -1 if state == "failed" else NEVER_MS
            desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=delay_ms, fingerprint="f", title="E")
    assert inspect.task(job.id).state == state
    forget_counts()
    with pytest.raises(AggregationInUse):
        control.delete_aggregation("a")
    client, keys = get_broker().client, get_broker().keys("default")
    client.zadd(keys.lanes, {"aggr:a": 1}, xx=True)
    client.zadd(keys.agenda, {"~idle:aggr:a": 1})
    desk.tick()
    assert client.hget(keys.lane_conf("aggr:a"), "limit") == b"7"


def test_a_job_counts_in_its_lane_alone_and_while_it_has_a_record(desk: Desk) -> None:
    client, keys = get_broker().client, get_broker().keys("default")
    index = f"{keys.lane('aggr:a')}#jobs"
    kept, moved, lost = (jobs.submit(aggregation="a", handler="work", delay=999).id for _ in range(3))
    assert client.scard(index) == 3
    control.cancel([kept])
    control.delete([kept])
    assert client.scard(index) == 2
    control.restore([kept])
    assert client.scard(index) == 3
    control.delete([kept])
    control.move([moved], "other")
    client.delete(keys.task(lost))
    desk.tick()
    forget_counts()
    assert control.delete_aggregation("a"), "a record that is lost or was moved keeps no aggregation"
    assert client.exists(index) == 0


def test_no_job_loses_its_limit_while_counters_are_lost(namespace: str, settings: Any) -> None:
    idle(settings, 0.001)
    over, broker = threading.Event(), get_broker()
    client, keys = broker.client, broker.keys("default")

    def end_idle_times() -> None:
        while not over.is_set():
            client.delete(keys.counts)
            client.zadd(keys.lanes, {"aggr:a": 1}, xx=True)
            client.zadd(keys.agenda, {"~idle:aggr:a": 1})
            Desk(broker).tick()

    thread = threading.Thread(target=end_idle_times)
    thread.start()
    try:
        vanished = 0
        for number in range(100):
            delay = {"delay": 999} if number % 2 else {}
            job = jobs.submit(aggregation="a", handler="work", limit=3, **delay)
            for _ in range(3):
                assert client.hget(keys.lane_conf("aggr:a"), "limit") == b"3", "a job is in a lane without its limit"
            control.cancel([job.id])
            control.delete([job.id])
            vanished += inspect.aggregation("a") is None
    finally:
        over.set()
        thread.join()
    assert vanished


def test_a_drained_aggregation_takes_no_jobs_and_runs_those_that_it_has(desk: Desk) -> None:
    jobs.submit(aggregation="a b", handler="work")
    assert control.drain_aggregation("a b")
    assert inspect.aggregation("a b").draining
    given = {"handler": "work"}
    with pytest.raises(AggregationDrains, match="a b takes no jobs"):
        jobs.submit_many([given | {"aggregation": "other"}, given | {"aggregation": "a b"}])
    assert inspect.aggregation("other") is None
    assert len(desk.claim(9)) == 1
    assert control.accept_jobs("a b")
    jobs.submit(aggregation="a b", handler="work")
    assert not control.drain_aggregation("unknown")


def test_an_aggregation_is_deleted_only_when_it_is_empty(desk: Desk) -> None:
    job = jobs.submit(aggregation="a", handler="work")
    with pytest.raises(AggregationInUse, match="1 jobs are kept there"):
        control.delete_aggregation("a")
    control.cancel([job.id])
    control.delete([job.id])
    assert control.delete_aggregation("a")
    assert not control.delete_aggregation("a")
    assert inspect.aggregation("a") is None
    desk.check()


def test_the_first_job_decides_also_that_there_is_no_proxy(namespace: str) -> None:
    lane = "aggr:a"
    given = {"aggregation": "a", "url": "http://93.184.215.14/"}
    assert get_role(JobCalls).proxy("default", "aggr:none") is None
    jobs.submit(**given)
    jobs.submit(**given, options={"proxy": "http://93.184.215.15:3128"})
    assert get_role(JobCalls).proxy("default", lane) == ""
    assert inspect.aggregation("a").proxy == ""
    control.set_proxy("a", "http://93.184.215.16:3128")
    assert get_role(JobCalls).proxy("default", lane) == "http://93.184.215.16:3128"


def test_the_proxy_of_the_first_job_is_that_of_the_aggregation_until_it_is_changed(namespace: str) -> None:
    given = {"aggregation": "a", "url": "https://93.184.215.14/a"}
    jobs.submit(**given, options={"proxy": "http://ann:secret@93.184.215.14:3128"})
    jobs.submit(**given, options={"proxy": "http://93.184.215.15:3128"})
    assert inspect.aggregation("a").proxy == "http://***@93.184.215.14:3128"
    assert control.set_proxy("a", "http://93.184.215.16:3128")
    assert inspect.aggregation("a").proxy == "http://93.184.215.16:3128"
    with pytest.raises(AddressRefused):
        control.set_proxy("a", "ftp://93.184.215.16")
    lane = inspect.aggregation("a").lane
    assert get_role(JobCalls).proxy("default", lane) == "http://93.184.215.16:3128"
    assert control.set_proxy("a", "")
    assert get_role(JobCalls).proxy("default", lane) == ""


def test_a_lane_whose_name_is_a_digest_is_listed_by_its_aggregation(handler: Register) -> None:
    handler(lambda job: None)
    jobs.submit(aggregation="Trödel & Söhne", handler="work")
    jobs.submit(aggregation="books", handler="work")
    assert {"aggr:Trödel & Söhne", "aggr:books"} <= {row.label for row in inspect.lanes()}


def test_more_than_ten_thousand_aggregations_are_all_listed(desk: Desk) -> None:
    ids = [f"a{number}" for number in range(10_100)]
    jobs.submit_many({"aggregation": id, "handler": "work"} for id in ids)
    desk.tick()
    after, seen = "", []
    while True:
        page = inspect.aggregations(after=after, limit=200)
        seen += [row.id for row in page.rows]
        if not (after := page.next):
            break
    assert sorted(seen) == sorted(ids)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("show=destination", "there is no list 'destination' of lanes; did you mean 'destinations'?"),
        ("after=unknown", "The filter is not valid"),
    ],
)
def test_a_wrong_filter_of_the_page_is_said(namespace: str, viewer: Client, wrong: str, said: str) -> None:  # noqa: F811
    answer = viewer.get(f"/ops/aggregations/?{wrong}")
    assert (answer.status_code, said in html.unescape(answer.content.decode())) == (400, True)
