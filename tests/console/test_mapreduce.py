"""The chunks of a map-reduce task in the console, with the real engine behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.kinds.mapreduce.chunk_pictures import HEIGHT, LEAST, draw_bars, draw_chunks
from console.models import AuditEntry, Outcome
from console.ui.kind_pages import pieces_at
from queueops import inspect
from queueops.inspect import Strip
from queueops.redis.broker import get_broker
from tests.support.chunkwork import ChunkWork

pytestmark = pytest.mark.django_db
PAGE = "/ops/mapreduce/count/"


def counts() -> dict[str, int]:
    view = inspect.chunks_of("count")
    assert view is not None
    return view.counts


def html(client: Client, path: str = PAGE, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    return answer.content.decode()


# Seeing


def test_the_page_is_a_tab_of_the_task_too(work: ChunkWork, operator: Client) -> None:
    page = html(operator, "/ops/tasks/count/")
    assert 'href="/ops/tasks/count/chunks/?pool=default"' in page
    for path in (PAGE, "/ops/tasks/count/chunks/?pool=default"):
        assert "30 chunks" in html(operator, path)


def test_other_tasks_have_no_such_tab_and_no_such_page(work: ChunkWork, operator: Client) -> None:
    from queueops.model.contracts import Push, RoundTrip

    get_broker().push([Push(id="plain", name="tests.noop", lane="other")])
    get_broker().exchange("default", "w1", RoundTrip(want=1, lanes=("other",)))
    plain, own = html(operator, "/ops/tasks/plain/"), html(operator, "/ops/tasks/count/")
    assert ("<dt>Last start</dt>" in plain, "<dt>Last start (map)</dt>" in own) == (True, True)
    assert [len(pieces_at("task.facts.ran", inspect.task(id))) for id in ("plain", "count")] == [0, 1]
    assert "/chunks/" not in plain
    for path in ("/ops/mapreduce/plain/", "/ops/tasks/plain/chunks/", "/ops/mapreduce/plain/0/", "/ops/mapreduce/no/"):
        html(operator, path, 404)


def test_the_strip_is_one_picture_with_words_beside_it(work: ChunkWork, operator: Client) -> None:
    page = html(operator)
    assert 'aria-label="15 done, 2 active, 10 pending, 1 errored, 2 failed"' in page
    assert re.findall(r'<path class="layer-(\w+)', page) == ["failed", "errored", "active", "done", "pending"]
    assert 'data-columns="442113333333333333330000000000"' in page


def test_a_column_leads_to_its_chunk_or_closer(namespace: str, operator: Client) -> None:
    work = ChunkWork(get_broker())
    work.map(list(range(1600)))
    answer = operator.get(PAGE, {"pool": "default", "column": "300"})
    assert answer.headers["Location"] == "/ops/tasks/count/chunks/?pool=default&first=952&count=500"
    close = html(operator, answer.headers["Location"])
    assert 'data-first="952"' in close
    assert 'data-width="1"' in close
    answer = operator.get(PAGE, {"pool": "default", "first": "952", "count": "500", "column": "250"})
    assert answer.headers["Location"] == "/ops/mapreduce/count/1202/?pool=default"
    far = operator.get(PAGE, {"column": "999999999"})
    assert far.headers["Location"].startswith("/ops/tasks/count/chunks/?")


def test_the_list_begins_with_what_needs_a_look(work: ChunkWork, operator: Client) -> None:
    assert re.findall(r'<tr id="c-(\d+)"', html(operator)) == ["1", "0"]
    assert re.findall(r'<tr id="c-(\d+)"', html(operator, f"{PAGE}?state=errored")) == ["2"]
    assert len(re.findall(r'<tr id="c-(\d+)"', html(operator, f"{PAGE}?state=all"))) == 30
    assert "did you mean &#x27;failed&#x27;?" in html(operator, f"{PAGE}?state=faild", 400)


def test_long_lists_have_pages(namespace: str, operator: Client) -> None:
    work = ChunkWork(get_broker())
    work.map(list(range(120)))
    page, seen = html(operator), []
    while True:
        seen += re.findall(r'<tr id="c-(\d+)"', page)
        further = re.findall(r'rel="next" href="([^"#]+)', page)
        if not further:
            break
        page = html(operator, further[0].replace("&amp;", "&"))
    assert seen == [str(number) for number in range(120)]


def test_a_chunk_shows_its_data_its_attempts_and_what_can_be_done(work: ChunkWork, operator: Client) -> None:
    page = html(operator, f"{PAGE}0/")
    for text in ("Chunk 0", "0.txt", "no number: &#x27;x&#x27;", "in process", "Failed attempts</dt><dd>1 of 4<"):
        assert text in page
    assert "hunter2" not in page
    verbs = re.findall(r'action="/ops/mapreduce/count/_(\w+)"', page)
    assert verbs == ["retry", "drop", "skip"]
    assert 'href="/ops/mapreduce/count/0/edit/?pool=default"' in page
    html(operator, f"{PAGE}99/", 404)
    html(operator, f"{PAGE}{10**12}/", 404)


def test_data_is_shown_only_to_those_who_may_see_it(work: ChunkWork, viewer: Client) -> None:
    for path in (PAGE, f"{PAGE}0/", f"{PAGE}_rows?shown=0.1"):
        assert "0.txt" not in html(viewer, path)
    ended = html(viewer, f"{PAGE}5/")
    for part, notice in (("data", "may not see the data of chunks"), ("result", "may not see results")):
        assert f'id="{part}"' not in ended
        assert f"Your account {notice}." in ended
    for button in ("retry-errored", "_restart", "_drop", 'class="form-check-input tick"'):
        assert button not in html(viewer)
    assert viewer.get(f"{PAGE}0/edit/").status_code == 403


def test_a_fragment_answers_only_when_something_has_changed(work: ChunkWork, operator: Client) -> None:
    page = html(operator)
    live, rows = (url.replace("&amp;", "&") for url in re.findall(r'hx-get="(/ops/mapreduce/[^"]+)"', page))
    assert operator.get(rows).status_code == 204
    work.broker.mend_chunks("default", "count", "retry", [0])
    assert 'aria-label="15 done, 2 active, 11 pending, 1 errored, 1 failed"' in html(operator, live)
    again = html(operator, rows)
    assert re.findall(r'<tr id="c-(\d+)"', again) == ["1", "0"]  # in their places
    assert "pending" in again
    fresh = re.findall(r'hx-get="([^"]+)"', again)[0].replace("&amp;", "&")
    assert operator.get(fresh).status_code == 204


@pytest.mark.parametrize("nonsense", ["-1", "x", "9" * 40, "1e9", "٣", ""])
def test_a_number_that_makes_no_sense_counts_as_not_given(nonsense: str, work: ChunkWork, operator: Client) -> None:
    assert operator.get(PAGE, {"first": nonsense, "count": nonsense, "column": nonsense}).status_code == 200
    assert operator.get(f"{PAGE}_rows", {"shown": nonsense}).status_code == 200


# Acting


def entry() -> AuditEntry:
    return AuditEntry.objects.get()


def test_retrying_errored_chunks_is_one_click(work: ChunkWork, operator: Client) -> None:
    page = html(operator)
    assert re.search(r'class="btn btn-primary" id="retry-errored"[^>]*>.*Retry 3 failed chunks<', page)
    form = {"pool": "default", "whole": ["errored", "failed"], "next": PAGE}
    answer = operator.post(f"{PAGE}_retry", form, follow=True)
    assert counts() == {"pending": 13, "active": 2, "errored": 0, "done": 15, "failed": 0}
    assert "Retry: 3 chunks." in answer.content.decode()
    found = entry()
    assert (found.verb, found.outcome, found.count, found.changed) == ("retry_chunks", Outcome.DONE, 3, 3)
    assert (found.target, found.ids) == ("count: errored + failed (3)", [["default", "count"]])
    assert "Retry chunks" in html(operator, "/ops/tasks/count/audit/")


@pytest.mark.parametrize(
    ("verb", "numbers", "after"),
    [
        ("retry", ["0", "7"], {"pending": 12, "active": 2, "errored": 1, "done": 14, "failed": 1}),
        ("drop", ["2", "20"], {"pending": 9, "active": 2, "errored": 0, "done": 15, "failed": 4}),
        ("skip", ["0", "1"], {"pending": 10, "active": 2, "errored": 1, "done": 17, "failed": 0}),
        ("release", ["3"], {"pending": 11, "active": 1, "errored": 1, "done": 15, "failed": 2}),
    ],
)
def test_ticked_chunks_are_acted_on(
    verb: str, numbers: list[str], after: dict[str, int], work: ChunkWork, operator: Client
) -> None:
    assert operator.post(f"{PAGE}_{verb}", {"chunk": numbers, "next": PAGE}).headers["Location"] == PAGE
    assert counts() == after
    assert (entry().changed, entry().before["chunks"]) == (len(numbers), [int(number) for number in numbers])


def test_a_straggler_gets_a_second_copy(work: ChunkWork, operator: Client) -> None:
    operator.post(f"{PAGE}_speculate", {"chunk": "3"})
    assert (entry().outcome, entry().changed) == (Outcome.DONE, 1)
    assert "Second run" in html(operator, f"{PAGE}3/")


def test_chunks_that_cannot_be_are_left_and_that_is_told(work: ChunkWork, operator: Client) -> None:
    answer = operator.post(f"{PAGE}_retry", {"chunk": ["0", "25"], "next": PAGE}, follow=True)
    assert (entry().outcome, entry().changed) == (Outcome.PARTLY, 1)
    assert "retry is not possible while chunk 25 is pending" in answer.content.decode()


def test_an_action_that_changes_nothing_is_told_as_refused(work: ChunkWork, operator: Client) -> None:
    operator.post(f"{PAGE}_release", {"chunk": ["25"]})
    assert (entry().outcome, entry().changed) == (Outcome.REFUSED, 0)
    assert entry().detail == "release is not possible while chunk 25 is pending"


@pytest.mark.parametrize(
    "form", [{"chunk": "x"}, {"chunk": "-1"}, {"chunk": "٣"}, {"whole": "most"}, {"chunk": "1" * 30}]
)
def test_what_names_no_chunks_is_refused(form: dict[str, str], work: ChunkWork, operator: Client) -> None:
    assert operator.post(f"{PAGE}_retry", form).status_code == 400
    assert not AuditEntry.objects.exists()


def test_nothing_chosen_is_no_action(work: ChunkWork, operator: Client) -> None:
    assert operator.post(f"{PAGE}_retry").status_code == 302
    assert not AuditEntry.objects.exists()


def test_more_than_a_page_of_chunks_cannot_be_ticked(work: ChunkWork, operator: Client) -> None:
    assert operator.post(f"{PAGE}_retry", {"chunk": [str(number) for number in range(501)]}).status_code == 400


def test_many_chunks_are_asked_for_first(namespace: str, operator: Client) -> None:
    work = ChunkWork(get_broker())
    work.map(list(range(60)))
    work.fail(work.claim(40))
    form: dict[str, Any] = {"whole": "failed", "next": PAGE, "pool": "default"}
    question = operator.post(f"{PAGE}_retry", form)
    assert question.status_code == 200
    assert "Retry: 40 chunks" in question.content.decode()
    assert counts()["failed"] == 40
    work.broker.mend_chunks("default", "count", "retry", [0])  # one less than was asked for
    assert operator.post(f"{PAGE}_retry", form | {"confirmed": "40"}).status_code == 302
    assert counts()["failed"] == 0
    assert (entry().count, entry().changed) == (39, 39)


def test_more_chunks_than_were_confirmed_are_asked_for_again(namespace: str, operator: Client) -> None:
    work = ChunkWork(get_broker())
    work.map(list(range(60)))
    work.fail(work.claim(40))
    assert operator.post(f"{PAGE}_retry", {"whole": "failed", "confirmed": "30"}).status_code == 422
    assert counts()["failed"] == 40


def test_a_chunk_is_edited_and_runs_again(work: ChunkWork, operator: Client) -> None:
    assert "[redacted]" in html(operator, f"{PAGE}0/edit/")
    answer = operator.post(f"{PAGE}0/_edit", {"data": '{"path": "0.md"}', "retry": "1", "pool": "default"})
    assert answer.headers["Location"] == "/ops/mapreduce/count/0/?pool=default"
    one = inspect.chunk("count", 0)
    assert one is not None
    assert (one.state, json.loads(one.data_json)) == ("pending", {"path": "0.md"})
    assert (entry().verb, entry().changed) == ("redo_chunks", 1)
    assert "hunter2" not in json.dumps(entry().before)
    assert "Edit and retry: 1 chunk." in html(operator)
    assert "Edit: 1 chunk." in operator.post(f"{PAGE}1/_edit", {"data": "false"}, follow=True).content.decode()
    other = inspect.chunk("count", 1)
    assert other is not None
    assert (other.state, other.data_json) == ("failed", "false")


@pytest.mark.parametrize("data", ["", "{", '{"token": "[redacted]"}', "[" * 99_999])
def test_data_that_makes_no_sense_is_shown_again(data: str, work: ChunkWork, operator: Client) -> None:
    answer = operator.post(f"{PAGE}0/_edit", {"data": data})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert not AuditEntry.objects.exists()


def test_who_may_not_see_data_cannot_edit_it(work: ChunkWork, client_of: Callable[..., Client]) -> None:
    from django.contrib.auth.models import Permission, User

    client = client_of("viewers")
    User.objects.get(username="viewers").user_permissions.add(Permission.objects.get(codename="operate"))
    assert client.post(f"{PAGE}0/_edit", {"data": "1"}).status_code == 403
    assert entry().outcome == Outcome.DENIED
    chunk = inspect.chunk("count", 0)
    assert chunk is not None
    assert chunk.data_json != "1"


def test_a_task_is_started_again_from_a_stage(work: ChunkWork, operator: Client) -> None:
    operator.post(f"{PAGE}_restart", {"stage": "failed", "next": PAGE})
    assert counts() == {"pending": 13, "active": 2, "errored": 0, "done": 15, "failed": 0}
    assert (entry().verb, entry().outcome, entry().ids) == ("restart_failed", Outcome.DONE, [["default", "count"]])


def test_throwing_results_away_must_be_typed(work: ChunkWork, operator: Client) -> None:
    form = {"stage": "map", "next": PAGE, "pool": "default"}
    assert "Type 30 to confirm" in operator.post(f"{PAGE}_restart", form).content.decode()
    assert not AuditEntry.objects.exists()
    meant = form | {"confirmed": "30", "typed": "30", "reason": "new sources"}
    assert operator.post(f"{PAGE}_restart", meant).status_code == 302
    task = inspect.task("count")
    assert task is not None
    assert task.state == "pending"
    assert entry().reason == "new sources"


def test_what_cannot_be_started_again_is_told_why(work: ChunkWork, operator: Client) -> None:
    answer = operator.post(f"{PAGE}_restart", {"stage": "reduce", "next": PAGE}, follow=True)
    assert entry().outcome == Outcome.REFUSED
    assert "of its chunks have not ended" in answer.content.decode()
    assert operator.post(f"{PAGE}_restart", {"stage": "end"}).status_code == 400


def test_all_errored_chunks_are_skipped_with_one_click(work: ChunkWork, operator: Client) -> None:
    page = html(operator)
    assert "Skip failed chunks" in page
    operator.post(f"{PAGE}_skip", {"whole": ["errored", "failed"], "pool": "default", "next": PAGE})
    assert counts() == {"pending": 10, "active": 2, "errored": 0, "done": 18, "failed": 0}
    assert "Skip failed chunks" not in html(operator)


def test_what_restarts_says_so_in_a_sentence(work: ChunkWork, operator: Client) -> None:
    asked = operator.post(f"{PAGE}_restart", {"stage": "all", "next": PAGE}).content.decode()
    assert "<h1>Restart all chunks</h1>" in asked
    assert "30 chunks of <code>count</code>" in asked
    answer = operator.post(f"{PAGE}_restart", {"stage": "failed", "next": PAGE}, follow=True)
    assert "Restart the failed chunks: 1 task." in answer.content.decode()


def test_only_what_the_engine_would_do_is_offered_as_a_restart(work: ChunkWork, operator: Client) -> None:
    def offered() -> list[str]:
        return re.findall(r'name="stage" value="(\w+)"', html(operator))

    assert offered() == ["failed", "all", "map"]
    operator.post("/ops/tasks/count/_cancel", {"pool": "default"})
    assert offered() == ["failed", "all", "map"]
    operator.post(f"{PAGE}_restart", {"stage": "map", "confirmed": "30", "typed": "30", "reason": "r", "next": PAGE})
    assert offered() == []


def test_the_last_chunk_has_none_behind_it(work: ChunkWork, operator: Client) -> None:
    assert "Next chunk" in html(operator, f"{PAGE}28/")
    assert "Next chunk" not in html(operator, f"{PAGE}29/")


def test_chunks_that_the_policy_let_go_are_shown_as_dropped(namespace: str, operator: Client) -> None:
    work = ChunkWork(get_broker(), oc="50%")
    work.map([1, 2, 3])
    claimed = work.claim(3)
    work.fail(claimed[:1])
    assert "<b>1 dropped</b>" not in html(operator)
    work.done(claimed[1:])
    page = html(operator)
    assert "<b>1 dropped</b>" in page
    assert page.count('<span class="badge-note">dropped</span>') == 1
    assert "of 1 failed chunk" in page
    assert "dropped</span>" in html(operator, f"{PAGE}0/")


def test_time_left_is_shown_only_of_what_goes_on(work: ChunkWork, operator: Client) -> None:
    assert "Time left" in html(operator)
    get_broker().lane("default", "default", paused=1)
    assert "its lane is paused" in html(operator)
    operator.post("/ops/tasks/count/_cancel", {"pool": "default"})
    assert "Time left" not in html(operator)


def test_why_offers_to_retry(work: ChunkWork, operator: Client) -> None:
    page = html(operator, "/ops/tasks/count/why/")
    (action, *_) = re.findall(r'action="(/ops/mapreduce/count/_retry[^"]*)"', page)
    operator.post(action.replace("&amp;", "&"), {"pool": "default", "next": PAGE})
    assert counts()["failed"] + counts()["errored"] == 0


# Drawing


def strip(*columns: tuple[int, int, int, int, int], width: int = 1) -> Strip:
    return Strip(first=0, end=len(columns) * width, width=width, columns=columns)


def paths(*columns: tuple[int, int, int, int, int], width: int = 1) -> dict[str, str]:
    return {layer.state: layer.d for layer in draw_chunks(strip(*columns, width=width)).layers}


def test_columns_that_look_alike_are_one_piece() -> None:
    many = [(0, 0, 0, 1, 0)] * 400 + [(1, 0, 0, 0, 0)] * 100
    assert paths(*many) == {"done": "M0 0h400v100h-400z", "pending": "M400 0h100v100h-100z"}


def test_few_columns_stand_apart() -> None:
    assert paths((0, 0, 0, 1, 0), (0, 0, 0, 1, 0)) == {"done": "M0 0h1v100h-1zM1 0h1v100h-1z"}


def test_one_failed_chunk_among_thousands_is_seen() -> None:
    found = paths((0, 0, 0, 1999, 1), width=2000)
    assert found["failed"] == f"M0 {HEIGHT - LEAST}h1v{LEAST}h-1z"
    assert found["done"] == f"M0 0h1v{HEIGHT - LEAST}h-1z"


def test_nothing_is_drawn_of_nothing() -> None:
    assert draw_chunks(strip()).layers == ()
    assert draw_bars([]) is None
    assert draw_bars([0, 0]) is None
    bar = draw_bars([0, 2, 4])
    assert bar is not None
    assert (bar.d, bar.most) == ("M1.1 100v-50h.8v50zM2.1 100v-100h.8v100z", 4)
