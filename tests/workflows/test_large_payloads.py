"""Large payloads are kept apart: history and inbox stay small, the code gets them, and they go with their run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import activity, control, inspect, wf, workflow
from queueops.kinds.workflows.code_check.replay_check import replays
from queueops.kinds.workflows.store import WorkflowCalls, payloads
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.workflows.test_other_pools import work

pytestmark = pytest.mark.usefixtures("memory")

LARGE = 100_000
HUGE = 1_000_000


@activity(name="large.make", retries=0)
def make(size: int) -> str:
    """A result of this size."""
    return "r" * size


@workflow(name="large.takes")
async def takes(size: int, count: int = 1) -> list[int]:
    """Takes large results, a large effect and a large signal."""
    found = [len(each) for each in await asyncio.gather(*(wf.call(make, size) for _ in range(count)))]
    found.append(len(wf.side_effect(lambda: "e" * size)))
    found.append(len(await wf.signal("much")))
    return found


@workflow(name="large.tells")
async def tells(instance: str, size: int) -> bool:
    """Sends a large signal, and one to itself."""
    assert await wf.send_signal(wf.info().instance, "own", "o" * size)
    assert len(await wf.signal("own")) == size
    return await wf.send_signal(instance, "much", "s" * size)


@workflow(name="large.hears", pool="far")
async def hears() -> str:
    """The first letters of two large signals."""
    return f"{(await wf.signal('much'))[0]}{(await wf.signal('much'))[0]}"


def letter() -> str:
    """Another letter in each round."""
    letters[0] = chr(ord(letters[0]) + 1)
    return letters[0]


letters = ["`"]


@workflow(name="large.fails_once")
async def fails_once(pool: str) -> bool:
    """Sends a large signal, and fails in the same step the first time."""
    first = letter()
    sent = asyncio.ensure_future(wf.send_signal("hears", "much", first * LARGE, pool=pool))
    await asyncio.sleep(0)
    if first == "a":
        raise ValueError("the first round")
    return await sent


@workflow(name="large.again")
async def again(left: int) -> list[int]:
    """Continues as new with signals that it has not read."""
    await wf.signal("first")
    if left:
        wf.continue_as_new(left - 1)
    return [len(await wf.signal("much")) for _ in range(2)]


def stored(run: Any, part: str) -> list[bytes]:
    """The entries of a list of a run."""
    key = f"{get_broker().keys(run.pool).task(run.id)}#{part}"
    return list(get_broker().client.lrange(key, 0, -1))


def kept(run: Any) -> dict[bytes, bytes]:
    """The payloads of a run that are kept apart."""
    return dict(get_broker().client.hgetall(f"{get_broker().keys(run.pool).task(run.id)}#payloads"))


def longest(run: Any) -> int:
    """The bytes of the longest entry of a run."""
    return max(map(len, [*stored(run, "history"), *stored(run, "inbox")]))


def test_results_effects_and_signals_are_kept_apart_and_go_with_their_run() -> None:
    run = takes.start(LARGE)
    run_worker()
    run.signal("much", "s" * LARGE)
    assert longest(run) < 1_000
    run_worker()
    assert run.result(timeout=0) == [LARGE, LARGE, LARGE]
    assert longest(run) < 1_000
    assert {len(payload) for payload in kept(run).values()} == {LARGE + 2}
    assert len(kept(run)) == 3
    values = [entry.value for entry in run.history() if entry.kind in ("done", "side", "signal")]
    assert sorted({str(value)[0] for value in values}) == ["e", "r", "s"]
    view = inspect.workflow_run(run.id)
    assert view is not None
    assert "100,002 bytes, which are kept apart" in [line.text for line in view.lines]
    assert [replay.reason for replay in replays(ended=True)] == [""]
    control.delete([run.id])
    assert kept(run) == {}


def test_a_small_payload_stays_in_its_entry() -> None:
    run = takes.start(payloads.INLINE - 2)
    run_worker()
    assert kept(run) == {}
    assert longest(run) > payloads.INLINE


def test_one_step_takes_a_bounded_number_of_bytes_of_a_full_inbox() -> None:
    run = takes.start(HUGE, 10)
    run_worker(until_idle=False)
    run.suspend()
    run_worker()
    assert len(stored(run, "inbox")) == 10
    run.resume()
    run_worker()
    steps: list[int] = []
    for entry in run.history():
        if entry.kind == "step":
            steps.append(0)
        steps[-1] += entry.kind == "done"
    assert [count for count in steps if count] == [3, 3, 3, 1]
    run.signal("much", "s" * HUGE)
    run_worker()
    assert run.state is State.SUCCEEDED


def test_a_large_signal_of_another_run_and_of_the_run_itself() -> None:
    other = takes.using(id="takes").start(LARGE)
    run_worker()
    run = tells.start("takes", LARGE)
    run_worker()
    assert run.result(timeout=0) is True
    assert other.result(timeout=0) == [LARGE] * 3
    assert max(longest(run), longest(other)) < 1_000


def test_signals_that_no_code_has_read_go_to_the_next_run() -> None:
    run = again.start(1)
    run.signal("much", "s" * LARGE)  # read by the loop, not by the code
    run.signal("first")
    run_worker(until_idle=False)
    run.signal("first")
    run.signal("much", "s" * HUGE)
    run_worker()
    assert run.result(timeout=0) == [LARGE, HUGE]


def test_a_run_that_is_reset_has_the_payloads() -> None:
    run = takes.start(LARGE)
    run_worker()
    run.signal("much", "s" * LARGE)
    entry = next(number for number, each in enumerate(run.history(), 1) if each.kind == "side")
    run_worker()
    new = run.reset(entry)
    run_worker()
    assert new.result(timeout=0) == [LARGE] * 3


def test_a_run_whose_payload_is_lost_is_blocked_with_that_reason() -> None:
    run = takes.start(LARGE)
    run_worker()
    run.signal("much", "s" * LARGE)
    get_broker().client.delete(f"{get_broker().keys('default').task(run.id)}#payloads")
    run_worker()
    row = get_role(WorkflowCalls).run_row("default", run.id)
    assert row is not None
    assert "is gone from the store" in row.fields["y"]


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("pool", ["default", "far"])
def test_a_signal_that_is_sent_again_leaves_the_payload_of_the_one_before(pool: str, everything: bool) -> None:
    letters[0] = "`"
    heard = hears.using(id="hears", pool=pool).start()
    run_worker(pools=[pool])
    run = fails_once.start("" if pool == "default" else pool)
    work()
    assert run.state is State.FAILED
    assert len(kept(heard)) == 1
    run.retry(everything=everything)
    work()
    assert run.result(timeout=0) is True
    assert heard.result(timeout=0) == "ab"
    assert [replay.reason for replay in replays(["large.hears"], ended=True)] == [""]
