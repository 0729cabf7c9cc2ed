"""A worker with kinds takes tasks of these kinds only, and leaves the others in their places."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from queueops import inspect
from queueops.management.arguments import kind_of_record
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from queueops.worker.loop.matching_lanes import MatchingLanes
from tests.kernel.desk import Desk
from tests.support.for_each import for_each

KINDS = ("task", "django_task", "task", "iterator")


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A desk with tasks of several kinds in one lane."""
    desk = Desk(get_broker())
    for number, kind in enumerate(KINDS):
        desk.push(f"{kind}-{number}", kind=kind)
    return desk


def claim(desk: Desk, *kinds: str, want: int = 10, **more: object) -> list[str]:
    trip = RoundTrip(want=want, kinds=kinds, **more)  # type: ignore[arg-type]
    return [lease.id for lease in desk.broker.exchange("default", "w1", trip).leases]


def test_tasks_of_other_kinds_stay_in_their_places(desk: Desk) -> None:
    assert claim(desk, "django_task") == ["django_task-1"]
    assert claim(desk, "django_task") == []
    assert claim(desk, "!task") == ["iterator-3"]
    assert claim(desk) == ["task-0", "task-2"]
    desk.check()


@pytest.mark.parametrize(
    ("kinds", "taken"),
    [
        (["task"], ["task-0", "task-2"]),
        (["task", "iterator"], ["task-0", "task-2", "iterator-3"]),
        (["!iterator"], ["task-0", "django_task-1", "task-2"]),
        (["!task", "!iterator"], ["django_task-1"]),
        (["task", "!task"], []),
        (["mapreduce"], []),
    ],
)
def test_kinds_are_taken_or_left(desk: Desk, kinds: list[str], taken: list[str]) -> None:
    assert claim(desk, *kinds) == taken
    desk.check()


def test_lanes_and_kinds_hold_together(desk: Desk) -> None:
    desk.push("mail-task", lane="mail")
    desk.push("mail-iterator", lane="mail", kind="iterator")
    assert claim(desk, "iterator", lanes=("mail",)) == ["mail-iterator"]
    assert claim(desk, "!iterator", lanes=("m*", "other")) == ["mail-task"]


def test_a_want_is_filled_in_order(desk: Desk) -> None:
    assert claim(desk, "task", want=1) == ["task-0"]
    assert claim(desk, "task", want=1) == ["task-2"]


def test_a_settlement_leases_it_no_task_of_another_kind(desk: Desk) -> None:
    trip = RoundTrip(want=1, kinds=("task",))
    for expected in ("task-2", None):
        (lease,) = desk.broker.exchange("default", "w1", trip).leases
        end = Settlement(id=lease.id, fence=lease.fence, outcome=Outcome.SUCCESS, value=b"1")
        reply = desk.broker.exchange("default", "w1", RoundTrip(want=1, settle=[end], kinds=("task",)))
        assert [each.id for each in reply.leases] == ([expected] if expected else [])
        if expected:
            back = Settlement(id=expected, fence=reply.leases[0].fence, outcome=Outcome.RELEASE, value=b"")
            desk.broker.exchange("default", "w1", RoundTrip(settle=[back]))
    assert claim(desk) == ["django_task-1", "iterator-3"]
    desk.check()


def test_tasks_behind_many_of_another_kind_are_found_as_far_as_one_call_looks(desk: Desk) -> None:
    desk.push(*(f"t{number}" for number in range(1500)))
    desk.push("late", kind="iterator")
    assert claim(desk, "iterator") == ["iterator-3", "late"]
    desk.push(*(f"u{number}" for number in range(1500)))
    desk.push("later", kind="iterator")
    assert claim(desk, "iterator") == []  # 3,002 tasks stand before it
    assert len(claim(desk, "task", want=1000)) == 1000
    assert len(claim(desk, "task", want=1000)) == 1000
    assert claim(desk, "iterator") == ["later"]
    desk.check()


def test_each_of_many_lanes_is_looked_at(desk: Desk) -> None:
    for number in range(30):
        desk.push(*(f"l{number}.{each}" for each in range(40)), lane=f"lane-{number}")
    desk.push("behind", kind="mapreduce", lane="lane-29")
    assert claim(desk, "mapreduce") == ["behind"]


def test_a_worker_with_nothing_of_its_kinds_looks_again_soon_and_is_given_no_wake_up_token(desk: Desk) -> None:
    reply = desk.broker.exchange("default", "w1", RoundTrip(want=1, idle=True, kinds=("mapreduce",)))
    assert not reply.ready  # else it would ask again at once
    assert 0 < reply.sleep_ms <= 50
    assert desk.broker.client.zscore(desk.broker.keys("default").idle, "w1") is None


@pytest.mark.parametrize("served", [{"kinds": ("mapreduce",)}, {"lanes": ("mine",)}], ids=["kinds", "lanes"])
def test_a_worker_that_passes_ready_lanes_is_known_to_be_alive(desk: Desk, served: dict[str, tuple[str, ...]]) -> None:
    desk.broker.beat("default", "w1", {"host": "h"})
    workers = desk.broker.keys("default").workers
    desk.broker.client.zadd(workers, {"w1": 1})
    before = desk.now()
    trip = RoundTrip(want=1, idle=True, **served)  # type: ignore[arg-type]
    assert desk.broker.exchange("default", "w1", trip).leases == []
    assert desk.broker.client.zscore(workers, "w1") >= before


def test_why_says_that_no_worker_takes_the_kind(desk: Desk) -> None:
    desk.broker.beat("default", "w1", {"slots": 4, "state": "live", "kinds": "django_task"})
    desk.broker.beat("default", "w2", {"slots": 4, "state": "live", "kinds": "!task"})
    told = [finding.text for finding in inspect.why("task-0")]
    assert "No live worker takes tasks of the kind task: each was started with other --kinds." in told
    assert not any("--kinds" in finding.text for finding in inspect.why("iterator-3"))


def test_such_a_worker_remembers_lanes_too() -> None:
    lanes = MatchingLanes((), ("task",))
    assert list(lanes.met(10.0)) == []
    assert lanes.kinds == ("task",)


@for_each("text", ["workflow", "!workflow", "activity", "task", "mapreduce"])
def test_a_kind_is_named_as_in_the_store(text: str) -> None:
    assert kind_of_record(text) == text


@for_each("text", ["", "workflows", "!", "chain", "a b"])
def test_a_kind_that_no_worker_runs_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a kind that workers run: activity,"):
        kind_of_record(text)
