"""An action on all tasks that match a filter: what it asks and touches, how it goes on, how it is taken back."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from django.http import HttpResponse
from django.test import Client

from console.actions import bulk, undo
from console.models import AuditEntry, Outcome
from console.pages import bulk as views
from queueops import control, inspect
from queueops.errors import BrokerUnavailable
from queueops.inspect import TaskQuery
from queueops.inspect.selection import Extent
from queueops.model.contracts import Outcome as Ended
from queueops.model.contracts import Row
from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db
FAILED = "/ops/tasks/?state=failed"


@pytest.fixture
def desk(namespace: str) -> Desk:
    return Desk(get_broker())


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks a step, and one step a request."""
    for module in (bulk, views):
        monkeypatch.setattr(module, "MOST", 2)
    monkeypatch.setattr(bulk, "SECONDS", 0.0)


def fail(desk: Desk, *ids: str, fingerprint: str = "f1") -> None:
    desk.push(*ids)
    error = b'{"fingerprint":"%s","type":"ValueError","message":"bad"}' % fingerprint.encode()
    for lease in desk.claim(len(ids)):
        answer = desk.settle(lease, Ended.ERROR, error, delay_ms=-1, fingerprint=fingerprint, title="ValueError: bad")
        assert answer == "OK"


def states(*ids: str) -> list[str]:
    found = (inspect.task(id) for id in ids)
    return [task.state if task else "" for task in found]


def told(answer: HttpResponse) -> str:
    """The text of a page."""
    page = answer.content.decode().split("<main")[1].split("</main>")[0]
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


def the_whole() -> AuditEntry:
    return AuditEntry.objects.filter(part_of=None).latest("pk")


def go_on(client: Client, times: int = 1) -> None:
    for _ in range(times):
        assert client.post(f"/ops/audit/{the_whole().pk}/_go_on").status_code == 302


def test_all_of_one_error_are_retried_and_no_other(desk: Desk, operator: Client) -> None:
    fail(desk, "a", "b", "c")
    fail(desk, "other", fingerprint="f2")
    assert "/ops/tasks/_all_retry?error=f1" in operator.get("/ops/tasks/?error=f1").content.decode()
    question = told(operator.post("/ops/tasks/_all_retry?error=f1"))
    assert "Retry: all 3 tasks that match" in question
    assert states("a", "b", "c") == ["failed"] * 3
    operator.post("/ops/tasks/_all_retry?error=f1", {"confirmed": "3", "reason": "mended"})
    assert states("a", "b", "c", "other") == ["pending"] * 3 + ["failed"]
    entry = AuditEntry.objects.get()
    assert (entry.filter, entry.changed, entry.reason) == ({"error": "f1"}, 3, "mended")
    desk.check()


@pytest.mark.parametrize(("outcome", "is_told"), [(Ended.SUCCESS, True), (Ended.ERROR, False)])
def test_of_what_has_succeeded_alone_it_is_said_that_it_is_done_once_more(
    outcome: Ended, is_told: bool, desk: Desk, operator: Client
) -> None:
    desk.push("a")
    desk.settle(desk.claim(1)[0], outcome, b"1" if is_told else b"{}", delay_ms=-1)
    (state,) = states("a")
    question = told(operator.post(f"/ops/tasks/_all_retry?state={state}"))
    assert "A part that runs again alone does not change its parent task" not in question
    assert ("repeats its effects" in question) is is_told


def test_what_a_list_is_filtered_by_stands_above_it(desk: Desk, operator: Client) -> None:
    fail(desk, "a")
    assert "Error: ValueError (f1)" in told(operator.get("/ops/tasks/?error=f1")).partition("1 task")[0]


def test_the_question_names_those_that_match_and_no_others(desk: Desk, operator: Client) -> None:
    desk.push("a", name="shop.charge")
    desk.push("b", "c", name="shop.mail")
    assert "By name shop.mail 2 shop.charge 1" in told(operator.post("/ops/tasks/_all_cancel?state=pending"))
    question = told(operator.post("/ops/tasks/_all_cancel?state=pending&name=shop.charge"))
    assert "the 1 task that matches" in question
    assert "shop.mail" not in question


def test_no_more_are_touched_than_were_confirmed(desk: Desk, operator: Client) -> None:
    fail(desk, "a", "b", "c")
    operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "2"})
    assert sorted(states("a", "b", "c")) == ["failed", "pending", "pending"]


def test_over_a_thousand_want_the_count_typed(desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(desk, "a")
    monkeypatch.setattr(views, "extent", lambda query: Extent(30_000, exact=True))
    url = "/ops/tasks/_all_retry?state=failed"
    assert "Type 30000 to confirm" in told(operator.post(url))
    for wrong in ({}, {"typed": "30000"}, {"typed": "3000", "reason": "x"}):
        assert operator.post(url, {"confirmed": "30000", **wrong}).status_code == 422
    assert states("a") == ["failed"]
    operator.post(url, {"confirmed": "30000", "typed": "30000", "reason": "x"})
    assert states("a") == ["pending"]


@pytest.mark.usefixtures("small_steps")
def test_the_entry_of_a_retry_leads_to_its_tasks_in_any_state(desk: Desk, operator: Client) -> None:
    fail(desk, *(f"t{number}" for number in range(5)))
    page = operator.post("/ops/tasks/_all_retry?error=f1", {"confirmed": "5"}, follow=True).content.decode()
    assert 'href="/ops/tasks/?name=tests.noop"' in page
    fail(desk, *(f"u{number}" for number in range(5)))
    page = operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "5"}, follow=True).content.decode()
    assert "In any state" not in page  # it would be the list of all tasks


@pytest.mark.usefixtures("small_steps")
def test_many_are_done_in_steps_that_leave_alone_what_came_in_later(desk: Desk, operator: Client) -> None:
    ids = [f"t{number}" for number in range(5)]
    fail(desk, *ids)
    answer = operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "5"}, follow=True)
    assert "2 of at most 5 checked, 2 changed" in told(answer)
    assert "data-go-on" in answer.content.decode()
    assert states(*ids).count("pending") == 2
    desk.push("late", priority=10)
    late = desk.lease()
    assert late.id == "late"
    desk.settle(late, Ended.ERROR, b"{}", delay_ms=-1, fingerprint="f1", title="x")
    go_on(operator, 2)
    assert states(*ids, "late") == ["pending"] * 5 + ["failed"]
    page = operator.get("/ops/audit/")
    assert "Retry: 5 tasks." in told(page)
    assert page.content.decode().count('id="a-') == 1  # its parts stand on its own page
    assert [part.changed for part in the_whole().parts.all()] == [1, 2, 2]
    assert the_whole().outcome == Outcome.DONE
    report = operator.get(f"/ops/audit/{the_whole().pk}/")
    assert "data-go-on" not in report.content.decode()
    assert "5 of 5 changed" in told(report)
    desk.check()


@pytest.mark.usefixtures("small_steps")
def test_an_action_goes_on_by_itself_only_where_somebody_goes_on_with_it(desk: Desk, operator: Client) -> None:
    fail(desk, "a", "b", "c")
    operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "3"})
    paused = operator.get(f"/ops/audit/{the_whole().pk}/").content.decode()
    assert "data-go-on" not in paused
    assert "Continue" in paused


@pytest.mark.usefixtures("small_steps")
def test_an_outage_in_the_middle_keeps_the_place(desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(desk, "a", "b", "c")
    operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "3"})

    def down(*_: object, **__: object) -> None:
        raise BrokerUnavailable(url="redis://host/0", attempts=5, reason="refused")

    with monkeypatch.context() as patched:
        patched.setattr(control, "retry", down)
        assert operator.post(f"/ops/audit/{the_whole().pk}/_go_on").status_code == 503
    assert the_whole().goes_on
    go_on(operator)
    assert states("a", "b", "c") == ["pending"] * 3


@pytest.mark.usefixtures("small_steps")
def test_a_mass_cancel_is_taken_back_in_steps_too(desk: Desk, operator: Client) -> None:
    ids = [f"t{number}" for number in range(5)]
    desk.push(*ids)
    operator.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": "5", "reason": "wrong tenant"})
    go_on(operator, 2)
    assert states(*ids) == ["cancelled"] * 5
    task = inspect.task("t0")
    assert task is not None
    assert task.reason == "wrong tenant"
    whole = the_whole()
    answer = operator.post(f"/ops/audit/{whole.pk}/_undo", follow=True)
    assert "2 of at most 5 checked, 2 changed" in told(answer)
    assert "data-go-on" in answer.content.decode()
    assert states(*ids).count("cancelled") == 3
    operator.post(f"/ops/audit/{whole.pk}/_undo")  # who begins it again goes on
    assert states(*ids).count("cancelled") == 1
    go_on(operator, 2)
    assert "Undo: Cancel: 5 tasks." in told(operator.get("/ops/audit/"))
    assert states(*ids) == ["pending"] * 5
    assert (the_whole().undoes, the_whole().outcome) == (whole, Outcome.DONE)
    assert AuditEntry.objects.filter(part_of=None).count() == 2
    assert "Undo" not in told(operator.get(f"/ops/audit/{whole.pk}/"))
    assert list(undo.open_parts(whole)) == []
    desk.check()


@pytest.mark.usefixtures("small_steps")
def test_going_on_and_undoing_need_the_permission_of_the_action(
    desk: Desk, administrator: Client, client_of: Callable[..., Client]
) -> None:
    fail(desk, "a", "b", "c")
    administrator.post("/ops/tasks/_all_delete?state=failed", {"confirmed": "3"})
    operator = client_of("operators")
    for what in ("_go_on", "_undo"):
        assert operator.post(f"/ops/audit/{the_whole().pk}/{what}").status_code == 403
    assert states("a", "b", "c").count("failed") == 1


def test_a_reason_that_was_given_to_cancel_stands_at_the_task(desk: Desk, operator: Client) -> None:
    desk.push("a")
    operator.post("/ops/tasks/a/_cancel", {"pool": "default", "reason": "wrong tenant"})
    task = inspect.task("a")
    assert task is not None
    assert (task.state, task.reason) == ("cancelled", "wrong tenant")


@pytest.mark.parametrize("params", ["", "?name=demo.task", "?state=failed&id=a", "?state=locked&name=x"])
def test_all_is_offered_only_for_a_state_that_allows_something(params: str, desk: Desk, operator: Client) -> None:
    fail(desk, "a")
    offered = operator.get(f"/ops/tasks/{params}").content.decode()
    assert "_all_retry" not in offered
    assert "_all_" in operator.get(FAILED).content.decode()


@pytest.mark.parametrize("params", ["", "?state=nonsense", "?state=failed&name=a%23b"])
def test_no_filter_and_a_wrong_one_do_nothing(params: str, desk: Desk, operator: Client) -> None:
    fail(desk, "a")
    assert operator.post(f"/ops/tasks/_all_retry{params}", {"confirmed": "1"}).status_code in (302, 400)
    assert (states("a"), AuditEntry.objects.count()) == (["failed"], 0)


def test_a_list_says_how_many_match_where_an_index_holds_just_those(desk: Desk, operator: Client) -> None:
    fail(desk, "a")
    desk.push("b", lane="slow")
    for params, exact in (
        ({"state": "failed"}, True),
        ({"state": "failed", "pool": "default"}, True),
        ({"state": "failed", "error": "f1"}, True),
        ({"state": "pending", "lane": "slow"}, True),
        ({"state": "failed", "lane": "default"}, False),
        ({"state": "failed", "kind": "task"}, False),
    ):
        page = inspect.tasks(TaskQuery(**params))
        assert (params, page.total, page.exact) == (params, 1, exact)
    for filters in ("lane=default", "pool=default"):
        assert "at most" not in told(operator.get(f"/ops/tasks/?state=failed&{filters}")), "the first page has all"


def test_a_list_of_two_facets_says_how_many_match_where_a_counter_knows_it(desk: Desk, operator: Client) -> None:
    fail(desk, "a", "b")
    desk.push("c", name="shop.other")
    assert "1 task " in told(operator.get("/ops/tasks/?state=pending&name=shop.other")).rpartition("Since")[0]
    page = told(operator.get("/ops/tasks/?kind=chain"))
    assert "No tasks" in page
    assert "at most" not in page


def test_an_error_stands_in_the_list_without_its_module(desk: Desk, operator: Client) -> None:
    desk.push("a", "b")
    for lease, kind in zip(desk.claim(2), ("shop.errors.NoStock", "no type at all.. "), strict=True):
        error = b'{"fingerprint":"f","type":"%s","message":"6: of pots"}' % kind.encode()
        desk.settle(lease, Ended.ERROR, error, delay_ms=-1, fingerprint="f", title="x")
    page = told(operator.get(FAILED))
    assert "NoStock: 6: of pots" in page
    assert "no type at all.. : 6: of pots" in page
    assert "shop.errors" not in page


@pytest.mark.usefixtures("small_steps")
def test_two_who_go_on_at_once_count_each_task_once(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(desk, "a", "b", "c", "d", "e")
    operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "5"})
    done = control.retry

    def overtaken(ids: list[str], **named: str) -> list[Row]:
        """Another request goes on with the same tasks just before."""
        monkeypatch.setattr(control, "retry", done)
        go_on(operator)
        return done(ids, **named)

    monkeypatch.setattr(control, "retry", overtaken)
    go_on(operator)
    assert (the_whole().seen, the_whole().changed) == (4, 4)
    go_on(operator)
    assert states("a", "b", "c", "d", "e") == ["pending"] * 5
    assert (the_whole().changed, the_whole().outcome) == (5, Outcome.DONE)
    desk.check()


@pytest.mark.parametrize("filter_", ["state=failed", "state=failed&name=tests.noop"])
def test_what_came_in_since_the_question_is_left_alone(filter_: str, desk: Desk, administrator: Client) -> None:
    fail(desk, "a", "b", "c")
    url = f"/ops/tasks/_all_delete?{filter_}"
    question = administrator.post(url).content.decode()
    asked = dict(re.findall(r'name="(asked_ms|confirmed)" value="(\d+)"', question))
    wait_until(lambda: inspect.now_ms() > int(asked["asked_ms"]))
    fail(desk, "late")
    administrator.post(url, asked | {"typed": asked["confirmed"], "reason": "x"})
    assert states("a", "b", "c", "late") == [""] * 3 + ["failed"]


@pytest.mark.usefixtures("small_steps")
def test_what_each_of_two_did_of_one_step_is_counted(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(desk, "a", "b", "c", "d")
    operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "4"})
    done = control.retry

    def halved(ids: list[str], **named: str) -> list[Row]:
        """One task is ours, then another request goes on with both."""
        monkeypatch.setattr(control, "retry", done)
        first = done(ids[:1], **named)
        go_on(operator)
        return first + done(ids[1:], **named)

    monkeypatch.setattr(control, "retry", halved)
    go_on(operator)
    assert (the_whole().seen, the_whole().changed, the_whole().outcome) == (4, 4, Outcome.DONE)


@pytest.mark.usefixtures("small_steps")
def test_two_who_take_back_at_once_count_each_task_once(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.push("a", "b", "c", "d")
    operator.post("/ops/tasks/_all_move?state=pending", {"confirmed": "4", "lane": "slow"})
    go_on(operator)
    whole = the_whole()
    done = control.move

    def overtaken(ids: list[str], *lane: str, **named: str) -> list[Row]:
        """Another request takes all of the rest back just before."""
        monkeypatch.setattr(control, "move", done)
        go_on(operator)
        return done(ids, *lane, **named)

    monkeypatch.setattr(control, "move", overtaken)
    operator.post(f"/ops/audit/{whole.pk}/_undo")
    go_on(operator)
    undoing = the_whole()
    assert (undoing.undoes, undoing.seen, undoing.changed, undoing.outcome) == (whole, 4, 4, Outcome.DONE)


@pytest.mark.usefixtures("small_steps")
def test_no_link_makes_an_action_go_on(desk: Desk, operator: Client, client_of: Callable[..., Client]) -> None:
    fail(desk, "a", "b", "c")
    going = operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "3"}).headers["Location"]
    assert "data-go-on" in operator.get(going).content.decode()
    page = f"/ops/audit/{the_whole().pk}/"
    for link in (f"{page}?going=1", f"{page}?going=", f"{going}x"):
        assert "data-go-on" not in operator.get(link).content.decode()
    somebody_else = client_of("administrators")
    assert "data-go-on" not in somebody_else.get(going).content.decode()


@pytest.mark.usefixtures("small_steps")
def test_an_undo_that_was_left_just_before_its_end_comes_to_it(desk: Desk, operator: Client) -> None:
    desk.push("a", "b", "c")
    operator.post("/ops/tasks/_all_cancel?state=pending", {"confirmed": "3"})
    go_on(operator)
    whole = the_whole()
    operator.post(f"/ops/audit/{whole.pk}/_undo")
    go_on(operator, 2)
    undoing = AuditEntry.objects.filter(undoes=whole)
    undoing.update(place="", outcome=Outcome.BEGUN)
    operator.post(f"/ops/audit/{whole.pk}/_undo")
    assert undoing.values_list("place", "outcome", "changed").get() == (None, Outcome.DONE, 3)


def test_what_came_before_the_stores_clock_was_set_back_is_meant_too(desk: Desk, operator: Client) -> None:
    fail(desk, "a", "b")
    desk.client.zadd(desk.keys.state("failed"), dict.fromkeys(("a", "b"), desk.now() + 3_600_000))
    operator.post("/ops/tasks/_all_retry?state=failed", {"confirmed": "2"})
    assert states("a", "b") == ["pending"] * 2
