"""The parts of a chain on its pages, with the real engine underneath."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.composites import work
from tests.composites.trees import chain_of, group_of, plant
from tests.composites.work import Burst
from tests.kernel.desk import Desk


@pytest.fixture
def desk(namespace: str) -> Desk:
    """A broker by hand."""
    return Desk(get_broker())


def test_a_part_leads_to_what_it_is_part_of_and_why_leads_to_the_parts(desk: Desk, viewer: Client) -> None:
    plant(desk, chain_of("c", "a", "b"))
    page = viewer.get("/ops/tasks/b/").content.decode()
    assert "Part of" in page
    assert 'href="/ops/tasks/c/?pool=default">chain</a>' in page
    assert "children/" not in page
    why = viewer.get("/ops/tasks/c/why/").content.decode()
    assert "The task waits for its parts: 0 of 2 have ended." in why
    assert "See its parts" in why


def test_a_chain_shows_no_attempts_no_lane_and_no_priority(desk: Desk, operator: Client) -> None:
    plant(desk, chain_of("c", "a", "b"))
    page = operator.get("/ops/tasks/c/").content.decode()
    assert "0 of 1 failed" not in page
    assert "0 of 2 have ended" in page
    assert not any(f"<dt>{word}</dt>" in page for word in ("Attempts", "Lane", "Priority"))
    assert "0 of 1" not in operator.get("/ops/tasks/?state=idle").content.decode()


def test_a_part_is_cancelled_after_a_question_that_names_its_parent_and_the_policy(
    desk: Desk, operator: Client
) -> None:
    plant(desk, group_of("g", "a", "b", of="continue"))
    question = operator.post("/ops/tasks/a/_cancel", {"pool": "default"})
    text = question.content.decode()
    assert question.status_code == 200
    assert "The task is part of the group g (on_failure=&quot;continue&quot;) and counts as failed there" in text
    assert desk.state("a") == "pending"
    answer = operator.post("/ops/tasks/a/_cancel", {"pool": "default", "confirmed": "1", "reason": "no need"})
    assert answer.status_code == 302
    assert desk.states("g", "a", "b") == ["idle", "cancelled", "pending"]
    audit = operator.get("/ops/audit/").content.decode()
    (entry,) = re.findall(r'href="(/ops/audit/\d+/)"', audit)
    assert "_undo" not in audit + operator.get(entry).content.decode()


def test_ticked_parts_are_cancelled_after_the_same_question(desk: Desk, operator: Client) -> None:
    plant(desk, group_of("g", "a", "b"))
    desk.push("alone")
    ticked = {"task": ["default alone", "default a"]}
    assert "and counts as failed there" in operator.post("/ops/tasks/_cancel", ticked).content.decode()
    assert desk.states("alone", "a") == ["pending", "pending"]
    assert operator.post("/ops/tasks/_cancel", {"task": "default alone"}).status_code == 302


def test_of_many_tasks_only_the_rule_is_said(desk: Desk, operator: Client) -> None:
    plant(desk, group_of("g", *(f"t{number}" for number in range(21))))
    many = {"task": [f"default t{number}" for number in range(21)]}
    assert "A part of a chain, a group or an iterator then counts as failed there." in (
        operator.post("/ops/tasks/_cancel", many).content.decode()
    )


def test_parent_tasks_are_named_only_where_tasks_have_some(desk: Desk, operator: Client) -> None:
    plant(desk, group_of("g", *(f"part{number}" for number in range(21))))
    desk.push(*(f"plain{number}" for number in range(21)), name="plain")
    for lease in desk.claim(42):
        desk.settle(lease, Outcome.ERROR, b"{}", delay_ms=-1)
    for parts, is_told in (("part", True), ("plain", False)):
        ticked = {"task": [f"default {parts}{number}" for number in range(21)]}
        assert (
            "does not change its parent task" in operator.post("/ops/tasks/_retry", ticked).content.decode()
        ) is is_told
    for filtered, is_told in (("state=failed", True), ("state=failed&name=plain", False)):
        question = operator.post(f"/ops/tasks/_all_retry?{filtered}").content.decode()
        assert ("does not change its parent task" in question) is is_told


def test_what_failed_is_retried_or_everything(desk: Desk, operator: Client) -> None:
    plant(desk, chain_of("c", "a", "b"))
    desk.settle(desk.lease())
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    page = operator.get("/ops/tasks/c/").content.decode()
    assert "Retry failed parts" in page
    assert "Run everything again" in page
    operator.post("/ops/tasks/c/_retry", {"pool": "default"})
    assert desk.states("c", "a", "b") == ["idle", "succeeded", "pending"]
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=-1)
    question = operator.post("/ops/tasks/c/_rerun", {"pool": "default"}).content.decode()
    assert "Runs all parts again, also those that succeeded" in question
    assert desk.state("c") == "failed"
    operator.post("/ops/tasks/c/_rerun", {"pool": "default", "confirmed": "1"})
    assert desk.states("c", "a", "b") == ["idle", "pending", "waiting"]
    desk.drain()
    page = operator.get("/ops/tasks/c/").content.decode()
    assert "Retry failed parts" not in page
    assert "Run everything again" in page


def test_an_iterator_that_failed_is_retried_with_what_failed_and_its_page_lists_that(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = Burst.push(20)
    run_worker()
    page = operator.get(f"/ops/tasks/{handle.id}/children/?pool=default").content.decode()
    assert "Retry failed parts" in page
    assert "the latest ended parts" in page
    assert "19 succeeded" in page
    failed = operator.get(f"/ops/tasks/{handle.id}/children/?pool=default&show=failed").content.decode()
    assert failed.count("data-row") == 1
    monkeypatch.setattr(work, "broken", set())
    operator.post(f"/ops/tasks/{handle.id}/_retry", {"pool": "default"})
    run_worker()
    page = operator.get(f"/ops/tasks/{handle.id}/children/?pool=default").content.decode()
    assert "20 succeeded" in page
    assert "Continue from the last state" in page
    assert "Retry failed parts" not in page
