"""`manage.py queue` on more than 500 tasks: workers perform the action, and the command follows it."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from console.actions.operations import refresh
from console.actions.undo import is_open
from console.models import AuditEntry, Outcome
from queueops import control, inspect
from queueops.errors import BrokerUnavailable
from queueops.management.queue import by_workers
from queueops.model.contracts import Lease
from queueops.model.contracts import Outcome as ModelOutcome
from tests.inspecting.errors import stored
from tests.inspecting.test_queue_command import failing, queue
from tests.kernel.desk import Desk
from tests.operations.playing import claimed, part

pytestmark = pytest.mark.django_db
IDS = [f"t{number}" for number in range(40)]
CANCEL = ("cancel", "--state", "pending", "--lane", "default", "--reason", "a mistake")


@pytest.fixture(autouse=True)
def many(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty tasks wait, a worker beats, and more than ten are a bulk action."""
    monkeypatch.setattr(control, "MOST", 10)
    monkeypatch.setattr("queueops.kinds.operations.store.PART", 15)
    desk.push(*IDS)
    beat(desk)


def beat(desk: Desk, **fields: object) -> None:
    desk.broker.beat("default", "w1", {"names": "", "slots": 8, "host": "elsewhere", "pools": "default"} | fields)


@pytest.fixture
def works(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker performs a part each time that the command sleeps."""
    leases: list[Lease] = []

    def sleep(_seconds: float) -> None:
        if not leases:
            leases.append(claimed(desk))
        if part(leases[0]).word == "END":
            desk.settle(leases.pop())

    monkeypatch.setattr(by_workers, "sleep", sleep)
    monkeypatch.setattr(by_workers, "TELLS_EACH", 1)


@pytest.mark.usefixtures("works")
def test_workers_perform_it_and_the_command_follows(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert queue(*CANCEL, "--yes").strip() == "40 of 40 done"
    assert set(desk.states(*IDS)) == {"cancelled"}
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "0 of at most 40 checked, 0 changed; waiting for a worker"
    assert told[1].startswith("15 of at most 40 checked, 15 changed")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.reason, entry.goes_on, entry.count) == ("cancel", "a mistake", True, 40)
    assert entry.actor_name.endswith("(command line)")
    refresh(entry)
    entry.refresh_from_db()
    assert (entry.outcome, entry.changed, entry.seen) == (Outcome.DONE, 40, 40)
    assert is_open(entry)


def test_the_command_says_the_error_of_an_operation_that_fails_and_does_not_wait_for_ever(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ids: list[str] = []

    def sleep(_seconds: float) -> None:
        desk.make_due(*ids)
        desk.tick()
        lease = claimed(desk)
        ids[:] = [lease.id]
        desk.settle(lease, ModelOutcome.ERROR, delay_ms=60_000, **stored(kind="ResponseError", message="no 'os'"))

    monkeypatch.setattr(by_workers, "sleep", sleep)
    monkeypatch.setattr(by_workers, "TELLS_EACH", 1)
    out = StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("queue", *CANCEL, "--yes", stdout=out)
    (id,), said = ids, out.getvalue()
    assert f"Pool default: the operation {id} fails: ResponseError: no 'os'. Workers try again." in said
    assert f"manage.py queue cancel {id} --pool default" in said
    told = capsys.readouterr().err.splitlines()
    assert "0 of at most 40 checked, 0 changed; the last attempt failed: ResponseError: no 'os'" in told


@pytest.mark.usefixtures("works")
def test_what_is_left_is_told_with_its_reason_and_the_exit_status_is_one(desk: Desk) -> None:
    (running,) = desk.claim(1)
    desk.settle(running)
    assert failing("cancel", "--name", "tests.noop", "--yes")[0] == 1
    (found,) = inspect.operations()
    assert (found.changed, found.left) == (39, 1)


@pytest.mark.usefixtures("works")
def test_as_json_each_operation_is_one_object() -> None:
    (found,) = json.loads(queue(*CANCEL, "--yes", "--json"))
    assert (found["verb"], found["changed"], found["seen"], found["state"]) == ("cancel", 40, 40, "succeeded")


def test_ctrl_c_leaves_it_to_the_workers_and_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(by_workers, "sleep", interrupted)
    with pytest.raises(SystemExit) as raised:
        queue(*CANCEL, "--yes")
    assert raised.value.code == 130
    (found,) = inspect.operations()
    told = capsys.readouterr().err
    assert "Workers go on with the action." in told
    assert f"manage.py queue cancel {found.id} --pool default" in told
    assert found.state == "pending"
    assert AuditEntry.objects.get().goes_on


def test_it_asks_first_and_says_who_performs_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    assert failing(*CANCEL) == (1, "Nothing was done.")
    assert asked[0].splitlines()[-1] == "Cancel 40 tasks, by workers? [y/N] "
    assert AuditEntry.objects.count() == 0
    assert inspect.operations() == []


@pytest.mark.parametrize("why", ["here", "few", "lanes", "paused"])
def test_otherwise_the_command_performs_it_as_before(desk: Desk, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    options = ["--here"] if why == "here" else []
    if why == "few":
        monkeypatch.setattr(control, "MOST", 40)
    if why == "lanes":
        beat(desk, lanes="to:*")
    if why == "paused":
        desk.broker.lane("default", "operations", paused=1)
    assert queue(*CANCEL, "--yes", *options).strip().endswith("40 of 40 done")
    assert inspect.operations() == []


def test_if_it_cannot_begin_the_audit_log_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*given: object, **named: object) -> None:
        raise BrokerUnavailable(url="redis://host/0", attempts=5, reason="refused")

    monkeypatch.setattr(control, "begin_operation", lost)
    assert failing(*CANCEL, "--yes")[0] == 1
    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.goes_on) == (Outcome.FAILED, False)
