"""The console on the real engine: what it shows is so, and what it does happens."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from console.actions.bulk import titled
from console.models import AuditEntry
from queueops import RetryLater, control, inspect, task
from queueops.inspect import TaskQuery
from queueops.model.contracts import Outcome
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
LATER_MS = 5_000_000
ERROR = b'{"fingerprint":"f1","type":"ValueError","message":"<b>bad</b>","traceback":"Traceback\\nValueError: bad"}'


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


def failed(desk: Desk, *ids: str) -> None:
    """Tasks that have failed for good."""
    desk.push(*ids, args=b'[[1],{"password":"hunter2"}]')
    for lease in desk.claim(len(ids)):
        assert desk.settle(lease, Outcome.ERROR, ERROR, delay_ms=-1, fingerprint="f1", title="ValueError: bad") == "OK"


def state(id: str) -> str:
    task = inspect.task(id)
    return task.state if task else ""


def due_ms(id: str) -> int:
    task = inspect.task(id)
    assert task
    assert task.due_ms
    return task.due_ms


def test_a_failed_task_is_found_understood_and_run_again(desk: Desk, operator: Client) -> None:
    failed(desk, "a/1", "b")
    page = operator.get("/ops/tasks/?state=failed").content.decode()
    assert re.findall(r'value="(default [^"]+)"', page) == ["default b", "default a/1"]
    task = operator.get("/ops/tasks/a~1/").content.decode()
    assert "&lt;b&gt;bad&lt;/b&gt;" in task
    assert "hunter2" not in task
    for tab in ("attempts", "timeline", "log", "why", "raw", "audit"):
        answer = operator.get(f"/ops/tasks/a~1/{tab}/")
        assert answer.status_code == 200
        assert "hunter2" not in answer.content.decode()
    operator.post("/ops/tasks/a~1/_retry", {"pool": "default"})
    assert state("a/1") == "pending"
    assert "Retry: 1 task. Now pending." in operator.get("/ops/").content.decode()
    assert "operators: retry" in operator.get("/ops/tasks/a~1/log/").content.decode()
    desk.check()


def test_metadata_is_shown_redacted_to_those_who_see_arguments(desk: Desk, operator: Client, viewer: Client) -> None:
    desk.push("a", meta=b'{"tenant":"seven","token":"hunter2"}')
    for client, sees in ((operator, True), (viewer, False)):
        page = client.get("/ops/tasks/a/").content.decode()
        assert ("seven" in page) is sees
        assert "hunter2" not in page


@task(name="tests.console.wait_for_it", retries=2)
def wait_for_it() -> None:
    """Want to be tried again in an hour."""
    raise RetryLater(3600, ValueError("the supplier is busy"))


def test_a_task_that_asked_for_a_later_attempt_shows_its_error_and_its_time(desk: Desk, operator: Client) -> None:
    id = wait_for_it.push().id
    run_worker()
    assert state(id) == "restart"
    page = operator.get(f"/ops/tasks/{id}/").content.decode()
    assert f'data-ms="{due_ms(id)}"' in page
    assert "the supplier is busy" in page
    assert "1 of 3 failed" in page
    assert "ValueError: the supplier is busy" in operator.get(f"/ops/tasks/{id}/why/").content.decode()
    desk.check()


@pytest.mark.parametrize("said", ["nan", "inf", "-inf", "1e400", "1e300", "-5", "quite", "", "9" * 15])
def test_whatever_a_record_says_its_page_is_there(desk: Desk, operator: Client, said: str) -> None:
    desk.push("a")
    fields = ("pr", "to", "c", "b", "d", "e", "p", "at", "r", "cr", "u", "f")
    desk.client.hset(desk.keys.task("a"), mapping=dict.fromkeys(fields, said))
    for path in ("", "a/", "a/attempts/", "a/timeline/", "a/log/", "a/why/", "a/raw/"):
        assert operator.get(f"/ops/tasks/{path}").status_code == 200


def test_many_are_deleted_and_come_back(desk: Desk, administrator: Client) -> None:
    failed(desk, *(f"t{number}" for number in range(5)))
    administrator.post("/ops/tasks/_delete", {"task": [f"default t{number}" for number in range(5)]})
    assert [state(f"t{number}") for number in range(5)] == [""] * 5
    administrator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert [state(f"t{number}") for number in range(5)] == ["failed"] * 5
    desk.check()


def test_what_became_of_each_is_told(desk: Desk, administrator: Client) -> None:
    desk.push("a", "b", "c")
    for _ in range(2):
        desk.lease()
    administrator.post("/ops/tasks/_cancel", {"task": ["default a", "default b", "default c"]})
    page = administrator.get("/ops/").content.decode()
    assert "Cancel: 3 tasks. 2: asked the worker to stop it; 1: now cancelled." in page
    administrator.post("/ops/tasks/c/_keep", {"pool": "default", "days": "3"})
    assert "Keep longer: 1 task.</p>" in administrator.get("/ops/").content.decode()
    administrator.post("/ops/tasks/c/_delete", {"pool": "default"})
    assert "Delete: 1 task. In the trash for 24 hours.</p>" in administrator.get("/ops/").content.decode()
    administrator.post("/ops/lanes/default/default/_pause")
    page = administrator.get("/ops/").content.decode()
    assert "Pause: default/default. Workers claim no more tasks from this lane. Running tasks continue.</p>" in page


def test_what_the_state_does_not_allow_is_refused_with_the_reason(desk: Desk, operator: Client) -> None:
    desk.push("p")
    operator.post("/ops/tasks/p/_run_now", {"pool": "default"})
    assert AuditEntry.objects.get().outcome == "refused"
    assert "not possible while it is pending" in operator.get("/ops/").content.decode()


def test_a_task_is_postponed_and_taken_back(desk: Desk, operator: Client) -> None:
    desk.push("p")
    operator.post("/ops/tasks/p/_postpone", {"pool": "default", "delay": "3600"})
    assert state("p") == "postponed"
    operator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert state("p") == "pending"
    desk.check()


def test_a_task_that_has_not_begun_is_edited_in_place(desk: Desk, operator: Client) -> None:
    desk.push("p", args=b"[[1],{}]")
    form = operator.get("/ops/tasks/p/edit/").content.decode()
    assert re.search(r'name="args"[^>]*>\[\n  1\n\]<', form)
    operator.post("/ops/tasks/p/_edit", {"pool": "default", "args": "[2]", "kwargs": '{"x": "y"}'})
    assert (state("p"), desk.lease().args) == ("pending", b'[[2],{"x":"y"}]')


def test_hidden_values_are_not_saved_as_they_are_shown(desk: Desk, operator: Client) -> None:
    failed(desk, "f")
    form = operator.get("/ops/tasks/f/edit/").content.decode()
    assert "[redacted]" in form
    answer = operator.post("/ops/tasks/f/_edit", {"args": "[1]", "kwargs": '{"password": "[redacted]"}'})
    assert answer.status_code == 422
    assert state("f") == "failed"


def test_a_lane_is_paused_limited_and_resumed(desk: Desk, administrator: Client) -> None:
    desk.push("p", lane="slow")
    administrator.post("/ops/lanes/default/slow/_pause")
    assert desk.claim() == []
    assert "paused" in administrator.get("/ops/tasks/p/why/").content.decode()
    administrator.post("/ops/lanes/default/slow/_set", {"limit": "1", "rate": "", "weight": "2"})
    administrator.post("/ops/lanes/default/slow/_resume")
    (row,) = [row for row in inspect.lanes() if row.lane == "slow"]
    assert (row.limit, row.rate, row.weight, row.paused) == (1, None, 2, False)
    assert len(desk.claim()) == 1


def test_a_lane_is_given_a_rate_which_its_page_and_its_tasks_tell(desk: Desk, administrator: Client) -> None:
    desk.push("p", "q", lane="slow")
    administrator.post("/ops/lanes/default/slow/_set", {"limit": "", "rate": "0.0125", "weight": "1"})
    assert AuditEntry.objects.get().after["rate"] == 0.0125
    assert len(desk.claim(5)) == 1
    assert 'value="0.0125"' in administrator.get("/ops/lanes/default/slow/").content.decode()
    assert "rate used up" in administrator.get("/ops/lanes/").content.decode()
    assert "rate limit of its lane, 0.0125/s, is used up" in administrator.get("/ops/tasks/q/why/").content.decode()
    answer = administrator.post("/ops/lanes/default/slow/_set", {"limit": "", "rate": "0", "weight": "1"})
    assert answer.status_code == 422
    administrator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert len(desk.claim(5)) == 1


def test_a_task_that_is_quarantined_is_thrown_away_for_good(desk: Desk, administrator: Client) -> None:
    desk.push("q")
    desk.settle(desk.lease(), Outcome.QUARANTINE, value=b"its arguments can't be read")
    assert state("q") == "quarantined"
    assert "quarantined" in administrator.get("/ops/tasks/?state=quarantined").content.decode()
    form = {"pool": "default", "confirmed": "1", "typed": "1", "reason": "garbage"}
    answer = administrator.post("/ops/tasks/q/_discard", form | {"next": "/ops/tasks/q/"})
    assert answer.headers["Location"] == "/ops/tasks/"  # its own page is gone
    assert state("q") == ""


def test_garbage_in_a_record_is_shown_and_breaks_no_page(desk: Desk, administrator: Client) -> None:
    failed(desk, "g")
    desk.client.hset(
        desk.keys.task("g"), mapping={"n": b"\xff<script>", "a": b"\x00\xfe", "er": b"{", "pr": b"x", "t": b"y"}
    )
    for path in (
        "tasks/",
        "tasks/g/",
        *(f"tasks/g/{tab}/" for tab in ("attempts", "timeline", "log", "why", "raw", "edit")),
    ):
        answer = administrator.get(f"/ops/{path}")
        assert answer.status_code == 200, path
        assert "<script>" not in answer.content.decode()


def test_an_empty_system_has_all_its_pages(namespace: str, administrator: Client) -> None:
    for path in ("", "tasks/", "errors/", "lanes/", "workers/", "audit/", "settings/", "help/"):
        assert administrator.get(f"/ops/{path}").status_code == 200


def test_pages_follow_each_other_without_a_gap(desk: Desk, operator: Client) -> None:
    desk.push(*(f"t{number:03}" for number in range(120)))
    found: list[str] = []
    address = "/ops/tasks/?state=pending"
    while address:
        page = operator.get(address).content.decode()
        found += re.findall(r'value="default (t\d+)"', page)
        further = re.findall(r'rel="next" href="([^"]+)"', page)
        address = further[0].replace("&amp;", "&") if further else ""
    assert sorted(found) == [f"t{number:03}" for number in range(120)]
    assert len(found) == 120


def test_a_store_that_does_not_answer_is_a_page_that_says_so(
    namespace: str, administrator: Client, settings: Any
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": "redis://user:hunter2@127.0.0.1:1/0", "RETRY": {"attempts": 1}}
    for path in ("", "tasks/", "tasks/x/", "errors/", "lanes/", "workers/"):
        answer = administrator.get(f"/ops/{path}")
        assert answer.status_code == 503
        assert "hunter2" not in answer.content.decode()
    assert administrator.get("/ops/audit/").status_code == 200
    assert administrator.get("/ops/_overview", headers={"HX-Request": "true"}).status_code == 503
    assert administrator.post("/ops/tasks/x/_run_now", {"pool": "default"}).status_code == 503
    assert AuditEntry.objects.get().outcome == "unknown"  # it is not known whether the store got it


def test_what_has_succeeded_runs_again_only_after_a_question(desk: Desk, operator: Client) -> None:
    desk.push("a")
    desk.drain()
    page = operator.get("/ops/tasks/a/").content.decode()
    assert "Run again</button>" in page
    assert "btn-primary" not in page.split('role="group"')[1].split("</form>")[0]
    question = operator.post("/ops/tasks/a/_retry", {"pool": "default"})
    assert "The task has already succeeded once: it repeats its effects." in question.content.decode()
    assert state("a") == "succeeded"
    operator.post("/ops/tasks/a/_retry", {"pool": "default", "confirmed": "1"})
    assert state("a") == "pending"


def test_the_tasks_of_one_tenant_are_moved_out_of_the_way_of_others_and_back(desk: Desk, operator: Client) -> None:
    desk.push("a", "b", "c")
    assert 'formaction="/ops/tasks/_move"' in operator.get("/ops/tasks/?state=pending").content.decode()
    operator.post("/ops/tasks/_move", {"task": ["default a", "default b"], "lane": "tenant-7"})
    assert [row.id for row in inspect.tasks(TaskQuery(state="pending", lane="tenant-7")).rows] == ["b", "a"]
    operator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert len(inspect.tasks(TaskQuery(state="pending", lane="default")).rows) == 3
    desk.check()


@pytest.mark.parametrize("state", ["silent", "hung"])
def test_a_process_that_gives_no_sign_of_life_is_shown_as_such(desk: Desk, operator: Client, state: str) -> None:
    desk.push("a")
    desk.lease()
    desk.broker.beat("default", "w1", {"state": state, "silent_since": desk.now() - 40_500_000})
    page = operator.get("/ops/workers/").content.decode()
    assert f'class="condition condition-{state}"' in page
    assert "silent for" in page
    why = operator.get("/ops/tasks/a/why/").content.decode()
    assert "has been silent for 11 h" in why
    assert "/ops/tasks/a/_interrupt" in why


def test_what_holds_a_task_up_leads_to_where_that_is_seen(desk: Desk, operator: Client) -> None:
    desk.push("a", "b", lane="slow")
    assert "See the workers" in operator.get("/ops/tasks/a/why/").content.decode()
    control.set_lane("default", "slow", limit=1, rate=None, weight=1)
    desk.lease()
    assert 'href="/ops/lanes/">See the lanes' in operator.get("/ops/tasks/b/why/").content.decode()


def test_a_whole_page_that_was_cancelled_by_mistake_comes_back(desk: Desk, operator: Client) -> None:
    ids = [f"t{number}" for number in range(30)]
    desk.push(*ids)
    operator.post("/ops/tasks/_cancel", {"task": [f"default {id}" for id in ids], "confirmed": "30"})
    assert {state(id) for id in ids} == {"cancelled"}
    assert "Undo" in operator.get("/ops/tasks/").content.decode()
    operator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert {state(id) for id in ids} == {"pending"}
    desk.check()


def test_what_was_to_wait_and_was_cancelled_by_mistake_waits_until_the_time_that_it_had(
    desk: Desk, operator: Client
) -> None:
    desk.push("soon", delay_ms=LATER_MS)
    desk.push("late", delay_ms=2 * LATER_MS)
    desk.push("again", retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", delay_ms=LATER_MS)
    desk.push("ready")
    due = {id: due_ms(id) for id in ("soon", "late", "again")}
    ids = ["soon", "late", "again", "ready"]
    operator.post("/ops/tasks/_cancel", {"task": [f"default {id}" for id in ids]})
    assert {state(id) for id in ids} == {"cancelled"}
    operator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert [state(id) for id in ids] == ["postponed", "postponed", "postponed", "pending"]
    assert {id: due_ms(id) for id in due} == due
    desk.check()


def test_a_task_is_found_by_a_text_in_its_arguments_and_acted_on_without_its_text_in_the_audit_log(
    desk: Desk, operator: Client, viewer: Client
) -> None:
    desk.push("a", args=b'[["ORD-42"],{}]')
    desk.push("b", args=b'[["ORD-43"],{}]')
    here = "/ops/tasks/?contains=ORD-42&state=pending"
    page = operator.get(here).content.decode()
    assert re.findall(r'value="(default [^"]+)"', page) == ["default a"]
    assert "/ops/tasks/_all_" not in page
    assert viewer.get(here).status_code == 400
    operator.post("/ops/tasks/_cancel", {"task": ["default a"], "next": here})
    assert state("a") == "cancelled"
    assert "ORD-42" not in repr(AuditEntry.objects.get().filter)
    assert operator.post("/ops/tasks/_all_cancel?contains=ORD-43&state=pending").status_code == 400
    assert state("b") == "pending"


def test_all_tasks_of_an_error_are_retried_from_its_page_under_the_name_of_its_type(
    desk: Desk, operator: Client, viewer: Client
) -> None:
    failed(desk, *(f"t{number}" for number in range(3)))
    address = "/ops/tasks/_all_retry?error=f1"
    page = operator.get("/ops/errors/f1/").content.decode()
    assert f'formaction="{address}"' in page
    assert "Retry all…" in page
    assert "_all_" not in viewer.get("/ops/errors/f1/").content.decode()
    assert "ValueError (f1)" in operator.post(address, {"next": "/ops/errors/f1/"}).content.decode()
    assert "Error: ValueError (f1)" in viewer.get("/ops/tasks/?error=f1").content.decode()
    assert titled(TaskQuery(error="f1", state="failed")) == "state=failed, error=ValueError (f1)"
    assert titled(TaskQuery(error="gone")) == "error=gone"
    control.retry(["t0", "t1", "t2"])
    assert "_all_" not in operator.get("/ops/errors/f1/").content.decode()


def test_a_wrong_filter_keeps_what_was_typed(desk: Desk, operator: Client) -> None:
    answer = operator.get("/ops/tasks/?name=shop.mail&lane=a%23b&contains=ORD-42&state=nowhere")
    page = answer.content.decode()
    assert answer.status_code == 400
    (typed,) = re.findall(r'id="filter" name="q" value="([^"]*)"', page)
    assert html.unescape(typed).split() == ["state:nowhere", "name:shop.mail", "lane:a#b", "text:ORD-42"]


def test_a_wrong_limit_is_named_with_what_was_typed(desk: Desk, administrator: Client) -> None:
    desk.push("a", lane="slow")
    answer = administrator.post("/ops/lanes/default/slow/_set", {"limit": "-5", "rate": "", "weight": "1"})
    assert answer.status_code == 422
    assert "default/slow: Limit -5: Ensure this value" in answer.content.decode()
