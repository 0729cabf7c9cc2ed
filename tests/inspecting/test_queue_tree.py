"""`manage.py queue tree`: where a chain, a group or an iterator stands, line by line."""

from __future__ import annotations

import pytest

from queueops.model.contracts import Outcome
from queueops.testing import run_worker
from tests.composites.trees import chain_of, group_of, plant
from tests.composites.work import Burst
from tests.inspecting.errors import stored
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db


def test_a_tree_is_indented_with_states_and_errors(desk: Desk) -> None:
    plant(desk, chain_of("c", "a", group_of("g", "x", "y", of="continue"), "b"))
    desk.settle(desk.lease())
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored(message="boom"))
    lines = queue("tree", "c").splitlines()
    assert lines[0] == "chain chain idle c (1 waiting, 1 idle, 1 succeeded)"
    assert lines[1].startswith("   1. tests.noop succeeded ")
    assert lines[2].startswith("   2. group idle g (1 pending, 1 failed)")
    assert lines[3].startswith("      1. tests.noop failed ")
    assert "boom" in lines[3]
    assert lines[5] == "   3. tests.noop waiting b"
    assert queue("tree", "g").splitlines()[0] == "in chain chain idle c"


def test_only_what_failed_is_shown_and_a_long_one_goes_on(desk: Desk) -> None:
    plant(desk, group_of("g", *(f"t{number:03d}" for number in range(120)), of="continue"))
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored())
    failed = queue("tree", "g", "--only", "failed").splitlines()
    assert len(failed) == 2
    assert " failed " in failed[1]
    whole = queue("tree", "g").splitlines()
    assert len(whole) == 52
    assert whole[-1] == "   ... 70 more; continue with --after 50"
    assert queue("tree", "g", "--after", "50").splitlines()[1] == "   ... 50 before"
    assert queue_json("tree", "g")["root"]["total"] == 120


def test_a_task_that_is_not_there_and_a_position_that_is_none_are_told(desk: Desk) -> None:
    assert failing("tree", "none") == (1, "There is no task 'none'.")
    desk.push("a")
    assert queue("tree", "a") == "tests.noop task pending a\n"
    assert failing("tree", "a", "--after", "x")[0] == 2


@pytest.mark.usefixtures("namespace")
def test_an_iterator_tells_what_has_ended_and_goes_on_to_the_earlier_ones() -> None:
    handle = Burst.push(70)
    run_worker()
    lines = queue("tree", handle.id).splitlines()
    assert lines[0].endswith("(0 under way, 69 succeeded, 1 failed)")
    assert len(lines) == 52
    assert lines[-1] == "   ... more; continue with --after e20"
    assert len(queue("tree", handle.id, "--after", "e20").splitlines()) == 21
    (failed,) = queue("tree", handle.id, "--only", "failed").splitlines()[1:]
    assert "ValueError: 13" in failed
