"""The store is lost in the middle of an action on many: what was done is found out, counted, and not done twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from console.models import AuditEntry, Outcome
from queueops import control
from queueops.errors import BrokerUnavailable
from queueops.model.contracts import Row
from queueops.redis.broker import get_broker
from tests.console.test_mass import FAILED, fail, go_on, small_steps, states, the_whole, told
from tests.kernel.desk import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_steps")]
__all__ = ["small_steps"]

Break = Callable[..., None]
GONE = BrokerUnavailable(url="redis://host/0", attempts=5, reason="refused")


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


@pytest.fixture
def break_off(monkeypatch: pytest.MonkeyPatch) -> Break:
    """The next call of a verb reaches `first` of its tasks; then there is no answer."""

    def install(verb: str, first: int, then: type[BaseException] | BaseException = GONE) -> None:
        done = getattr(control, verb)

        def broken(ids: list[str], *values: object, **named: object) -> list[Row]:
            monkeypatch.setattr(control, verb, done)
            done(ids[:first], *values, **named)
            raise then

        monkeypatch.setattr(control, verb, broken)

    return install


def counts() -> tuple[int, int, str]:
    whole = the_whole()
    return whole.seen, whole.changed, whole.outcome


@pytest.mark.parametrize("first", [0, 1, 2])
def test_what_was_changed_before_the_answer_was_lost_is_counted(
    desk: Desk, operator: Client, break_off: Break, first: int
) -> None:
    fail(desk, "a", "b", "c", "d", "e")
    operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "5"})
    break_off("retry", first)
    assert operator.post(f"/ops/audit/{the_whole().pk}/_go_on").status_code == 503
    page = told(operator.get(f"/ops/audit/{the_whole().pk}/"))
    assert "Continue or Undo finds out which tasks this step changed." in page
    assert "? /2 unknown" in page
    go_on(operator, 3)
    assert states("a", "b", "c", "d", "e") == ["pending"] * 5
    assert counts() == (5, 5, Outcome.DONE)
    assert "finds out" not in told(operator.get(f"/ops/audit/{the_whole().pk}/"))
    assert sum(part.changed for part in the_whole().parts.all()) == 5
    desk.check()


def test_what_ran_again_before_the_action_goes_on_does_not_run_once_more(
    desk: Desk, operator: Client, break_off: Break
) -> None:
    fail(desk, "a", "b", "c")
    break_off("retry", 2)
    assert operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "3"}).status_code == 503
    for lease in desk.claim(2):
        desk.settle(lease)
    go_on(operator, 2)
    assert sorted(states("a", "b", "c")) == ["pending", "succeeded", "succeeded"]
    assert counts() == (3, 3, Outcome.DONE)
    desk.check()


def test_a_step_that_matches_as_before_is_not_done_twice_and_goes_back_to_its_old_lane(
    desk: Desk, operator: Client, break_off: Break
) -> None:
    desk.push("a", "b", "c", "d", lane="old")
    operator.post("/ops/tasks/_all_move?state=pending", {"confirmed": "4", "lane": "new"})
    break_off("move", 1)
    assert operator.post(f"/ops/audit/{the_whole().pk}/_go_on").status_code == 503
    go_on(operator)  # comes by what was moved, and leaves it
    break_off("move", 0)
    assert operator.post(f"/ops/audit/{the_whole().pk}/_go_on").status_code == 503
    go_on(operator, 2)
    assert [desk.record(id).lane for id in "abcd"] == ["new"] * 4
    assert counts() == (4, 4, Outcome.DONE)
    operator.post(f"/ops/audit/{the_whole().pk}/_undo")
    go_on(operator, 4)
    assert [desk.record(id).lane for id in "abcd"] == ["old"] * 4
    assert counts() == (4, 4, Outcome.DONE)
    desk.check()


def test_an_undo_takes_back_what_was_changed_before_the_answer_was_lost_and_does_no_more(
    desk: Desk, operator: Client, break_off: Break
) -> None:
    desk.push("a", "b", "c")
    break_off("cancel", 1)
    assert operator.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": "3"}).status_code == 503
    assert states("a", "b", "c").count("cancelled") == 1
    whole = the_whole()
    assert "Undo" in told(operator.get(f"/ops/audit/{whole.pk}/"))
    operator.post(f"/ops/audit/{whole.pk}/_undo")
    go_on(operator)
    assert states("a", "b", "c") == ["pending"] * 3
    undoing = AuditEntry.objects.get(undoes=whole)
    assert (undoing.changed, undoing.outcome) == (1, Outcome.DONE)
    desk.check()


def test_a_deleted_task_is_known_by_what_lies_in_the_trash(desk: Desk, administrator: Client, break_off: Break) -> None:
    fail(desk, "a", "b", "c")
    break_off("delete", 1)
    assert administrator.post("/ops/tasks/_all_delete?state=failed", {"confirmed": "3"}).status_code == 503
    go_on(administrator, 2)
    assert counts() == (3, 3, Outcome.DONE)
    administrator.post(f"/ops/audit/{the_whole().pk}/_undo")
    go_on(administrator, 3)
    assert states("a", "b", "c") == ["failed"] * 3


def test_of_what_is_gone_since_it_is_said_that_nobody_knows(
    desk: Desk, administrator: Client, break_off: Break
) -> None:
    fail(desk, "a", "b", "c")
    break_off("delete", 1)
    assert administrator.post("/ops/tasks/_all_delete?state=failed", {"confirmed": "3"}).status_code == 503
    (lost,) = [id for id in "abc" if not desk.client.exists(desk.keys.task(id))]
    desk.client.delete(desk.keys.trash(lost))
    desk.client.zrem(desk.keys.trashed, lost)
    go_on(administrator, 2)
    assert counts() == (3, 2, Outcome.PARTLY)
    assert the_whole().detail.startswith("1 is gone for an unknown reason")


def test_a_part_whose_process_died_is_found_out_about_too(desk: Desk, operator: Client, break_off: Break) -> None:
    fail(desk, "a", "b", "c")
    break_off("retry", 1, SystemExit())
    with pytest.raises(SystemExit):
        operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "3"})
    AuditEntry.objects.filter(part_of=the_whole()).update(outcome=Outcome.BEGUN, detail="")
    go_on(operator, 2)
    assert states("a", "b", "c") == ["pending"] * 3
    assert counts() == (3, 3, Outcome.DONE)


def test_an_undo_that_was_broken_off_is_done_again_and_runs_nothing_twice(
    desk: Desk, operator: Client, break_off: Break
) -> None:
    desk.push("a", "b", "c")
    operator.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": "3"})
    go_on(operator)
    whole = the_whole()
    break_off("reinstate", 2)
    assert operator.post(f"/ops/audit/{whole.pk}/_undo").status_code == 503
    ran = desk.claim(2)
    for lease in ran:
        desk.settle(lease)
    operator.post(f"/ops/audit/{whole.pk}/_undo")
    go_on(operator, 2)
    assert sorted(states("a", "b", "c")) == ["pending", "succeeded", "succeeded"]
    assert counts() == (3, 3, Outcome.DONE)
    desk.check()


def test_an_undo_of_a_few_that_was_broken_off_is_done_again_and_runs_nothing_twice(
    desk: Desk, operator: Client, break_off: Break
) -> None:
    desk.push("a", "b")
    operator.post("/ops/tasks/_cancel", {"task": ["default a", "default b"]})
    entry = the_whole()
    break_off("reinstate", 2)
    assert operator.post(f"/ops/audit/{entry.pk}/_undo").status_code == 503
    for lease in desk.claim(2):
        desk.settle(lease)
    operator.post(f"/ops/audit/{entry.pk}/_undo")
    assert states("a", "b") == ["succeeded"] * 2
    undoing = AuditEntry.objects.filter(undoes=entry).latest("pk")
    assert (undoing.changed, undoing.outcome) == (2, Outcome.DONE)


def test_an_action_on_a_few_whose_answer_was_lost_is_unknown_until_it_is_undone(
    desk: Desk, operator: Client, break_off: Break
) -> None:
    desk.push("a", "b")
    break_off("cancel", 1)
    assert operator.post("/ops/tasks/_cancel", {"task": ["default a", "default b"]}).status_code == 503
    entry = the_whole()
    assert (entry.outcome, entry.changed) == (Outcome.UNKNOWN, 0)
    assert "? /2 unknown" in told(operator.get("/ops/audit/"))
    page = told(operator.get(f"/ops/audit/{entry.pk}/"))
    assert "?/2 Undo finds out which tasks this action changed." in page
    operator.post(f"/ops/audit/{entry.pk}/_undo")
    assert states("a", "b") == ["pending"] * 2
    entry.refresh_from_db()
    assert (entry.changed, entry.outcome) == (1, Outcome.PARTLY)
    assert AuditEntry.objects.get(undoes=entry).changed == 1


def test_a_part_that_is_taken_back_alone_is_counted_in_the_whole(
    desk: Desk, operator: Client, break_off: Break
) -> None:
    desk.push("a", "b", "c")
    break_off("cancel", 1)
    operator.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": "3"})
    whole = the_whole()
    operator.post(f"/ops/audit/{whole.parts.get().pk}/_undo")
    assert states("a", "b", "c") == ["pending"] * 3
    whole.refresh_from_db()
    assert (whole.seen, whole.changed, whole.goes_on) == (1, 1, True)


def test_what_a_terminal_lost_the_answer_of_is_found_out_too(desk: Desk, operator: Client, break_off: Break) -> None:
    desk.push("a", "b")
    break_off("cancel", 1)
    with pytest.raises(CommandError, match="did not answer"):
        call_command("queue", "cancel", "a", "b", "--yes")
    assert the_whole().outcome == Outcome.UNKNOWN
    operator.post(f"/ops/audit/{the_whole().pk}/_undo")
    assert states("a", "b") == ["pending"] * 2
    desk.check()


def test_an_action_whose_answer_was_lost_and_asked_for_again_at_once_is_counted(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(desk, "a", "b")
    broker = type(get_broker())
    control_ = broker.control

    def twice(*values: object, **named: object) -> list[Row]:
        control_(*values, **named)  # type: ignore[arg-type]  # what the connection does when a reply is lost
        return control_(*values, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(broker, "control", twice)
    operator.post("/ops/tasks/_retry", {"task": ["default a", "default b"]})
    assert (AuditEntry.objects.get().changed, AuditEntry.objects.get().outcome) == (2, Outcome.DONE)
    assert states("a", "b") == ["pending"] * 2
    assert "Retry: 2 tasks." in told(operator.get(FAILED))
