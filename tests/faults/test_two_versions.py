"""Two versions of the code at once: a guarded change goes on everywhere, another blocks where the code differs."""

from __future__ import annotations

from collections import Counter

import pytest

from queueops import control, inspect
from queueops.kinds.workflows.handle import WorkflowHandle
from tests.faults import two_versions
from tests.faults.conftest import Bench
from tests.faults.processes import Worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

Run = WorkflowHandle[list[str]]
PLAIN, CHECKED, CHANGED = (["plain", "on", "end"], ["checked", "on", "end"], ["changed", "on", "end"])


def version(bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str) -> Worker:
    """A worker whose code is of this version."""
    monkeypatch.setenv(two_versions.VERSION, name)
    return bench.worker()


def wait_for_signals(bench: Bench, runs: list[Run]) -> None:
    """Each run waits for its signal."""

    def waits(run: Run) -> bool:
        row = bench.broker.run_row("default", run.id)
        return row is not None and row.fields["s"] == "idle" and "signal go" in row.fields.get("vw", "")

    wait_until(lambda: all(waits(run) for run in runs), 60, bench.say)


def was_blocked(bench: Bench, run: Run) -> bool:
    """Whether a step of the run found other code than its history has."""
    return any(b"did not do in step" in line for line in bench.broker.log("default", run.id))


def called(run: Run) -> str:
    """The digest of the arguments of the first call of a run."""
    return next(entry.arguments_digest for entry in run.history() if entry.kind == "call")


def go_on(runs: list[Run]) -> None:
    """Blocked runs are tried again at once."""
    control.run_now([run.id for run in runs], "default")


def wait_for_ends(bench: Bench, runs: list[Run], timeout: float = 90) -> None:
    wait_until(lambda: all(run.state == "succeeded" for run in runs), timeout, bench.say, every=0.1)


def test_a_guarded_change_goes_on_and_another_waits_for_its_own_code(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = version(bench, monkeypatch, "earlier")
    old = [two_versions.guarded.start() for _ in range(6)]
    old_unguarded = [two_versions.unguarded.start() for _ in range(6)]
    wait_for_signals(bench, old + old_unguarded)

    later = version(bench, monkeypatch, "later")
    wait_until(later.children, 60, bench.say)
    for run in old[:3] + old_unguarded[:3]:
        run.signal("go", "on")
    new = [two_versions.guarded.start() for _ in range(6)]
    new_unguarded = [two_versions.unguarded.start() for _ in range(6)]
    for run in new + new_unguarded:
        run.signal("go", "on")
    wait_for_ends(bench, old[:3])

    assert earlier.stop() == 0  # the deploy is complete
    for run in old[3:] + old_unguarded[3:]:
        run.signal("go", "on")
    wait_for_ends(bench, old + new)
    assert [run.result(timeout=0) for run in old] == [PLAIN] * 6
    assert all(run.result(timeout=0) in (PLAIN, CHECKED) for run in new)
    wait_until(lambda: all(was_blocked(bench, run) for run in old_unguarded[3:]), 60, bench.say)
    assert {run.state for run in old_unguarded[3:]} == {"postponed"}

    assert later.stop() == 0  # the deploy is taken back
    earlier = version(bench, monkeypatch, "earlier")
    first_call = called(old_unguarded[0])
    plain = old_unguarded + [run for run in new_unguarded if called(run) == first_call]
    go_on(plain)
    wait_for_ends(bench, plain)
    assert [run.result(timeout=0) for run in old_unguarded] == [PLAIN] * 6

    assert earlier.stop() == 0
    version(bench, monkeypatch, "later")
    go_on(new_unguarded)
    wait_for_ends(bench, new_unguarded)
    assert all(run.result(timeout=0) in (PLAIN, CHANGED) for run in new_unguarded)

    everything = old + new + old_unguarded + new_unguarded
    calls = [f"{run.id}.{entry.command}" for run in everything for entry in run.history() if entry.kind == "call"]
    assert len(calls) == 2 * len(everything)
    assert {Counter(bench.ledger.starts())[call] for call in calls} == {1}


def test_two_versions_side_by_side_block_no_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run is left to a worker with the code of its last step: neither version takes it where it does not fit."""
    earlier = version(bench, monkeypatch, "earlier")
    later = version(bench, monkeypatch, "later")
    wait_until(lambda: len(inspect.workers()) == 2, 60, bench.say)
    kinds = (two_versions.guarded, two_versions.unguarded, two_versions.asks_at_first)
    runs = [kind.start() for kind in kinds for _ in range(20)]
    wait_for_signals(bench, runs)
    for run in runs:
        run.signal("go", "on")
    last = runs[40:]
    wait_until(lambda: all(sum(e.kind == "signal" for e in run.history()) == 1 for run in last), 60, bench.say)
    wait_for_signals(bench, last)
    for run in last:
        run.signal("go", "on")
    wait_for_ends(bench, runs)
    made = {tuple(run.result(timeout=0)) for run in runs}
    assert made <= {*map(tuple, (PLAIN, CHECKED, CHANGED)), ("end",), ("end", "again")}
    logs = [line for run in runs for line in bench.broker.log("default", run.id)]
    assert [line for line in logs if b'"blocked"' in line] == []
    assert any(b"made by other code" in line for line in logs)
    assert inspect.blocked_run_count() == 0
    assert (earlier.stop(), later.stop()) == (0, 0)
