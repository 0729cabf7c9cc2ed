"""Destinations of callbacks vanish after their idle time, and come back with their limit when a job ends."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from queueops import control, inspect, jobs
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from tests.kernel.desk import NEVER_MS, Desk, end
from tests.kernel.test_fsck import checked

HOST, LANE = "shop.example", "to:shop.example"
IDLE_MS = 3_600_000


@pytest.fixture
def desk(namespace: str, settings: Any) -> Desk:
    set_idle(settings, IDLE_MS / 1000)
    return Desk(get_broker())


def set_idle(settings: Any, seconds: float) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"AGGREGATION_IDLE": seconds}}


def submit(host: str = HOST, **more: Any) -> TaskHandle[Any]:
    given = {"aggregation": "a", "handler": "work", "limit": 100, "callback_url": f"https://{host}/done"}
    return jobs.submit(**given | more)


def conf(desk: Desk, lane: str = LANE) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in desk.client.hgetall(desk.keys.lane_conf(lane)).items()}


def end_idle_time(desk: Desk, *lanes: str) -> None:
    """The lanes were not used for longer than their idle time."""
    for lane in lanes or (LANE,):
        desk.client.zadd(desk.keys.lanes, {lane: 1}, xx=True)
        desk.client.zadd(desk.keys.agenda, {f"~idle:{lane}": 1}, xx=True)
    desk.tick()


def end_job(desk: Desk) -> str:
    """Run the only ready job to its end; the id of its callback."""
    (lease,) = desk.claim()
    assert lease.kind == "job"
    desk.settle(lease, Outcome.SUCCESS)
    return inspect.task(lease.id).followed_by[0].id


def erase(desk: Desk, id: str) -> None:
    """The retention of an ended task is over."""
    desk.make_due(id)
    desk.tick()
    assert inspect.task(id) is None


def deliver(desk: Desk, keep: bool = False) -> None:
    """Deliver the only ready callback, and let its record end."""
    (lease,) = desk.claim()
    assert lease.kind == "callback"
    desk.settle(lease, Outcome.SUCCESS)
    if not keep:
        erase(desk, lease.id)


def test_a_destination_without_callbacks_vanishes_after_its_idle_time(desk: Desk) -> None:
    job = submit()
    end_job(desk)
    assert conf(desk)["limit"] == "8"
    end_idle_time(desk)
    assert conf(desk)["limit"] == "8", "its callback waits"
    deliver(desk, keep=True)
    end_idle_time(desk)
    assert conf(desk)["limit"] == "8", "a delivered callback is kept"
    assert desk.now() < desk.client.zscore(desk.keys.agenda, f"~idle:{LANE}") <= desk.now() + IDLE_MS
    erase(desk, inspect.task(job.id).followed_by[0].id)
    desk.client.zadd(desk.keys.lanes, {LANE: desk.now()})
    desk.client.zadd(desk.keys.agenda, {f"~idle:{LANE}": 1})
    desk.tick()
    assert conf(desk)["limit"] == "8", "it was used a moment ago"
    end_idle_time(desk)
    assert inspect.destination(HOST) is None
    assert leftovers(desk, HOST.encode()) == {desk.keys.task(job.id).encode()}, "the job knows where it calls back"
    desk.check()


def act_on_all_due(desk: Desk) -> None:
    while desk.tick():
        pass


def leftovers(desk: Desk, text: bytes) -> set[bytes]:
    """Keys of the pool that have a text in their name or in what they hold, but for figures that end by themselves."""
    found = set()
    for key in desk.client.keys(f"{desk.keys.prefix}*"):
        if desk.client.ttl(key) > 0:
            continue
        kind = desk.client.type(key)
        if kind == b"zset":
            held: Any = desk.client.zrange(key, 0, -1)
        elif kind == b"set":
            held = desk.client.smembers(key)
        elif kind == b"hash":
            held = [part for pair in desk.client.hgetall(key).items() for part in pair]
        else:
            held = desk.client.lrange(key, 0, -1) if kind == b"list" else [desk.client.get(key)]
        if any(text in part for part in (key, *held)):
            found.add(key)
    return found


def test_a_callback_to_a_destination_that_has_vanished_finds_its_limit_again(desk: Desk) -> None:
    submit()
    before = conf(desk)
    end_idle_time(desk)
    assert inspect.destination(HOST) is None
    end_job(desk)
    assert conf(desk) == before
    assert before["limit"] == "8"
    row = inspect.destination(HOST)
    assert (row.id, row.limit, row.ready) == (HOST, 8, 1)
    desk.check()
    deliver(desk)
    end_idle_time(desk)
    assert inspect.destination(HOST) is None, "it vanishes again"


def test_a_limit_that_comes_back_counts_what_runs_there(desk: Desk) -> None:
    for _ in range(10):
        submit()
    end_idle_time(desk)
    for lease in desk.claim(10):
        desk.settle(lease, Outcome.SUCCESS)
    assert len(desk.claim(10)) == 8
    desk.check()


@pytest.mark.parametrize("state", ["scheduled", "backing_off"])
def test_a_callback_that_comes_later_keeps_its_destination(desk: Desk, state: str) -> None:
    submit()
    id = end_job(desk)
    if state == "scheduled":
        control.postpone([id], seconds=3600)
    else:
        desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=NEVER_MS)
    end_idle_time(desk)
    assert conf(desk)["limit"] == "8"


@pytest.mark.parametrize("state", ["postponed", "restart", "failed", "cancelled"])
def test_counters_that_are_too_low_let_no_callback_wait_without_a_limit(desk: Desk, state: str) -> None:
    submit()
    id = end_job(desk)
    if state == "postponed":
        control.postpone([id], seconds=3600)
    elif state == "cancelled":
        control.cancel([id])
    else:
        delay_ms = -1 if state == "failed" else NEVER_MS
        desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=delay_ms, fingerprint="f", title="E")
    assert inspect.task(id).state == state
    desk.client.delete(desk.keys.counts)
    end_idle_time(desk)
    assert conf(desk) == {}
    if state == "cancelled":
        control.retry([id])
    elif state == "failed":
        control.redeliver_callbacks([id])
    else:
        desk.make_due(id)
        desk.tick()
    assert inspect.task(id).state == "pending"
    assert conf(desk)["limit"] == "8"


@pytest.mark.parametrize("verb", ["retry", "reinstate"])
def test_a_callback_from_the_trash_brings_its_destination_back(desk: Desk, verb: str) -> None:
    submit()
    id = end_job(desk)
    control.cancel([id])
    control.delete([id])
    end_idle_time(desk)
    assert inspect.destination(HOST) is None
    control.restore([id])
    getattr(control, verb)([id])
    assert inspect.destination(HOST).limit == 8
    desk.check()


CHANGES: dict[str, Any] = {
    "limit": lambda: control.set_lane("default", LANE, limit=3),
    "no limit": lambda: control.set_lane("default", LANE, limit=None),
    "rate": lambda: control.set_lane("default", LANE, rate=2.5),
    "weight": lambda: control.set_lane("default", LANE, weight=4),
    "pause": lambda: control.pause_lane("default", LANE),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_an_operator_has_changed_stays(desk: Desk, change: str) -> None:
    submit()
    CHANGES[change]()
    before = conf(desk)
    end_idle_time(desk)
    assert conf(desk) == before
    control.set_lane("default", LANE, limit=8, rate=None, weight=1)
    control.resume_lane("default", LANE)
    end_idle_time(desk)
    assert conf(desk) == {}, "the usual settings are of no use"


def test_what_an_operator_has_set_before_the_first_callback_stays(desk: Desk) -> None:
    control.set_lane("default", LANE, limit=2, new=True)
    submit()
    end_idle_time(desk)
    assert conf(desk)["limit"] == "2"


POOLS: dict[str, dict[str, Any]] = {
    "a pattern": {"lanes": {"to:*": {"limit": 2, "rate": 50.0}}},
    "its name": {"lanes": {LANE: {"limit": 2, "rate": 50.0}}},
    "a weight alone": {"lanes": {"to:*": {"weight": 7}}},
}


@pytest.mark.parametrize("said_by", POOLS)
def test_limits_of_the_settings_come_back_with_a_destination(desk: Desk, settings: Any, said_by: str) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": POOLS[said_by]}}
    desk = Desk(get_broker())
    desk.broker.declare_lanes("default")
    submit()
    before = conf(desk)
    wanted = {"weight": "7", "limit": "8"} if said_by == "a weight alone" else {"limit": "2", "rate": "50.0"}
    assert wanted.items() <= before.items()
    end_idle_time(desk)
    assert conf(desk) == {}
    end_job(desk)
    assert conf(desk) == before


def test_a_new_limit_of_the_settings_is_no_change_by_an_operator(desk: Desk, settings: Any) -> None:
    for limit in (2, 5):
        settings.QUEUEOPS = settings.QUEUEOPS | {"POOLS": {"default": {"lanes": {"to:*": {"limit": limit}}}}}
        desk = Desk(get_broker())
        submit()
        assert conf(desk)["limit"] == str(limit)
    end_idle_time(desk)
    assert conf(desk) == {}


def test_a_host_whose_lane_is_a_digest_comes_back_by_its_name(desk: Desk) -> None:
    host = "[2606:4700::1111]:8443"
    submit(host)
    row = inspect.destination(host)
    assert row.lane.startswith("to:=")
    end_idle_time(desk, row.lane)
    assert inspect.destination(host) is None
    end_job(desk)
    assert (inspect.destination(host).id, inspect.destination(host).limit) == (host, 8)


@pytest.mark.parametrize("lane", [LANE, "aggr:a"])
def test_a_check_finds_a_lane_whose_idle_time_would_never_end(desk: Desk, lane: str) -> None:
    submit()
    assert checked(desk) == set()
    desk.client.zrem(desk.keys.agenda, f"~idle:{lane}")
    found = {f"~lane:{lane}: it vanishes when it is idle, and is not on the agenda"}
    assert checked(desk) == found
    assert checked(desk, repair=True) == found
    assert checked(desk) == set()
    assert desk.now() < desk.client.zscore(desk.keys.agenda, f"~idle:{lane}") <= desk.now() + IDLE_MS
    desk.check()


def test_a_check_finds_an_idle_time_that_is_not_a_number(desk: Desk) -> None:
    submit()
    desk.client.hset(desk.keys.lane_conf(LANE), "idle", "soon")
    found = {f"~lane:{LANE}: its idle time is not a number"}
    assert checked(desk) == found
    checked(desk, repair=True)
    assert "idle" not in conf(desk)
    checked(desk, repair=True)
    assert checked(desk) == set()


@pytest.mark.parametrize("host", ["93.184.215.14", "[2606:4700::1111]:8443"])
def test_a_redirected_callback_takes_its_new_destination_with_it(desk: Desk, host: str) -> None:
    submit()
    id = end_job(desk)
    (row,) = control.redirect_callbacks([id], f"https://{host}/done")
    assert row.word == "OK"
    new = inspect.destination(host)
    assert (new.limit, new.ready) == (8, 1)
    control.cancel([id])
    control.delete([id])
    end_idle_time(desk, new.lane, LANE)
    assert inspect.destinations().rows == ()
    control.restore([id])
    control.retry([id])
    (row,) = inspect.destinations().rows
    assert (row.id, row.limit, row.ready) == (host, 8, 1)
    desk.check()


def test_no_follow_up_meets_a_destination_that_is_vanishing(namespace: str, settings: Any) -> None:
    set_idle(settings, 0.001)
    desk, over = Desk(get_broker()), threading.Event()

    def end_idle_times() -> None:
        while not over.is_set():
            end_idle_time(Desk(desk.broker))

    thread = threading.Thread(target=end_idle_times)
    vanished, keys = 0, desk.keys
    jobs_ready = [submit() for _ in range(150)]
    thread.start()
    try:
        for _ in jobs_ready:
            id = end_job(desk)
            for _ in range(3):
                assert desk.client.hget(keys.lane_conf(LANE), "limit") == b"8", "a callback waits without the limit"
            control.cancel([id])
            control.delete([id])
            vanished += not conf(desk)
    finally:
        over.set()
        thread.join()
    assert vanished


def test_ten_thousand_hosts_leave_nothing_behind(desk: Desk) -> None:
    number = 10_000
    hosts = [f"host-{each}.example" for each in range(number)]
    given = {"aggregation": "a", "handler": "work", "limit": 1000, "keep": 0.001}
    jobs.submit_many(given | {"callback_url": f"https://{host}/done"} for host in hosts)
    lanes = [f"to:{host}" for host in hosts]
    desk.client.zadd(desk.keys.lanes, dict.fromkeys(lanes, 1))
    desk.client.zadd(desk.keys.agenda, {f"~idle:{lane}": 1 for lane in lanes})
    act_on_all_due(desk)
    assert inspect.destinations().rows == (), "the jobs have not ended"
    settled = 0
    while leases := desk.claim(500):
        settled += len(leases)
        desk.exchange(settle=[end(lease) for lease in leases])
        for lease in leases:
            if lease.kind == "callback":
                desk.client.zadd(desk.keys.agenda, {lease.id: 1}, xx=True)
    assert settled == 2 * number
    act_on_all_due(desk)
    desk.client.zadd(desk.keys.lanes, dict.fromkeys(lanes, 1), xx=True)
    desk.client.zadd(desk.keys.agenda, {f"~idle:{lane}": 1 for lane in lanes}, xx=True)
    act_on_all_due(desk)
    assert not leftovers(desk, b".example")
    desk.check()
