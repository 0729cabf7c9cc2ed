"""Command palette: go to, filter and act from one field, with the permission, confirmation and audit of the buttons."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from console.actions.catalog import ACTIONS
from console.models import AuditEntry
from console.pages import palette
from console.ui.kind_pages import KindPages, kind_pages
from queueops import inspect
from queueops.model.contracts import Outcome, Push
from queueops.redis.broker import get_broker
from tests.console.browsing import Open
from tests.console.standin import World
from tests.console.test_browser import many
from tests.console.test_pool_grants import grant
from tests.console.test_workflows import Handle, run  # noqa: F401
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk
from tests.support.monitoring import counted_trips
from tests.support.specimens import NAME, SICK, specimens
from tests.workflows.test_runs import approval

pytestmark = pytest.mark.django_db


def shown(client: Client, text: str) -> str:
    answer = client.get("/ops/_palette", {"q": text, "here": "/ops/lanes/"})
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_text_leads_to_pages_things_and_filters_in_few_round_trips(namespace: str, administrator: Client) -> None:
    with specimens():
        assert 'href="/ops/workers/"' in shown(administrator, "work")
        assert f'href="/ops/lanes/{SICK}/narrow/"' in shown(administrator, "narr")
        assert f'href="/ops/registry/{NAME}/"' in shown(administrator, "noop")
        assert f'href="/ops/tasks/n/?pool={SICK}"' in shown(administrator, "n")
        assert 'href="/ops/tasks/?state=failed"' in shown(administrator, "state=failed")
        assert "Nothing was found" in shown(administrator, "nothing-of-this")
        inspect.status(60)
        for text in ("narr", f"pause {NAME}", "state=failed"):
            with counted_trips() as trips:
                shown(administrator, text)
            assert trips.made <= 5, text


def test_a_state_and_a_word_lead_to_tasks_in_this_state_names_first(
    namespace: str, operator: Client, viewer: Client
) -> None:
    desk = Desk(get_broker())
    desk.push("a", name="shop.boom", lane="boomers", tags=("boom-7",))
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, **stored("f1f1", "x", "shop.BoomError"))
    names, error = "/ops/tasks/?state=failed&amp;name=shop.boom", "/ops/tasks/?state=failed&amp;error=f1f1"
    tag, lane = "/ops/tasks/?state=failed&amp;tag=boom-7", "/ops/tasks/?state=failed&amp;pool=default&amp;lane=boomers"
    text = "/ops/tasks/?state=failed&amp;contains=boom"
    for words in ("failed boom", "boom failed", "dead BOOM"):
        links = re.findall(r'class="palette-item" href="([^"]+)"', shown(operator, words))
        assert links[:4] == [names, error, tag, lane], words
        assert links[4].lower() == text
    assert text not in shown(viewer, "failed boom")
    assert f'href="{names}"' in operator.get("/ops/find/", {"q": "failed boom"}).content.decode()
    assert f'href="{text.replace("boom", "none")}"' in shown(operator, "failed none")
    with counted_trips() as trips:
        shown(operator, "failed boom")
    assert trips.made <= 5


def test_the_word_for_a_state_may_be_in_the_language_of_the_page(world: World, operator: Client) -> None:
    operator.cookies["django_language"] = "de"
    assert "state=failed&amp;contains=fetch" in shown(operator, "fehlgeschlagen fetch")


def test_a_verb_before_a_name_is_the_form_of_a_button(namespace: str, administrator: Client, operator: Client) -> None:
    with specimens():
        for text, address in (
            (f"pause {NAME}", f"/ops/registry/{NAME}/_pause"),
            ("pause narrow", f"/ops/lanes/{SICK}/narrow/_pause"),
            (f"pause {SICK}", f"/ops/pools/{SICK}/_pause"),
            ("quiet w1", "/ops/workers/w1/_quiet"),
            ("cancel n", "/ops/tasks/n/_cancel"),
            ("run-now p", "/ops/tasks/p/_run_now"),
            ("Run now p", "/ops/tasks/p/_run_now"),  # the label, in the language of the user
        ):
            if text.startswith("run-now"):
                Desk(get_broker()).push("p", delay_ms=3_600_000)
            assert f'method="post" action="{address}"' in shown(administrator, text), text
            page = administrator.get("/ops/find/", {"q": text}).content.decode()
            assert f'action="{address}"' in page, text
        assert "/_pause" not in shown(operator, "pause narrow")
        assert "/_cancel" in shown(operator, "cancel n")
        assert "/_retry" not in shown(operator, "retry n")  # it waits
        answer = administrator.post(f"/ops/lanes/{SICK}/narrow/_pause", {"next": "/ops/lanes/"})
        assert (answer.status_code, answer["Location"]) == (302, "/ops/lanes/")
        assert AuditEntry.objects.get().verb == "pause"


def test_a_verb_alone_is_completed_and_offers_what_it_may_act_on(
    namespace: str, administrator: Client, operator: Client
) -> None:
    with specimens():
        for text in ("p", "pau", "pause"):
            assert 'data-fill="pause "' in shown(administrator, text), text
            assert 'data-fill="pause "' not in shown(operator, text), "it may not configure"
        assert 'data-fill="quiet "' in shown(administrator, "")
        assert 'data-fill="retry "' in shown(operator, "ret")
        assert 'href="/ops/tasks/?state=failed"' in shown(operator, "retry")
        with counted_trips() as trips:
            page = shown(administrator, "pause")
        assert trips.made <= 5
        for form in (f"/ops/registry/{NAME}/_pause", f"/ops/lanes/{SICK}/narrow/_pause", f"/ops/pools/{SICK}/_pause"):
            assert f'action="{form}"' in page
            assert f'action="{form}"' in administrator.get("/ops/find/", {"q": "pause"}).content.decode()
            assert f'action="{form}"' not in shown(operator, "pause")
        assert 'action="/ops/workers/w1/_quiet"' in shown(administrator, "quiet")


def test_a_schedule_and_a_run_are_found_by_name_and_acted_on(
    namespace: str,
    administrator: Client,
    operator: Client,
    run: Handle,  # noqa: F811
) -> None:
    with specimens():
        begin = f"/ops/schedules/hourly/_%s?pool={SICK}"
        assert 'href="/ops/schedules/hourly/?' in shown(operator, "hour")
        for verb, text in (("pause", "pause hour"), ("resume", "resume hourly")):
            assert f'action="{begin % verb}"' in shown(administrator, text), text
            assert f'action="{begin % verb}"' not in shown(operator, text), "it may not configure"
        assert f'action="{begin % "run"}"' in shown(operator, "run now HOUR")
        assert "id of a task or schedule" in shown(operator, "run now")
        asked = operator.post(begin % "run", {"next": "/ops/"})
        assert (asked.status_code, AuditEntry.objects.get().verb) == (302, "run_schedule")
        found = shown(operator, "order")
        assert f'href="/ops/tasks/{run.id}/run/?pool=default"' in found
        assert "order/7" in found
        assert f'action="/ops/workflows/{run.id}/_cancel"' in shown(operator, "cancel order/7")
        assert f'action="/ops/workflows/{run.id}/_terminate"' in shown(operator, "terminate order/7")
        unnamed = approval.start(60.0).id
        assert shown(operator, unnamed[:-1]).count(f"<span>{unnamed}</span>") == 1, "once, as a task"
        assert operator.get("/ops/find/", {"q": unnamed[:-1]}).headers["Location"].startswith(f"/ops/tasks/{unnamed}/")
        inspect.status(60)
        for text in ("order", "pause hourly", "cancel order/7"):
            with counted_trips() as trips:
                shown(administrator, text)
            assert trips.made <= 5, text


def test_what_a_permission_in_one_pool_does_not_reach_is_not_offered(namespace: str, viewer: Client) -> None:
    grant(SICK, "administer")
    with specimens():
        assert f'action="/ops/lanes/{SICK}/narrow/_pause"' in shown(viewer, "pause narrow")
        assert '/_cancel"' in shown(viewer, "cancel n")
        reached = [f"/ops/schedules/hourly/_{verb}?pool={SICK}" for verb in ("pause", "run")]
        for text, address in (
            ("pause hour", reached[0]),
            ("run now hour", reached[1]),
            ("quiet w1", "/ops/workers/w1/_quiet"),
        ):
            assert viewer.post(address, {"pool": SICK}).status_code == 403
            assert f'action="{address}"' not in shown(viewer, text), text
        offered = shown(viewer, "pause")
        assert "name, lane or pool" in offered
        assert 'data-fill="quiet "' not in shown(viewer, "quiet")


def test_a_verb_is_also_known_by_the_words_that_a_kind_has_for_it(
    namespace: str, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_broker().push([Push(id="told", name="tests.noop", kind="callback")])
    assert re.search(r'action="/ops/tasks/told/_cancel".*?Discard <b>told</b>', shown(operator, "discard told"), re.S)
    stranger = KindPages(actions={"dance": ACTIONS["retry"]})
    monkeypatch.setattr(palette, "kind_pages", lambda: (*kind_pages(), stranger))
    assert "/_cancel" in shown(operator, "cancel told"), "a verb that is none of the standard ones is left out"


@pytest.mark.browser
def test_the_palette_is_used_by_keys_alone_and_acts_on_what_is_selected(open_page: Open, world: World) -> None:
    many(world, 3)
    page: Page = open_page("tasks/?state=failed")
    palette = page.locator("#palette")
    expect(page.get_by_role("button", name="Commands")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(palette).to_be_visible()
    page.keyboard.type("audit")
    expect(palette.get_by_role("link", name="Audit log")).to_be_visible()
    expect(palette.get_by_role("link")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(palette.get_by_role("link", name="Audit log")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.locator(".tick").first.check()
    page.keyboard.press("Control+k")
    page.locator("#palette input[name=q]").fill("retry")
    act = palette.get_by_role("button", name="Retry: 1 selected")
    expect(act).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("[data-flash]")).to_contain_text("Retry: 1 task.")
    assert [call[0] for call in world.calls] == ["retry"]
    page.get_by_role("button", name="Commands").click()
    page.locator("#palette input[name=q]").fill("audit")
    expect(palette.get_by_role("link", name="Audit log")).to_be_visible()
    expect(palette.get_by_role("link")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url("**/audit/")
    page.keyboard.press("Control+k")
    page.keyboard.type("qui")
    expect(palette.get_by_role("link")).to_have_text(["Quiet…worker"])
    page.keyboard.press("Enter")
    expect(page.locator("#palette input[name=q]")).to_have_value("quiet ")
    expect(palette.get_by_role("button", name="Quiet host:1")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#palette input[name=q]")).to_have_value("quiet ")
    assert [call[0] for call in world.calls] == ["retry"], "the verb alone acts on nothing"
