"""Two versions of the code at once: a run is left to a live worker that has the code of its last step."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator

import pytest

from queueops import inspect, wf
from queueops.kinds.workflows import code_version, steps
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.steps import kept_runs
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.workflows.test_blocked import behaviour, calls_other_first, changes, fields, flaky, waits_then_flaky

pytestmark = pytest.mark.usefixtures("namespace")
Run = WorkflowHandle[str]
EARLIER, LATER = "aaaaaaaaaaaa", "bbbbbbbbbbbb"


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    behaviour.clear()
    kept_runs.clear()


@pytest.fixture
def deploy(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], Awaitable[str]]], None]:
    """Let the worker of this process have a version of the code."""

    def become(version: str, code: Callable[[], Awaitable[str]]) -> None:
        kept_runs.clear()
        behaviour["code"] = code
        monkeypatch.setattr(steps, "code_version", lambda: version)

    return become


Deploy = Callable[[str, Callable[[], Awaitable[str]]], None]


def beat(version: str, state: str = "live", **fields: str) -> None:
    """A heartbeat of another worker, with its version of the code."""
    facts = f'{{"{code_version.FACT}":"{version}"}}'
    get_broker().beat("default", "other-worker", {"state": state, "lanes": "", "kinds": "", "facts": facts, **fields})


def begun(deploy: Deploy) -> Run:
    """A run whose first step was made by the earlier code, and which has an event for the later code, which differs."""
    deploy(EARLIER, waits_then_flaky)
    run = changes.start()
    run_worker()
    deploy(LATER, calls_other_first)
    run.signal("go")
    return run


def test_a_run_is_left_to_a_live_worker_with_its_code(deploy: Deploy, caplog: pytest.LogCaptureFixture) -> None:
    run = begun(deploy)
    beat(EARLIER)
    with caplog.at_level(logging.WARNING, "queueops.worker"):
        run_worker()
    assert "is blocked, or left to a worker with its code: The code of the workflow" in caplog.text
    assert (run.state, "vb" in fields(run)) == (State.POSTPONED, False)
    assert inspect.blocked_run_count() == 0
    assert [alarm for alarm in inspect.snapshot().alarms if "blocked" in alarm.text] == []
    assert any("is left to a worker with the code of its last step" in finding.text for finding in inspect.why(run.id))
    deploy(EARLIER, waits_then_flaky)
    run.run_now()
    run_worker()
    assert run.result(timeout=0) == "fine"
    assert "y" not in fields(run)


def test_the_log_of_a_run_that_is_left_tells_it_once(deploy: Deploy) -> None:
    run = begun(deploy)
    beat(EARLIER)
    for _ in range(3):
        run_worker()
        run.run_now()
    told = [line for line in get_broker().log("default", run.id) if b"made by other code" in line]
    assert len(told) == 1


@pytest.mark.parametrize(
    "others",
    [
        {"version": LATER},
        {"version": EARLIER, "state": "stopping"},
        {"version": EARLIER, "kinds": "activity"},
        {"version": EARLIER, "kinds": "!workflow"},
        {"version": EARLIER, "lanes": "bulk*"},
        {},
    ],
)
def test_a_run_is_blocked_without_such_a_worker(deploy: Deploy, others: dict[str, str]) -> None:
    run = begun(deploy)
    if others:
        beat(**others)
    run_worker()
    assert (run.state, "vb" in fields(run)) == (State.POSTPONED, True)
    assert "Done now: call number 1 wf.other" in fields(run)["y"]


@pytest.mark.parametrize(("silent_ms", "blocked"), [(12_000, False), (30_000, True)])
def test_a_worker_that_was_not_heard_of_for_20_s_is_not_alive(deploy: Deploy, silent_ms: int, blocked: bool) -> None:
    run = begun(deploy)
    beat(EARLIER)
    broker = get_broker()
    heard = inspect.now_ms() - silent_ms
    broker.ask("default", lambda client: client.zadd(broker.keys("default").workers, {"other-worker": heard}))
    run_worker()
    assert ("vb" in fields(run)) is blocked


@pytest.mark.parametrize("kinds", ["workflow", "task,workflow", "!activity"])
def test_a_worker_of_chosen_kinds_may_have_the_code(deploy: Deploy, kinds: str) -> None:
    run = begun(deploy)
    beat(EARLIER, kinds=kinds)
    run_worker()
    assert "vb" not in fields(run)


def test_a_worker_that_waits_gets_the_run_at_once(deploy: Deploy) -> None:
    run = begun(deploy)
    beat(EARLIER)
    broker = get_broker()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    idle = broker.keys("default").idle
    broker.ask_one("default", lambda client: client.zadd(idle, {"other-worker": 9e12}))
    step = b'{"blocked":"it differs","unfit":true,"code":"%s"}' % LATER.encode()
    broker.exchange(
        "default", "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.SUCCESS, step)], want=1)
    )
    assert (run.state, fields(run)["w"]) == (State.LOCKED, "other-worker")


def test_a_difference_from_its_own_code_blocks_a_run(deploy: Deploy) -> None:
    run = begun(deploy)
    deploy(EARLIER, calls_other_first)
    beat(EARLIER)
    run_worker()
    assert "vb" in fields(run)


def test_other_reasons_block_a_run(deploy: Deploy) -> None:
    async def touches_the_database() -> str:
        from django.contrib.auth import get_user_model

        return str(get_user_model().objects.count())

    deploy(EARLIER, waits_then_flaky)
    run = changes.start()
    run_worker()
    deploy(LATER, touches_the_database)
    run.signal("go")
    beat(EARLIER)
    run_worker()
    assert "vb" in fields(run)


def test_a_suspended_run_that_is_left_stays_suspended(deploy: Deploy) -> None:
    run = begun(deploy)
    beat(EARLIER)
    broker = get_broker()
    run_worker()
    run.suspend()
    deploy(EARLIER, waits_then_flaky)
    broker.ask_one("default", lambda client: client.zadd(broker.keys("default").agenda, {run.id: 1}))
    run_worker()
    assert run.state == State.IDLE
    run.resume()
    run_worker()
    assert run.result(timeout=0) == "fine"


# A question of the later code that changes no command at first


async def asks_at_first() -> str:
    is_new = wf.patched("twice")
    await wf.signal("go")
    first = await wf.call(flaky)
    return first + await wf.call(flaky) if is_new else first


def test_earlier_code_leaves_a_run_that_goes_by_a_change(deploy: Deploy) -> None:
    deploy(LATER, asks_at_first)
    run = changes.start()
    run_worker()
    deploy(EARLIER, waits_then_flaky)
    beat(LATER)
    run.signal("go")
    run_worker()
    assert (run.state, "vb" in fields(run), len(run.history())) == (State.POSTPONED, False, 2)
    deploy(LATER, asks_at_first)
    run.run_now()
    run_worker()
    assert run.result(timeout=0) == "finefine"


def test_earlier_code_goes_on_when_the_later_code_was_taken_back(deploy: Deploy) -> None:
    deploy(LATER, asks_at_first)
    run = changes.start()
    run_worker()
    deploy(EARLIER, waits_then_flaky)
    run.signal("go")
    run_worker()
    assert run.result(timeout=0) == "fine"


def test_a_run_with_the_code_of_both_goes_on_in_either(deploy: Deploy) -> None:
    deploy(EARLIER, waits_then_flaky)
    run = changes.start()
    run_worker()
    deploy(LATER, asks_at_first)
    beat(EARLIER)
    run.signal("go")
    run_worker()
    assert run.result(timeout=0) == "fine"


def code_of(run: Run) -> bytes | None:
    """The version of the code of the last step of a run, as it is stored."""
    broker = get_broker()
    key = broker.keys("default").task(run.id)
    found: bytes | None = broker.ask_one("default", lambda client: client.hget(key, "vh"))
    return found


def test_a_reset_keeps_the_code_of_the_history_and_a_new_beginning_does_not(deploy: Deploy) -> None:
    deploy(EARLIER, waits_then_flaky)
    run = changes.start()
    run_worker()
    other = run.reset(1)
    assert [code_of(run), code_of(other)] == [EARLIER.encode()] * 2
    other.signal("go")
    run_worker()
    other.retry(everything=True)
    assert code_of(other) is None


def test_a_worker_tells_the_version_of_its_workflows() -> None:
    found = code_version.code_version()
    assert len(found) == 12
    assert code_version.facts(()) == {"workflow code": found}
