"""Handle of a run: it acts on that run and on what it went on as, never on another run of the instance."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from queueops import control, wf, workflow
from queueops.errors.workflows import RunEnded
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.testing import WorkflowEnvironment, run_worker


@workflow(name="handles.waits")
async def waits(rounds: int = 0) -> Any:
    """Waits for a signal; continues as new so often."""
    found = await wf.signal("go")
    if rounds:
        wf.continue_as_new(rounds - 1)
    return found


class Stored:
    """Runs of a worker."""

    def start(self, rounds: int = 0) -> WorkflowHandle[Any]:
        """Start the instance."""
        run = waits.using(id="one").start(rounds)
        run_worker()
        return run

    def settle(self) -> None:
        """Let all go on."""
        run_worker()


class Environment(Stored):
    """Runs in memory."""

    def __init__(self) -> None:
        self.env = WorkflowEnvironment()

    def start(self, rounds: int = 0) -> Any:
        """Start the instance."""
        run = self.env.start(waits.using(id="one"), rounds)
        self.settle()
        return run

    def settle(self) -> None:
        """Let all go on."""
        self.env.advance(1)


@pytest.fixture(params=[Stored, Environment])
def place(request: pytest.FixtureRequest, namespace: str) -> Stored:
    """Each test runs with a worker, and in the test environment."""
    made: Stored = request.param()
    return made


ACTS: dict[str, Callable[[Any], Any]] = {
    "cancel": lambda run: run.cancel("old"),
    "cancel hard": lambda run: run.cancel("old", hard=True),
    "terminate": lambda run: run.terminate("old"),
    "suspend": lambda run: run.suspend("old"),
    "resume": lambda run: run.resume(),
    "run_now": lambda run: run.run_now(),
}


def ended_and_open(place: Stored) -> tuple[Any, Any]:
    """Two runs of one instance."""
    old = place.start()
    old.signal("go", "old")
    place.settle()
    return old, place.start()


@pytest.mark.parametrize("verb", ACTS)
def test_a_handle_of_an_ended_run_leaves_the_newer_run_alone(place: Stored, verb: str) -> None:
    old, new = ended_and_open(place)
    assert ACTS[verb](old) is False
    new.signal("go", "new")
    place.settle()
    assert (old.result(timeout=0), new.result(timeout=0)) == ("old", "new")


def test_a_handle_of_an_ended_run_sends_no_signal_to_the_newer_run(place: Stored) -> None:
    old, new = ended_and_open(place)
    with pytest.raises(RunEnded):
        old.signal("go", "wrong")
    assert len(new.history()) < len(old.history())
    assert old.history()[-1].kind == "end"


def test_a_retry_and_a_reset_mean_the_run_of_the_handle(place: Stored) -> None:
    old, new = ended_and_open(place)
    new.signal("go", "new")
    place.settle()
    before = new.history()
    again = old.reset(1)
    place.settle()
    assert again.result(timeout=0) == old.result(timeout=0) == "old"
    assert new.history() == before


def test_a_handle_acts_on_what_its_run_continued_as(place: Stored) -> None:
    run = place.start(2)
    run.signal("go")
    place.settle()
    run.signal("go")
    place.settle()
    assert run.suspend("for a while") is True
    assert run.resume() is True
    run.signal("go", "last")
    place.settle()
    assert run.result(timeout=0) == "last"
    assert run.terminate() is False


def test_a_handle_reaches_its_run_when_the_first_ones_of_the_chain_are_deleted(namespace: str) -> None:
    run = waits.using(id="one").start(2)
    for _ in range(2):
        run_worker()
        run.signal("go")
    run_worker()
    control.delete([run.id])
    assert run.status() is None
    run.signal("go", "last")
    run_worker()
    assert waits.handle("one").result(timeout=0) == "last"


def test_the_handle_of_an_instance_means_its_newest_run_also_later(namespace: str) -> None:
    place = Stored()
    place.start()
    handle = pickle.loads(pickle.dumps(waits.handle("one")))
    handle.signal("go", "old")
    run_worker()
    new = place.start()
    assert handle.cancel("enough") is True
    run_worker()
    assert new.state == "cancelled"


def test_the_handle_of_an_instance_tells_state_and_result_of_its_newest_run(namespace: str) -> None:
    place = Stored()
    old = place.start()
    handle = waits.handle("one")
    old.signal("go", "old")
    run_worker()
    assert (handle.state, handle.result(timeout=0)) == ("succeeded", "old")
    new = place.start()
    status = handle.status()
    assert status
    assert (status.id, handle.state, old.state) == (new.id, new.state, "succeeded")
    new.signal("go", "new")
    run_worker()
    assert (handle.result(timeout=0), asyncio.run(handle.aresult(timeout=0))) == ("new", "new")
    waits.using(id="one", delay=60).start()
    assert (handle.postpone(120), old.postpone(120)) == (True, False)


def test_a_stored_handle_of_a_start_still_means_its_run(namespace: str) -> None:
    old, new = ended_and_open(Stored())
    assert pickle.loads(pickle.dumps(old)).cancel() is False
    assert new.cancel() is True
