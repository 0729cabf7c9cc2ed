"""`manage.py queue` on more tasks than are looked up ahead: counted, confirmed, and done in steps."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from console.models import AuditEntry
from queueops import control
from queueops.management.queue import actions, report, selection
from queueops.model.contracts import Outcome, Push
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
IDS = [f"t{number:02}" for number in range(25)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve are looked up ahead, in pages of four; a call takes six, and each ten are told."""
    monkeypatch.setattr(selection, "MOST", 12)
    monkeypatch.setattr("queueops.inspect.selection.PAGE", 4)
    monkeypatch.setattr(selection, "PAGE", 4)
    monkeypatch.setattr(control, "MOST", 6)
    monkeypatch.setattr(actions, "AHEAD", 10)


def fail(desk: Desk, *ids: str) -> None:
    desk.push(*ids)
    for lease in desk.claim(len(ids)):
        desk.settle(lease, Outcome.ERROR, delay_ms=-1)


def test_all_of_any_number_are_done_once_it_is_confirmed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(desk, *IDS)
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    assert failing("delete", "--state", "failed") == (1, "Nothing was done.")
    assert asked == ["Delete 25 tasks? [y/N] "]
    assert desk.states(*IDS) == ["failed"] * 25
    assert queue("delete", "--state", "failed", "--yes").strip() == "25 of 25 done"
    assert desk.states(*IDS) == [""] * 25
    assert capsys.readouterr().err.splitlines() == ["12 of 25", "24 of 25"]
    assert [entry.changed for entry in AuditEntry.objects.order_by("pk")] == [6, 6, 6, 6, 1]
    desk.check()


def test_of_more_than_one_facet_it_asks_with_the_most_that_it_can_be(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.push(*IDS)
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    failing("cancel", "--state", "pending", "--kind", "task")
    assert asked[0].splitlines()[-1] == "Cancel at most 25 tasks? [y/N] "


def test_each_is_done_once_though_it_matches_again_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(desk, *IDS)
    done = control.retry

    def failing_again(ids: list[str], **named: str) -> list[control.Row]:
        report = done(ids, **named)
        for lease in desk.claim(len(ids)):
            desk.settle(lease, Outcome.ERROR, delay_ms=-1)
        return report

    monkeypatch.setattr(control, "retry", failing_again)
    assert len(queue_json("retry", "--state", "failed", "--yes")) == 25
    assert desk.states(*IDS) == ["failed"] * 25
    assert AuditEntry.objects.count() == 5


def test_the_tasks_of_several_pools_are_done_pool_by_pool(desk: Desk) -> None:
    desk.push(*IDS)
    desk.broker.push([Push(id=f"m{id}", name="add", pool="mail") for id in IDS])
    found = queue_json("postpone", "--state", "pending", "--delay", "60", "--yes")
    assert sorted(row["id"] for row in found) == sorted([*IDS, *(f"m{id}" for id in IDS)])
    assert {row["state"] for row in found} == {"postponed"}


def test_what_is_refused_is_told_and_is_status_1(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.push(*IDS)
    monkeypatch.setattr(report, "SHOWN", 3)
    for words in ((), ("--json",)):
        out = StringIO()
        with pytest.raises(SystemExit, match="1"):
            call_command("queue", "delete", "--state", "pending", "--yes", *words, stdout=out)
        if words:
            assert {row["word"] for row in json.loads(out.getvalue())} == {"REFUSED"}
        else:
            assert out.getvalue().count("delete is not possible while it is pending") == 3
            assert out.getvalue().splitlines()[-1] == "0 of 25 done"
    assert desk.states(*IDS) == ["pending"] * 25


def test_what_came_before_the_stores_clock_was_set_back_is_meant_too(desk: Desk) -> None:
    fail(desk, *IDS)
    desk.client.zadd(desk.keys.state("failed"), dict.fromkeys(IDS, desk.now() + 3_600_000))
    assert queue("retry", "--state", "failed", "--yes").strip() == "25 of 25 done"
    assert desk.states(*IDS) == ["pending"] * 25
