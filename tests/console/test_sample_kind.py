"""A kind in one folder is shown and acted on as every task, and brings pages of its own."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from django.urls import clear_url_caches
from django.utils.html import escape

from console import urls
from console.access import permissions
from console.access.permissions import Verb
from console.templatetags.console import goes_on
from queueops import control, get, inspect
from queueops.model.contracts import Push, RoundTrip
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
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
