"""What the pages show, keep and answer."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.test import Client
from django.urls import include, re_path, reverse
from msgspec import structs

from queueops import inspect
from queueops.errors import EmbeddedFailed, FilterError, StoreFull
from queueops.inspect import ChunkPage, LaneRow
from queueops.model.states import State, table
from tests.console.standin import World
from tests.console.standin_chunks import ChunkWorld
from tests.console.walk import PAGES, Address, for_each_address
from tests.support.for_each import for_each

pytestmark = pytest.mark.django_db
LIVE = (
    "overview-live",
    "tasks-rows",
    "task-live",
    "errors-rows",
    "error-live",
    "lanes-rows",
    "commands-rows",
    "aggregations-rows",
    "callbacks-rows",
    "workers-rows",
    "workflows-rows",
    "registry-rows",
)


@pytest.mark.parametrize("name", LIVE)
def test_a_fragment_that_has_not_changed_is_not_sent(name: str, world: World, operator: Client) -> None:
    pages = {"overview-live": "/ops/", "tasks-rows": "/ops/tasks/", "task-live": "/ops/tasks/task-1/"}
    pages["error-live"] = "/ops/errors/f00/"
    page = operator.get(pages.get(name, f"/ops/{name.removesuffix('-rows')}/")).content.decode()
    (address,) = re.findall(r'hx-get="(/ops/(?!_status|_history)[^"]+)"', page)
    address = address.replace("&amp;", "&")
    answer = operator.get(address, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (204, b"")
    changed = operator.get(address.replace("v=", "v=x"), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in changed
    assert "hx-get" in changed


@pytest.mark.parametrize("tab", ["children", "attempts", "timeline", "log", "why", "raw", "audit"])
def test_every_tab_of_a_task_lives(tab: str, world: World, operator: Client) -> None:
    page = operator.get(f"/ops/tasks/task-1/{tab}/").content.decode()
    (address,) = re.findall(r'hx-get="(/ops/(?!_status)[^"]+)"', page)
    assert operator.get(address.replace("&amp;", "&")).status_code == 204


def test_rows_stay_where_they_are_and_new_ones_wait(world: World, operator: Client) -> None:
    world.entered = {"task-1": 1000, "task-2": 900, "a/b:c": 800}
    page = operator.get("/ops/tasks/").content.decode()
    (address,) = re.findall(r'hx-get="(/ops/(?!_status)[^"]+)"', page)
    shown = re.findall(r'<tr id="(t-\w+)"', page)
    assert len(shown) == 3
    world.states |= {"new": "pending", "newer": "pending"}
    world.entered |= {"new": 2000, "newer": 3000}
    del world.states["task-2"]
    fresh = operator.get(address.replace("&amp;", "&")).content.decode()
    assert re.findall(r'<tr id="(t-\w+)"', fresh) == shown
    assert re.findall(r'<tr id="(t-\w+)" data-gone data-deleted="now deleted">', fresh) == [shown[1]]
    assert "3 new or changed: show" in fresh


def test_rows_that_come_up_from_further_down_are_not_new(world: World, operator: Client) -> None:
    world.entered = {"task-1": 1000, "task-2": 900, "a/b:c": 800}
    page = operator.get("/ops/tasks/").content.decode()
    (address,) = re.findall(r'hx-get="(/ops/(?!_status)[^"]+)"', page)
    world.states["old"] = "failed"
    world.entered["old"] = 10
    assert " new" not in re.sub(r"<[^>]+>", "", operator.get(address.replace("&amp;", "&v=")).content.decode())


def test_an_empty_list_takes_what_comes(world: World, operator: Client) -> None:
    world.states.clear()
    page = operator.get("/ops/tasks/").content.decode()
    assert "No task yet" in page
    (address,) = re.findall(r'hx-get="(/ops/(?!_status)[^"]+)"', page)
    world.states["first"] = "pending"
    assert "<tr id=" in operator.get(address.replace("&amp;", "&")).content.decode()


@for_each("state", table().states)
def test_only_what_a_state_allows_is_offered(state: State, world: World, administrator: Client) -> None:
    world.states["task-1"] = state
    page = administrator.get("/ops/tasks/task-1/").content.decode()
    head = page[page.index('class="actions"') : page.index('class="tabs"')]
    offered = set(re.findall(r'action="/ops/tasks/task-1/_(\w+)"', head))
    assert offered == set(table().actions[state]) - {"edit"} | ({"interrupt"} if state in table().under_way else set())
    assert ("/ops/tasks/task-1/edit/" in head) is ("edit" in table().actions[state])


@pytest.mark.parametrize("prefixed", [True, False])
def test_the_console_may_stand_below_the_language_of_a_project(
    prefixed: bool, world: World, administrator: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns = i18n_patterns(re_path("^ops/", include("console.urls")), prefix_default_language=prefixed)
    urls = ModuleType("urls_below_a_language")
    urls.urlpatterns = patterns  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, urls.__name__, urls)
    settings.ROOT_URLCONF, settings.LANGUAGE_CODE, settings.LANGUAGES = urls.__name__, "de", [("de", "Deutsch")]
    root = "/de/ops/" if prefixed else "/ops/"
    answer = administrator.get(root)
    assert answer.status_code == 200
    links = set(re.findall(r'(?:href|action|hx-get)="(/(?!static)[^"]*)"', answer.content.decode()))
    assert len(links) > 8
    assert {link for link in links if not link.startswith(root)} == set()


def test_a_project_may_give_the_console_a_namespace_of_its_own(
    world: World, administrator: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = ModuleType("urls_with_a_namespace")
    urls.urlpatterns = [re_path("^ops/", include("console.urls", namespace="backoffice"))]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, urls.__name__, urls)
    settings.ROOT_URLCONF = urls.__name__
    assert administrator.get("/ops/").status_code == 200
    assert (reverse("backoffice:tasks"), reverse("console:tasks")) == ("/ops/tasks/", "/ops/tasks/")


def test_the_login_of_a_project_may_stand_below_its_language(client: Client, settings: Any, monkeypatch: Any) -> None:
    login = i18n_patterns(re_path("^in/", lambda request: None, name="in"))
    urls = ModuleType("urls_with_a_login_below_a_language")
    urls.urlpatterns = [*login, re_path("^ops/", include("console.urls"))]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, urls.__name__, urls)
    settings.ROOT_URLCONF, settings.LANGUAGE_CODE, settings.LANGUAGES = urls.__name__, "de", [("de", "Deutsch")]
    settings.LOGIN_URL = "in"
    assert client.get("/ops/").headers["Location"] == "/de/in/?next=%2Fops%2F"


def test_a_project_needs_no_context_processors(world: World, administrator: Client, settings: Any) -> None:
    (engine,) = settings.TEMPLATES
    settings.TEMPLATES = [engine | {"OPTIONS": {"context_processors": []}}]
    page = administrator.get("/ops/tasks/?state=failed").content.decode()
    assert 'name="next" value="/ops/tasks/?state=failed"' in page
    world.down = True
    assert '<a class="btn btn-primary" href="/ops/lanes/">' in administrator.get("/ops/lanes/").content.decode()


@pytest.mark.parametrize("path", ["/ops/audit/", "/ops/login/", "/ops/nothing/"])
def test_a_page_is_in_one_language(
    path: str, world: World, administrator: Client, client: Client, settings: Any
) -> None:
    """Django's own catalogs know some of the words, such as Password, and Action where its admin is installed."""
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
    asking = client if "login" in path else administrator
    page = asking.get(path, headers={"Accept-Language": "fr"}).content.decode()
    assert '<html lang="en"' in page
    assert "Mot de passe" not in page
    page = asking.get(path, headers={"Accept-Language": "de"}).content.decode()
    assert '<html lang="de"' in page
    assert ("Passwort" in page) is ("login" in path)
    assert "Skip to content" not in page


@pytest.mark.parametrize("accepted", ["en", "de"])
def test_numbers_in_forms_are_what_a_browser_and_the_server_read(
    accepted: str, world: World, administrator: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a limit of 5,000 would be an empty field, which the next click on Set sends back as no limit."""
    settings.USE_THOUSAND_SEPARATOR = True
    lane = LaneRow(pool="default", lane="slow", ready=0, active=1234, limit=5000, weight=1000, rate=1234.5)
    row = ChunkWorld(world).row(12345)
    found_lane = structs.replace(inspect.lane("default", "slow"), row=lane)
    monkeypatch.setattr(inspect, "lane", lambda *_: found_lane)
    monkeypatch.setattr(inspect, "chunks", lambda *_, **__: ChunkPage(rows=(row,), next="", total=1))
    sent = {"Accept-Language": accepted}
    page = administrator.get("/ops/lanes/default/slow/", headers=sent).content.decode()
    found = dict(re.findall(r'name="(limit|rate|weight)"[^>]* value="([^"]*)"', page))
    assert found == {"limit": "5000", "rate": "1234.5", "weight": "1000"}
    page = administrator.get("/ops/mapreduce/count-1/", headers=sent).content.decode()
    assert re.findall(r'name="chunk" value="([^"]*)"', page) == ["12345"]


@pytest.mark.parametrize("outage", ["down", "embedded"])
@for_each_address(PAGES)
def test_an_outage_of_redis_is_a_page_and_never_a_500(
    address: Address, outage: str, world: World, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.down = outage == "down"
    if outage == "embedded":
        monkeypatch.setattr(world, "_ask", lambda: failed_to_start())
    answer = administrator.get(address.path, headers={"HX-Request": "true"} if "_" in address.path else {})
    assert answer.status_code in (200, 503, 404)
    if answer.status_code == 503:
        assert answer.headers["Retry-After"] == "5"
        assert "unreachable" in answer.content.decode()
        assert "hunter2" not in answer.content.decode()


def failed_to_start() -> None:
    raise EmbeddedFailed(directory="var/queueops", verb="start", reason="no space left")


def test_an_outage_during_an_action_is_recorded_and_told(world: World, administrator: Client) -> None:
    from console.models import AuditEntry, Outcome
    from queueops.errors import BrokerUnavailable

    world.broken = BrokerUnavailable(url="redis://user:hunter2@host/0", attempts=5, reason="gone")
    assert administrator.post("/ops/tasks/task-1/_retry", {"pool": "default"}).status_code == 503
    found = AuditEntry.objects.get()
    assert found.outcome == Outcome.UNKNOWN
    assert "hunter2" not in found.detail


def test_a_filter_that_is_not_understood_says_why(
    world: World, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = operator.get("/ops/tasks/?state=faild")
    assert answer.status_code == 400
    assert "did you mean &#x27;failed&#x27;?" in answer.content.decode()
    monkeypatch.setattr("queueops.inspect.tasks", lambda *_a, **_k: refuse())
    assert operator.get("/ops/tasks/?after=nonsense").status_code == 400
    assert operator.get("/ops/tasks/_rows?after=nonsense").status_code == 400


def refuse() -> None:
    raise FilterError(reason="the position in the list is not one of this list.")


def test_empty_fields_of_the_filter_leave_the_address(world: World, operator: Client) -> None:
    answer = operator.get("/ops/tasks/?name=&state=failed&id=")
    assert answer.headers["Location"] == "/ops/tasks/?state=failed"


@pytest.mark.parametrize("number", ["9" * 400, "-1", "1e9", "0", "x", "٣"])
def test_a_number_that_makes_no_sense_costs_nothing(number: str, world: World, operator: Client) -> None:
    assert operator.get(f"/ops/audit/?before={number}").status_code == 200
    assert operator.get(f"/ops/tasks/_rows?since={number}&shown={number}").status_code == 200


def test_a_page_marks_its_part_of_the_navigation(world: World, operator: Client) -> None:
    marked = re.compile(r'data-go="." aria-current="page">.*?<span>(.*?)</span>', re.DOTALL)
    parts = {"lanes/": "Lanes", "lanes/default/slow/": "Lanes", "pools/default/": "Lanes", "workflows/": "Workflows"}
    parts |= {"mapreduce/": "Tasks", "mapreduce/count-1/6/": "Tasks", "callbacks/": "Callbacks", "help/": ""}
    for path, part in parts.items():
        page = operator.get(f"/ops/{path}").content.decode()
        assert marked.findall(page) == ([part] if part else []), path


def test_an_id_with_a_slash_has_a_page_of_its_own(world: World, operator: Client) -> None:
    page = operator.get("/ops/tasks/").content.decode()
    assert 'href="/ops/tasks/a~b:c/?pool=default"' in page
    assert "a/b:c" in operator.get("/ops/tasks/a~b:c/").content.decode()


@pytest.mark.parametrize("id", [".", "..", "a/../b"])
def test_an_id_of_dots_is_no_path(id: str, world: World, operator: Client) -> None:
    world.states[id] = "failed"
    page = operator.get("/ops/tasks/").content.decode()
    address = next(found for found in re.findall(r'href="(/ops/tasks/[^"?]+/)', page) if "." in found)
    assert "/./" not in address
    assert "/../" not in address
    assert operator.get(address).status_code == 200


def test_without_a_slash_at_the_end_one_gets_there_too(world: World, operator: Client) -> None:
    assert operator.get("/ops/tasks").headers["Location"] == "/ops/tasks/"


def test_the_audit_log_pages_and_filters(world: World, operator: Client) -> None:
    from console.models import AuditEntry

    AuditEntry.objects.bulk_create(
        AuditEntry(actor_name="ada" if number % 2 else "bob.b", verb="retry", target=f"t{number}", outcome="done")
        for number in range(120)
    )
    page = operator.get("/ops/audit/?actor_name=ada").content.decode()
    assert "bob.b" not in page
    assert '<option value="retry">Retry</option>' in page
    nobody = operator.get("/ops/audit/?actor_name=eve&verb=pause").content.decode()
    assert "No entry matches the filter." in nobody
    assert '<option value="pause" selected>Pause</option>' in nobody
    assert len(re.findall(r'<tr id="a-', page)) == 50
    (further,) = re.findall(r'rel="next" href="([^"]+)"', page)
    older = operator.get(further.replace("&amp;", "&")).content.decode()
    assert len(re.findall(r'<tr id="a-', older)) == 10


def test_what_the_buttons_do_can_be_read_without_a_mouse(world: World, operator: Client) -> None:
    for path in ("/ops/tasks/task-1/", "/ops/tasks/"):
        page = operator.get(path).content.decode()
        assert "<dt>Retry</dt><dd>Runs the task again with the same arguments." in page
        assert "<dt>Delete</dt>" not in page  # who may not delete is not told of it


def test_the_overview_draws_the_machine_with_its_counts_and_rates(world: World, operator: Client) -> None:
    page = operator.get("/ops/").content.decode()
    assert 'href="/ops/tasks/?state=pending"' in page
    assert "11.2/s" in page
    assert re.search(r'class="box-count"[^>]*>12\.3k<', page)


def test_nothing_of_the_project_around_is_needed(world: World, operator: Client, settings: Any) -> None:
    (engine,) = settings.TEMPLATES
    settings.TEMPLATES = [engine | {"OPTIONS": {}}]
    for path in ("/ops/", "/ops/tasks/", "/ops/tasks/task-1/", "/ops/settings/", "/ops/nothing/"):
        page = operator.get(path).content.decode()
        assert "csrfmiddlewaretoken" in page
        assert "operators" in page


def test_the_pools_count_chunks_with_the_tasks_that_wait_and_run(world: World, viewer: Client) -> None:
    page = viewer.get("/ops/").content.decode()
    assert re.search(r'<abbr title="3 tasks, 2,394 chunks">2,397</abbr>', page)
    assert re.search(r'<abbr title="1 tasks, 6 chunks">7</abbr>', page)


def test_a_store_that_is_full_is_not_said_to_be_unreachable(world: World, operator: Client) -> None:
    world.broken = StoreFull(reason="used memory > 'maxmemory'")
    answer = operator.post("/ops/tasks/task-1/_retry", {"pool": "default"})
    assert answer.status_code == 503
    page = answer.content.decode()
    assert "<h1>The store is full</h1>" in page
    assert "unreachable" not in page
    world.broken, world.down = None, True
    assert "<h1>The store is unreachable</h1>" in operator.get("/ops/").content.decode()
