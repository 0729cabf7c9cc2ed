"""A kind in one folder is shown and acted on as every task, and brings pages of its own."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.contrib.messages import get_messages
from django.contrib.messages.storage.cookie import CookieStorage
from django.test import Client, RequestFactory
from django.urls import clear_url_caches
from django.utils.html import escape

from console import urls
from console.access import denials, permissions
from console.access.permissions import Verb
from console.actions import catalog, undo
from console.actions.perform import tell
from console.audit import diff
from console.diagram.layout import NARROW, WIDE
from console.diagram.machine import draw_task
from console.models import AuditEntry, Outcome
from console.templatetags.console import goes_on
from console.ui import links, state_badges
from console.ui.kind_pages import fact_labels
from console.ui.state_badges import Look
from queueops import control, get, inspect
from queueops.model.contracts import Push, RoundTrip
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.console.standin import World
from tests.kinds.sample import KIND, NAME, registered
from tests.kinds.sample.pages import PAGES


@pytest.fixture
def urls_anew() -> Iterator[None]:
    """Django reads the URLs anew, and the console has its own permissions after the test."""
    table, taking = dict(permissions.TABLE), set(permissions.TAKING_ARGUMENTS)
    yield
    read_urls()
    for found, before in ((permissions.TABLE, table), (permissions.TAKING_ARGUMENTS, taking)):
        found.clear()
        found.update(before)


@pytest.fixture
def sample(namespace: str, urls_anew: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kind, whose rounds return the id of their task, with its URLs."""
    with registered(lambda context: context.id), monkeypatch.context() as patch:
        own = [*map(urls._of_kind, PAGES.routes), *(urls._of_tab(tab.name) for tab in PAGES.tabs)]
        patch.setattr(urls, "urlpatterns", [*own, *urls.urlpatterns])
        read_urls()
        yield


def read_urls() -> None:
    """Let Django read the URLs anew."""
    importlib.reload(importlib.import_module(settings.ROOT_URLCONF))
    clear_url_caches()


@pytest.mark.django_db
def test_it_brings_a_tab_a_page_with_its_permission_and_a_part_of_the_overview(
    sample: None, operator: Client, viewer: Client
) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    assert run_worker() == 3
    assert 'href="/ops/tasks/a/rounds/?pool=default"' in operator.get("/ops/tasks/a/").content.decode()
    three = " ".join(['"a"'] * 3)
    assert f"Rounds: {escape(three)}" in viewer.get("/ops/tasks/a/rounds/").content.decode()
    assert viewer.get("/ops/tasks/a/_live?tab=rounds").status_code == 200
    assert operator.get("/ops/rounds/a/").content.decode() == three
    assert viewer.get("/ops/rounds/a/").status_code == 403
    assert "Rounds in " in viewer.get("/ops/").content.decode()


@pytest.mark.django_db
def test_its_states_are_shown_with_their_words_and_the_look_of_their_class(sample: None, operator: Client) -> None:
    broker = get_broker()
    broker.push([Push(id=id, name=NAME, kind=KIND.name) for id in ("a", "b")])
    assert control.rest("b") == "OK"
    broker.exchange("default", "w1", RoundTrip(want=1))
    for id, state, css_class in (("a", "turning", "st-locked"), ("b", "resting", "st-idle")):
        page = operator.get(f"/ops/tasks/{id}/").content.decode()
        assert re.search(rf'class="state {css_class}"[^>]*>.*?{state}', page, re.S)
        assert f"/ops/tasks/{id}/_cancel" in page
        listed = operator.get(f"/ops/tasks/?state={state}").content.decode()
        assert [each for each in ("a", "b") if f'href="/ops/tasks/{each}/' in listed] == [id]
        assert f"?state={state}" in operator.get("/ops/tasks/").content.decode()
    rows = inspect.tasks(inspect.TaskQuery(kind=KIND.name).checked()).rows
    assert {row.id: goes_on(row) for row in rows} == {"a": True, "b": True}
    assert operator.get("/ops/").status_code == 200
    assert operator.get("/ops/tasks/b/why/").status_code == 200


@pytest.mark.django_db
def test_it_brings_a_fact_of_its_tasks_and_names_their_retry(sample: None, operator: Client) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    assert run_worker() == 3
    get_broker().push([Push(id="b", name="tests.add")])
    page = operator.get("/ops/tasks/a/").content.decode()
    assert "<dt>Rounds ended</dt><dd>3</dd>" in page
    assert "Run all rounds again</button>" in page
    assert "Rounds ended" not in operator.get("/ops/tasks/b/").content.decode()
    assert str(catalog.ACTIONS["retry"].note).endswith(" The first round comes first.")


@pytest.mark.django_db
def test_it_is_found(sample: None, operator: Client) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    page = operator.get("/ops/find/?q=no+such+thing")
    assert "Find a task, name, lane, worker, error, round or schedule" in page.content.decode()
    assert "for the id of a workflow instance, the id of a round or the number of a process" in page.content.decode()
    assert operator.get("/ops/find/?q=Three+rounds").headers["Location"] == "/ops/tasks/a/"


@pytest.mark.django_db
def test_its_verb_has_its_words_in_the_console_and_in_the_audit_log(sample: None, rf: RequestFactory) -> None:
    action = catalog.Action("skip_round", print, "Skip", url="round-skip")
    assert catalog.label("skip_round") == "Skip a round"
    assert catalog.label("undo skip_round") == "Undo: Skip a round"
    assert catalog.sentence(action, "2 rounds") == "Go on behind 2 rounds"
    assert action.is_destructive
    assert catalog.is_reasoned(action)
    assert "skip_round" in catalog.verbs()
    assert denials._verb_of("round-skip") == "skip_round"
    before = {"pool": "default", "calls": 7, "rounds_left": 2}
    entry = AuditEntry(verb="skip_round", outcome=Outcome.DONE, changed=2, before=before)
    entry.save()
    assert [step.call() for step in undo.steps(entry)] == [7]
    assert [fact.label for fact in diff.of_facts(entry, fact_labels())][:2] == ["Rounds left", "calls"]
    request = rf.get("/")
    request._messages = CookieStorage(request)  # type: ignore[attr-defined]
    tell(request, entry)
    assert [str(message) for message in get_messages(request)] == ["Skip a round: 2 rounds."]
    assert catalog.afterwards("skip_round") == "Two rounds are left."


@pytest.mark.django_db
def test_its_parts_have_a_page_and_count_in_a_pool(sample: None, operator: Client) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    assert links.task_url("a#r2", "default") == "/ops/rounds/a/?pool=default"
    assert links.task_url("a", "default") == "/ops/tasks/a/?pool=default"
    assert operator.get("/ops/find/?q=a%23r2").headers["Location"] == "/ops/rounds/a/?pool=default"
    page = operator.get("/ops/").content.decode()
    assert '<abbr title="1 tasks, 2 rounds">' in page
    assert '<abbr title="0 tasks, 1 rounds">1</abbr>' in page


@pytest.mark.django_db
def test_an_edit_that_loses_its_rounds_asks_for_their_number(sample: None, operator: Client) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    assert run_worker() == 3
    page = operator.get("/ops/tasks/a/edit/").content.decode()
    assert "All three rounds are deleted." in page
    assert 'name="confirmed" value="3"' in page
    answer = operator.post("/ops/tasks/a/_edit", {"args": "[]", "kwargs": "{}"})
    assert answer.status_code == 422
    assert "or the reason is missing. Type the number of rounds." in answer.content.decode()


def test_the_diagram_has_its_states_and_ways(sample: None) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    task = inspect.task("a")
    assert task is not None
    wide, narrow = draw_task(task)
    assert {box.state for box in wide.boxes} == {"pending", "waiting", "succeeded"}
    assert ("pending", "waiting") in {(way.source, way.target) for way in wide.ways}
    assert ("pending", "waiting") not in {(way.source, way.target) for way in narrow.ways}
    assert (WIDE.places["skipped"], NARROW.places["skipped"]) == ((450, 240), (170, 500))
    assert state_badges.look("skipped") == Look("zzz", "rests between two rounds", "st-idle")


def test_a_route_may_not_take_the_name_of_another_url(sample: None) -> None:
    with pytest.raises(LookupError, match="two URLs of the console have the name task-delete"):
        permissions.permit("task-delete", Verb.VIEW)
    assert permissions.TABLE["task-delete"] is Verb.DESTROY


def test_a_route_needs_a_permission(urls_anew: None) -> None:
    with pytest.raises(TypeError, match="the URL rounds needs a permission of the console, and None is none"):
        permissions.permit("rounds", None)  # type: ignore[arg-type]
    assert "rounds" not in permissions.TABLE


@pytest.mark.django_db
def test_a_worker_runs_it_and_a_page_shows_it(sample: None, administrator: Client) -> None:
    get_broker().push([Push(id="a", name=NAME, kind=KIND.name)])
    assert run_worker() == 3
    found = inspect.task("a")
    assert (found.kind, found.name, found.state) == (KIND.name, NAME, "succeeded")
    assert get("a").state == "succeeded"
    page = administrator.get("/ops/tasks/a/").content.decode()
    assert NAME in page
    assert "/ops/tasks/a/_retry" in page
    assert "/ops/tasks/a/" in administrator.get(f"/ops/tasks/?kind={KIND.name}").content.decode()
    assert "/ops/tasks/a/" not in administrator.get("/ops/tasks/?kind=mapreduce").content.decode()
    assert NAME in administrator.get("/ops/tasks/a/timeline/").content.decode()
    assert [row.state for row in control.retry(["a"])] == ["pending"]
    assert run_worker() == 3


@pytest.mark.django_db
def test_the_links_of_kinds_stand_in_their_groups_and_a_page_marks_its_section(world: World, operator: Client) -> None:
    page = operator.get("/ops/mapreduce/").content.decode()
    side = page.partition('<nav id="side')[2].partition("</nav>")[0]
    groups = {
        name: re.findall(r'href="/ops/([\w-]+)/"', links.partition("</details>")[0])
        for name, links in re.findall(r'<details id="side-(\w+)"(.*?)(?=<details|$)', side, re.S)
    }
    assert groups["work"][-2:] == ["workflows", "schedules"]
    assert groups["jobs"] == ["aggregations", "callbacks", "files", "api-tokens"]
    assert groups["fleet"] == ["lanes", "workers", "registry", "pool-messages"]
    assert re.findall(r'href="/ops/([\w-]+)/"[^>]*aria-current', side) == ["tasks"]
