"""The chunks of all map-reduce tasks on one page, their counts on the overview, and why one waits."""

from __future__ import annotations

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect
from queueops.model.contracts import Outcome, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from tests.console.test_mapreduce import html
from tests.inspecting.test_chunk_list import errored
from tests.mapreduce.bench import ChunkDesk

pytestmark = pytest.mark.django_db
PAGE = "/ops/mapreduce/"
STATES = ("pending", "active", "errored", "done", "failed")


def test_errored_chunks_of_all_tasks_are_one_page(namespace: str, operator: Client) -> None:
    errored({"a": 2, "b": 0})
    errored({"c": 1}, "other")
    page = html(operator, PAGE)
    for link in ("/ops/mapreduce/a/0/", "/ops/mapreduce/a/1/", "/ops/mapreduce/c/0/?pool=other"):
        assert link in page
    assert "/ops/mapreduce/b/" not in page
    assert "no number: &#x27;x&#x27;" in page
    assert "hunter2" not in page
    assert "/ops/mapreduce/c/" in html(operator, f"{PAGE}?pool=other")
    assert "/ops/mapreduce/a/" not in html(operator, f"{PAGE}?pool=other")
    waiting = html(operator, f"{PAGE}?state=pending")
    assert "/ops/mapreduce/b/5/" in waiting
    assert 'aria-current="true"' in waiting


def test_the_data_of_chunks_is_shown_only_to_accounts_that_may_see_it(
    namespace: str, operator: Client, viewer: Client
) -> None:
    errored({"a": 1})
    for address in (PAGE, f"{PAGE}?state=pending"):
        assert "&quot;n&quot;" in html(operator, address)
        page = html(viewer, address)
        assert "/ops/mapreduce/a/" in page
        assert "&quot;n&quot;" not in page
    assert "no number" not in html(viewer, PAGE)


def test_long_lists_have_pages_and_a_wrong_address_says_so(namespace: str, operator: Client) -> None:
    errored({f"t{number}": 6 for number in range(9)})
    page = html(operator, PAGE)
    assert page.count('data-label="Chunk"') == 50
    (following,) = [part.partition('"')[0] for part in page.split('rel="next" href="')[1:]]
    rest = html(operator, following.replace("&amp;", "&"))
    assert rest.count('data-label="Chunk"') == 4
    assert 'rel="next"' not in rest
    first = f'href="{PAGE}?state=errored"'
    assert rest.count(first) == page.count(first) + 1  # and back to the first page
    assert "there is no state" in html(operator, f"{PAGE}?state=eroded", 400)
    assert "begin at its first page" in html(operator, f"{PAGE}?after=nothing", 400)


def counts(task: str) -> tuple[int, int]:
    """Errored and waiting chunks of a task."""
    view = inspect.chunks_of(task)
    assert view is not None
    return view.counts["errored"], view.counts["pending"]


def test_ticked_chunks_of_several_tasks_are_retried_with_an_entry_for_each(namespace: str, operator: Client) -> None:
    errored({"a": 3, "b": 1})
    page = html(operator, PAGE)
    assert page.count('name="listed"') == 4
    ticked = {"listed": ["default a 0", "default a 2", "default b 0"], "next": PAGE}
    told = operator.post(f"{PAGE}_retry", ticked, follow=True).content.decode()
    assert "Retry: 3 of 3 chunks of 2 tasks." in told
    assert (counts("a"), counts("b")) == ((1, 5), (0, 6))
    entries = AuditEntry.objects.order_by("pk")
    assert [(entry.verb, entry.target, entry.changed) for entry in entries] == [
        ("retry_chunks", "a: 0, 2", 2),
        ("retry_chunks", "b: 0", 1),
    ]


def test_all_failed_chunks_of_a_pool_are_retried_after_a_question(namespace: str, operator: Client) -> None:
    errored({f"t{number}": 6 for number in range(5)})
    errored({"c": 1}, "other")
    form = {"all": "errored", "in": "default", "next": PAGE}
    question = operator.post(f"{PAGE}_retry", form).content.decode()
    assert "Retry 30 chunks" in question
    assert counts("t0") == (6, 0)
    assert operator.post(f"{PAGE}_retry", form | {"confirmed": "30"}).status_code == 302
    assert [counts(f"t{number}") for number in range(5)] == [(0, 6)] * 5
    assert counts("c") == (1, 5)
    assert AuditEntry.objects.count() == 5


def test_a_viewer_and_other_states_have_no_retry(namespace: str, operator: Client, viewer: Client) -> None:
    errored({"a": 1})
    for client, address in ((viewer, PAGE), (operator, f"{PAGE}?state=done"), (operator, f"{PAGE}?state=pending")):
        page = html(client, address)
        assert 'name="listed"' not in page
        assert "_retry" not in page
    for wrong in ({"all": "done"}, {"listed": "default a x"}, {"listed": "default"}):
        assert operator.post(f"{PAGE}_retry", wrong).status_code == 400
    assert operator.post(f"{PAGE}_retry", {}).status_code == 302
    assert counts("a") == (1, 5)


def test_the_overview_counts_chunks_by_state(namespace: str, operator: Client) -> None:
    assert 'id="chunks-title"' not in html(operator, "/ops/")
    errored({"a": 2})
    broker = get_broker()
    (lease,) = broker.exchange("default", "w1", RoundTrip(want=1)).leases
    broker.exchange("default", "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"1")]))
    page = html(operator, "/ops/")
    counts = {
        state: page.partition(f'state={state}">')[2].partition("</b>")[0].rpartition("<b>")[2] for state in STATES
    }
    assert counts == {"pending": "3", "active": "0", "errored": "2", "done": "1", "failed": "0"}
    assert "1 done, 2 errored, 0 failed" in page


def test_the_page_of_a_chunk_tells_why_it_waits(namespace: str, administrator: Client) -> None:
    desk = ChunkDesk(get_broker())
    desk.push_mapped("m", 3, lane="slow")
    control.pause_lane("default", "slow")
    page = administrator.get("/ops/mapreduce/m/2/").content.decode()
    assert "Why does the chunk wait?" in page
    assert "The task&#x27;s lane is paused. Its chunks wait, too." in page
    assert "Resume the lane" in page
    control.resume_lane("default", "slow")
    desk.claim(3)
    assert "Why does the chunk wait?" not in administrator.get("/ops/mapreduce/m/2/").content.decode()
