"""When an action asks first, and how it is taken back."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from msgspec.structs import replace

from console.actions.catalog import ACTIONS, AGAIN, on_all, sentence
from console.actions.confirmation import Need, is_confirmed, need
from console.kinds.jobs.callback_pages import OWN
from console.models import AuditEntry, Outcome
from queueops import control, inspect
from tests.console.standin import World
from tests.support.for_each import for_each

pytestmark = pytest.mark.django_db


def ticked(count: int) -> list[str]:
    return [f"default t{number}" for number in range(count)]


@pytest.mark.parametrize(
    ("count", "irreversible", "needed"),
    [(1, False, Need.NOTHING), (20, False, Need.NOTHING), (21, False, Need.ASK), (1000, False, Need.ASK),
     (1001, False, Need.TYPE), (1, True, Need.TYPE)],
)  # fmt: skip
def test_how_much_is_asked_follows_from_how_many_and_from_the_way_back(
    count: int, irreversible: bool, needed: Need
) -> None:
    assert need(count, irreversible=irreversible) is needed


@for_each(
    ("needed", "sent", "so"),
    [
        (Need.ASK, {}, False),
        (Need.ASK, {"confirmed": "6"}, False),
        (Need.ASK, {"confirmed": "5"}, True),
        (Need.TYPE, {"confirmed": "5"}, False),
        (Need.TYPE, {"confirmed": "5", "typed": "5"}, False),
        (Need.TYPE, {"confirmed": "5", "typed": "4", "reason": "x"}, False),
        (Need.TYPE, {"confirmed": "5", "typed": "5", "reason": " "}, False),
        (Need.TYPE, {"confirmed": "5", "typed": " 5 ", "reason": "x"}, True),
    ],
)
def test_a_confirmation_is_for_just_this_many(needed: Need, sent: dict[str, str], so: bool) -> None:
    assert is_confirmed(needed, 5, sent) is so
    many = {"3365": True, "3.365": True, "3\u202f365": True, "3.36.5": False, "3,36": False, "33.65": False}
    typed = {text: is_confirmed(Need.TYPE, 3365, {"confirmed": "3365", "typed": text, "reason": "x"}) for text in many}
    assert typed == many, "a German page writes 3.365"
    millions = {"confirmed": "1234567", "typed": "1,234,567", "reason": "x"}
    assert is_confirmed(Need.TYPE, 1_234_567, millions)


def test_twenty_rows_act_at_once_and_twenty_one_ask(world: World, operator: Client) -> None:
    assert operator.post("/ops/tasks/_retry", {"task": ticked(20)}).status_code == 302
    world.calls.clear()
    question = operator.post("/ops/tasks/_retry", {"task": ticked(21), "next": "/ops/tasks/?state=failed"})
    assert question.status_code == 200
    assert "21 tasks" in question.content.decode()
    assert world.calls == []
    answer = operator.post("/ops/tasks/_retry", {"task": ticked(21), "confirmed": "21"})
    assert answer.status_code == 302
    assert len(world.calls) == 1


BUTTON = re.compile(
    r'<button type="submit" class="btn (btn-\w+)">(?:<svg.*?</svg>)?([^<]+)</button>'
    r'\s*<a class="btn" href="[^"]+">(.*?)</a>'
)


@pytest.mark.parametrize(
    ("verb", "count", "colour", "words"),
    [
        ("retry", 21, "btn-primary", "Retry 21 tasks"),
        ("run_now", 21, "btn-primary", "Run 21 tasks now"),
        ("cancel", 400, "btn-danger", "Cancel 400 tasks"),
        ("delete", 400, "btn-danger", "Delete 400 tasks"),
        ("discard", 1, "btn-danger", "Discard 1 task"),
    ],
)
def test_the_button_that_confirms_names_verb_and_number_and_the_way_back(
    verb: str, count: int, colour: str, words: str, world: World, administrator: Client
) -> None:
    page = administrator.post(f"/ops/tasks/_{verb}", {"task": ticked(count)}).content.decode()
    assert BUTTON.findall(page) == [(colour, words, "Go back")]


def test_an_action_with_a_label_of_its_own_has_its_own_button() -> None:
    retry = ACTIONS["retry"]
    assert [sentence(each, "2 callbacks") for each in OWN] == [
        "Redeliver 2 callbacks",
        "Discard 2 callbacks",
        "Discard 2 callbacks",
    ]
    assert sentence(retry._replace(label=AGAIN[0], phrase=AGAIN[2]), "a") == "Run a again"
    assert sentence(retry._replace(label="Try"), "a") == "Try a"
    assert (sentence(retry, "a"), on_all(retry)) == ("Retry a", "Retry all")


def test_the_button_for_all_that_match_has_the_number_with_separators(
    world: World, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = world.tasks
    monkeypatch.setattr(inspect, "tasks", lambda *values, **named: replace(whole(*values, **named), total=980_000))
    page = administrator.post("/ops/tasks/_all_cancel?state=pending").content.decode()
    assert BUTTON.findall(page) == [("btn-danger", "Cancel 980,000 tasks", "Go back")]


def test_the_stop_of_a_worker_names_the_worker_and_is_red(world: World, administrator: Client) -> None:
    page = administrator.post("/ops/workers/host:1/_stop").content.decode()
    assert BUTTON.findall(page) == [("btn-danger", "Stop host:1", "Go back")]
    german = administrator.post("/ops/workers/host:1/_stop", headers={"Accept-Language": "de"}).content.decode()
    assert "host:1 stoppen</button>" in german, "a name keeps its letters"


def test_what_cannot_be_undone_wants_the_count_typed_and_a_reason(world: World, administrator: Client) -> None:
    world.states["task-1"] = "quarantined"
    first = administrator.post("/ops/tasks/task-1/_discard", {"pool": "default"})
    assert first.status_code == 200
    wrong = administrator.post("/ops/tasks/task-1/_discard", {"pool": "default", "confirmed": "1", "typed": "2"})
    assert wrong.status_code == 422
    assert world.calls == []
    right = {"pool": "default", "confirmed": "1", "typed": "1", "reason": "it is broken"}
    assert administrator.post("/ops/tasks/task-1/_discard", right).status_code == 302
    assert AuditEntry.objects.get().reason == "it is broken"


@pytest.mark.parametrize("verb", ["quiet", "stop"])
def test_a_worker_is_told_once_it_was_confirmed_with_what_that_means(
    verb: str, world: World, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = administrator.post(f"/ops/workers/host:1/_{verb}").content.decode()
    assert world.calls == []
    assert "The worker runs 1 task now." in page
    assert "No other live worker serves demo.task: tasks there keep waiting." in page
    assert ("return to their lanes" in page) == (verb == "stop")
    administrator.post(f"/ops/workers/host:1/_{verb}", {"confirmed": "1"})
    assert [call for call, _ in world.calls] == [f"{verb}_worker"]
    monkeypatch.setattr(control, f"{verb}_worker", lambda id: False)
    administrator.post(f"/ops/workers/host:1/_{verb}", {"confirmed": "1"})
    told = administrator.get("/ops/workers/").content.decode()
    assert f"{verb.title()}: host:1: it does not exist any more.</p>" in told


def test_more_than_five_hundred_are_refused(world: World, operator: Client) -> None:
    answer = operator.post("/ops/tasks/_retry", {"task": ticked(501), "confirmed": "501"})
    assert answer.status_code == 400
    assert world.calls == []


def undo(client: Client) -> AuditEntry:
    done = AuditEntry.objects.latest("pk")
    answer = client.post(f"/ops/audit/{done.pk}/_undo", {"next": "/ops/tasks/"})
    assert answer.status_code == 302
    return AuditEntry.objects.latest("pk")


def test_a_delete_is_taken_back_once(world: World, administrator: Client) -> None:
    administrator.post("/ops/tasks/_delete", {"task": ["default task-1", "default no-more"]})
    assert "Undo" in administrator.get("/ops/tasks/").content.decode()
    world.calls.clear()
    done = AuditEntry.objects.get()
    taken_back = undo(administrator)
    assert world.calls == [("restore", (["task-1"], (), {}))]  # not the one that was not deleted
    assert (taken_back.verb, taken_back.undoes, taken_back.changed) == ("undo delete", done, 1)
    world.calls.clear()
    administrator.post(f"/ops/audit/{done.pk}/_undo")
    assert world.calls == []


def test_a_postponement_is_taken_back_to_where_the_task_was(world: World, operator: Client) -> None:
    due = world.task("a/b:c").due_ms  # type: ignore[union-attr]
    operator.post("/ops/tasks/_postpone", {"task": ["default task-2", "default a/b:c"], "delay": "3600"})
    world.calls.clear()
    undo(operator)
    assert world.calls == [
        ("run_now", (["task-2"], (), {})),
        ("postpone", (["a/b:c"], (), {"until_ms": due})),
    ]


def test_a_task_that_was_running_when_it_was_cancelled_is_not_started_again(world: World, operator: Client) -> None:
    world.states["task-1"] = "locked"
    operator.post("/ops/tasks/task-1/_cancel", {"pool": "default"})
    world.calls.clear()
    operator.post(f"/ops/audit/{AuditEntry.objects.get().pk}/_undo")
    assert world.calls == []


def test_a_lanes_limit_is_taken_back(world: World, administrator: Client) -> None:
    administrator.post("/ops/lanes/default/slow/_set", {"limit": "9", "weight": "1"})
    world.calls.clear()
    undo(administrator)
    assert world.calls == [("set_lane", (("default", "slow"), {"limit": 2, "rate": None, "weight": 3}))]


def test_an_undo_that_failed_may_be_tried_again(world: World, administrator: Client) -> None:
    administrator.post("/ops/tasks/_delete", {"task": "default task-1"})
    done = AuditEntry.objects.get()
    AuditEntry.objects.create(actor_name="x", verb="undo delete", target="x", undoes=done, outcome=Outcome.FAILED)
    world.calls.clear()
    administrator.post(f"/ops/audit/{done.pk}/_undo")
    assert [verb for verb, _ in world.calls] == ["restore"]


def test_tasks_that_were_alike_are_taken_back_with_one_call(world: World, operator: Client) -> None:
    operator.post("/ops/tasks/_move", {"task": ["default task-1", "default task-2"], "lane": "fast"})
    world.calls.clear()
    undo(operator)
    assert world.calls == [("move", (["task-1", "task-2"], (), {"lane": "slow"}))]


def test_the_first_question_has_fields_like_any_form_and_no_errors(world: World, operator: Client) -> None:
    first = operator.post("/ops/tasks/task-1/_keep", {"pool": "default"})
    assert first.status_code == 200
    page = first.content.decode()
    assert 'for="id_days-all"' in page
    (field,) = re.findall(r"<input[^>]* name=\"days\"[^>]*>", page)
    assert 'class="form-control"' in field
    assert "This field is required." not in page
    again = operator.post("/ops/tasks/task-1/_keep", {"pool": "default", "confirmed": "1", "days": ""})
    assert again.status_code == 422
    assert "This field is required." in again.content.decode()
    assert world.calls == []
