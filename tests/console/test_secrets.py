"""Secrets that tasks are given, and say: in no page, terminal or log; who sees no arguments sees no text of a task."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import resolve

from console.audit.log import kept
from console.models import AuditEntry
from queueops import MapReduce, Retry, Schedule, control, current, inspect, jobs, task, wf, workflow
from queueops.inspect.redaction import concealing
from queueops.kinds.mapreduce.states import ChunkState
from queueops.logs import JsonFormatter, TextFormatter
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.console.permission_table import VERB_OF
from tests.console.walk import PAGES
from tests.support.terminal import ask

pytestmark = pytest.mark.django_db

SECRET = "hunter2"
VALUE = "order-4711"
"""Quoted by errors, log lines and reasons: no secret, but not for those who may not see arguments."""
SAID = (
    f"{VALUE}: redis://ada:{SECRET}@h/0 password={SECRET} {{\"apikey\": \"{SECRET}\"}} ('token', '{SECRET}') "
    f"https://{SECRET}@h /p?token={SECRET} Authorization: Bearer {SECRET}"
)
SENT = {"dsn": f"redis://u:{SECRET}@h", "apikey": SECRET, "body": json.dumps({"secret": SECRET}), "of": VALUE}
TASKS = ("fails", "backs-off", "succeeds", "waits", "quits", "counts")
TABS = ("", "attempts/", "timeline/", "log/", "why/", "audit/", "children/")


@pytest.fixture
def known(namespace: str) -> Iterator[dict[str, Any]]:
    """Tasks that say what they were given."""
    before = dict(registry.handlers())

    @task(name="secrets.fail", retries=0, meta={"of": VALUE, "token": SECRET})
    def fail(given: dict[str, Any], dsn: str = f"redis://u:{SECRET}@h", password: str = SECRET) -> None:
        """Fails; password=hunter2 is for a test."""
        current().log(SAID)
        raise ValueError(SAID)

    @task(name="secrets.back_off", retries=3, retry=Retry(delay=3600))
    def back_off(given: dict[str, Any]) -> None:
        raise LookupError(SAID) from ValueError(SAID)

    @task(name="secrets.succeed")
    def succeed(given: dict[str, Any]) -> dict[str, Any]:
        return given

    @task(name="secrets.quit")
    def quit(given: dict[str, Any]) -> None:
        current().cancel(SAID)

    class Count(MapReduce):
        name = "secrets.count"
        retries = 0

        def map(self, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
            yield given
            yield given | {"fails": True}

        def process(self, chunk: dict[str, Any]) -> dict[str, Any]:
            if "fails" in chunk:
                raise ValueError(SAID)
            return chunk

        def reduce(self, results: Any) -> int:
            return len(list(results))

    @workflow(name="secrets.flow")
    async def flow(given: dict[str, Any]) -> None:
        wf.set_status(given)
        wf.side_effect(lambda: SAID)
        await wf.signal("go")
        await wf.call(fail, given)

    told = {"fails": fail, "backs-off": back_off, "succeeds": succeed, "waits": succeed, "quits": quit, "counts": Count}
    yield told | {"flow": flow}
    for kind, name in set(registry.handlers()) - set(before):
        registry.unregister(kind, name)


@pytest.fixture
def worked(known: dict[str, Any]) -> list[str]:
    """The lines that the worker logged while it ran them."""
    lines: list[str] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            for formatter in (TextFormatter(), JsonFormatter(), logging.Formatter("%(message)s")):
                lines.append(formatter.format(record))

    for id in TASKS:
        known[id].using(id=id, **({"delay": 3600} if id == "waits" else {})).push(SENT)
    run, _ = known["flow"].as_child((SENT,), {})
    run.id = "flow"
    get_broker().push((run,))
    control.signal_runs(["flow"], "go", SENT, "default")
    heard = Heard()
    logging.getLogger().addHandler(heard)
    try:
        run_worker()
    finally:
        logging.getLogger().removeHandler(heard)
    get_broker().beat("default", "w1", {"host": "h1", "slots": 1, "names": "secrets.fail", "pools": "default"})
    control.cancel(["waits"], pool="default", reason=SAID, who="ada")
    jobs.submit(aggregation="a", handler="work", id="handed", options={"note": SENT})
    control.create_schedule(known["succeeds"], Schedule("0 3 * * *", args=[SENT]), id="nightly")
    AuditEntry.objects.create(
        actor_name="ada",
        verb="cancel",
        target="waits",
        ids=[["default", "waits"]],
        reason=kept(SAID, 500),
        detail=kept(SAID, 1000),
        after={"default waits": {"word": "OK", "state": "cancelled", "detail": kept(SAID, 500)}},
    )
    return lines


def pages(client: Client, *answers: int) -> Iterator[tuple[str, str]]:
    """Every page that may tell of the tasks, and its fragments."""
    errors = set(re.findall(r'href="/ops/(errors/[^"?]+/)', client.get("/ops/errors/").content.decode()))
    assert len(errors) >= 2
    lists = [
        "",
        "_overview",
        "_history",
        "_history_values",
        "_status",
        "find/?q=secrets",
        "find/?q=error",
        "tasks/",
        "tasks/_rows",
        "tasks/_search?state=failed&lane=default",
        "tasks/?state=failed",
        "errors/",
        "errors/_rows",
        *errors,
        *(f"{error}_live" for error in errors),
    ]
    rest = [
        "lanes/default/default/",
        "lanes/default/default/_live",
        "pools/default/",
        "pools/default/_live",
        "workers/",
        "lanes/",
        "commands/",
        "outbox/",
        "outbox/_rows",
        "pool-messages/",
        "schedules/",
        "audit/",
        "registry/",
        "registry/secrets.fail/",
    ]
    rest += ["lanes/default/default/", "lanes/default/default/_live", "workers/w1/", "workers/w1/_live"]
    rest += [
        "_icons",
        "help/",
        "settings/",
        "alerts/",
        "alerts/_rows",
        "views/",
        "_palette?q=secrets",
        "_palette?q=pause+secrets.fail",
        "tasks/_complete?text=name:",
        "tasks/_complete?text=error:",
        "schedules/nightly/backfill/?since=2026-01-01&until=2026-01-03",
        "api-tokens/",
        *(f"{name}/_rows" for name in ("workers", "lanes", "commands")),
    ]
    rest += [
        "workflows/",
        "workflows/_rows",
        "workflows/_search?instance=x",
        "registry/secrets.fail/_live",
        "registry/_rows",
        "schedules/_rows",
        "schedules/nightly/",
        "schedules/nightly/_live",
    ]
    rest += [f"{name}/{rows}" for name in ("aggregations", "callbacks", "files") for rows in ("", "_rows")]
    rest += [f"audit/{pk}/{part}" for pk in AuditEntry.objects.values_list("pk", flat=True) for part in ("", "_live")]
    own = [f"tasks/{id}/{tab}" for id in TASKS for tab in (*TABS, "_live?tab=summary", "_live?tab=log")]
    own += [f"tasks/flow/{tab}" for tab in (*TABS[:-1], "run/", "_live?tab=run")]
    own += ["tasks/handed/delivery/", "tasks/handed/_live?tab=delivery"]
    chunks = [f"mapreduce/counts/{part}" for part in ("", "_live", "_rows", "0/", "1/", "1/_live")]
    chunks += ["tasks/counts/chunks/", *(f"mapreduce/?state={state}" for state in ChunkState), "mapreduce/"]
    shown = {resolve(f"/ops/{path}".partition("?")[0]).url_name for path in (*lists, *rest, *own, *chunks)}
    assert shown == {page.name for page in PAGES if VERB_OF[page.name] == "view"}  # a new page is looked at, too
    for path in (*lists, *rest, *own, *chunks):
        answer = client.get(f"/ops/{path}")
        assert answer.status_code in (200, 204, *answers), path
        yield path, answer.content.decode()


def test_no_page_shows_a_secret_and_those_who_may_see_what_was_said_around_it(
    worked: list[str], operator: Client
) -> None:
    shown = dict(pages(operator))
    shown |= {f"{id} raw": operator.get(f"/ops/tasks/{id}/raw/").content.decode() for id in TASKS}
    shown |= {f"{id} edit": operator.get(f"/ops/tasks/{id}/edit/").content.decode() for id in ("waits", "fails")}
    assert [path for path, page in shown.items() if SECRET in page] == []
    for path in (
        "tasks/fails/",
        "tasks/fails/log/",
        "tasks/quits/",
        "tasks/succeeds/",
        "tasks/flow/run/",
        "mapreduce/counts/1/",
        "errors/",
    ):
        assert VALUE in shown[path], path


def test_who_may_not_see_arguments_sees_types_and_places_and_no_text_of_a_task(
    worked: list[str], viewer: Client
) -> None:
    shown = dict(pages(viewer))
    assert [path for path, page in shown.items() if VALUE in page or SECRET in page] == []
    assert "ValueError" in shown["tasks/fails/"]
    assert re.search(
        r"File &quot;[^&]+test_secrets\.py&quot;, line \d+, in known\.&lt;locals&gt;\.fail|in fail",
        shown["tasks/fails/"],
    )
    assert "LookupError" in shown["tasks/?state=failed"] or "LookupError" in shown["tasks/backs-off/why/"]


def test_no_line_of_the_worker_shows_a_secret_in_any_format(worked: list[str]) -> None:
    assert any(f"secrets.fail fails failed: ValueError: {VALUE}: redis://ada:***@h/0" in line for line in worked)
    assert [line for line in worked if SECRET in line] == []


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_command_shows_a_secret(worked: list[str], form: tuple[str, ...]) -> None:
    shown = {}
    commands = [("status",), ("list",), ("errors",), ("workers",), ("commands",), ("schedules",), ("fsck",)]
    commands += [(name, id) for id in TASKS for name in ("show", "why", "tree")]
    commands += [("chunks", "counts"), ("edit", "fails", "--args", json.dumps([SAID]), "--kwargs", '{"x": "y"}')]
    commands += [("show", f"redis://u:{SECRET}@h"), ("list", "--state", f"token={SECRET}")]
    for command in commands:
        try:
            shown[command] = ask(*command, *form)
        except CommandError as error:
            shown[command] = str(error)
    assert [command for command, text in shown.items() if SECRET in text] == []
    assert VALUE in shown["show", "fails"]
    assert VALUE in shown["why", "waits"]


def test_what_happens_is_told_without_secrets(worked: list[str], known: dict[str, Any]) -> None:
    from queueops.inspect.tail import _event

    data = json.dumps({"t": 1, "id": "fails", "text": SAID, "name": "secrets.fail"}).encode()
    event = _event("default", data)
    assert event is not None
    assert SECRET not in event.text
    assert VALUE in event.text


def test_no_answer_can_be_made_with_a_secret_in_its_texts() -> None:
    made = [
        inspect.Finding(ok=True, text=SAID, value=SAID),
        inspect.Alarm(level="danger", text=SAID),
        inspect.LogLine(t=1, kind="crash", text=SAID),
        inspect.Moment(t=1, state="failed", text=SAID),
        inspect.Failure(type=SAID, message=SAID, traceback=SAID),
        inspect.Event(t=1, pool="p", id="x", text=SAID),
        inspect.ScheduleRow(id="s", pool="p", condition="broken", broken=SAID, note=SAID),
    ]
    assert [answer for answer in made if SECRET in repr(answer)] == []
    with concealing():
        assert VALUE not in repr(inspect.Failure(message=SAID, traceback=SAID))


def test_the_list_of_errors_is_stored_without_secrets(worked: list[str], redis_client: Any) -> None:
    stored = [redis_client.hgetall(key) for key in redis_client.scan_iter(match="*:error:*", _type="hash")]
    titles = [record[b"title"] for record in stored if b"title" in record]
    assert len(titles) >= 3
    assert not any(SECRET.encode() in title for title in titles)


def test_the_audit_log_keeps_no_secret(worked: list[str], operator: Client, viewer: Client) -> None:
    form = {"pool": "default", "confirmed": "1", "typed": "1", "reason": f"password={SECRET}"}
    operator.post("/ops/tasks/backs-off/_cancel", form)
    operator.post("/ops/tasks/fails/_edit", {"args": json.dumps([SENT]), "kwargs": "{}", "pool": "default"})
    entries = list(AuditEntry.objects.values())
    assert len(entries) == 3  # with the one of the fixture
    assert SECRET not in json.dumps(entries, default=str)
    record = get_broker().record("default", "backs-off")
    assert record is not None
    assert SECRET not in record.reason
