"""`manage.py jobs`: URLs from the standard input, an export, and dead callbacks that are sent again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.models import AuditEntry
from queueops import control, inspect, jobs
from queueops.kinds.jobs import command
from queueops.kinds.jobs.files import orphans
from queueops.kinds.jobs.files.file_store import file_name
from queueops.model.ids import new_id
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.jobs.conftest import Register
from tests.jobs.servers import LocalServer
from tests.jobs.test_callbacks import target  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db


def told(*arguments: str) -> str:
    """What the command prints."""
    out = io.StringIO()
    call_command("jobs", *arguments, stdout=out)
    return out.getvalue()


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Give lines to the standard input."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_each_url_of_the_standard_input_is_a_job_of_its_host(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = ["https://93.184.215.14/a", "", "# a comment", "https://93.184.215.15/b", "https://93.184.215.14/c"]
    typed(monkeypatch, *urls)
    assert told("submit", "--limit", "3") == "3 jobs were submitted.\n"
    found = {row.id: (row.limit, row.ready) for row in inspect.aggregations().rows}
    assert found == {"93.184.215.14": (3, 2), "93.184.215.15": (3, 1)}
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.changed) == ("submit_jobs", 3)
    typed(monkeypatch, "https://93.184.215.14/d")
    (line,) = told("submit", "--json", "--aggregation", "x").splitlines()
    assert inspect.task(json.loads(line)["id"]).kind == "job"
    assert inspect.aggregation("x").ready == 1
    typed(monkeypatch, "https://93.184.215.14/e")
    assert told("submit") == "1 job was submitted.\n"
    assert [entry.target for entry in AuditEntry.objects.order_by("pk")] == ["3 jobs", "1 job", "1 job"]


def test_a_line_that_is_wrong_is_named_and_then_no_job_is_made(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "https://93.184.215.14/a", "https://ann:hunter2@10.0.0.1:1/b")
    with pytest.raises(CommandError, match=r"^Line 2: .* No job was submitted\.$") as caught:
        told("submit")
    assert caught.value.returncode == 2
    assert "hunter2" not in str(caught.value)
    assert inspect.aggregations().rows == ()


def test_jobs_are_exported_as_json_lines_and_as_csv(namespace: str) -> None:
    given: Any = {"handler": "work", "url": "=1+1"}
    jobs.submit_many([given | {"aggregation": "a"}] * 3 + [given | {"aggregation": "b"}])
    assert [json.loads(line)["aggregation"] for line in told("export", "--aggregation", "a").splitlines()] == ["a"] * 3
    head, *rows = csv.reader(told("export", "--format", "csv", "--state", "pending").splitlines())
    assert head[:4] == ["id", "pool", "aggregation", "url"]
    assert [row[3] for row in rows] == ["'=1+1"] * 4
    assert len(told("export", "--limit", "2").splitlines()) == 2
    with pytest.raises(CommandError) as caught:
        told("export", "--state", "nonsense")
    assert caught.value.returncode == 2


def test_dead_callbacks_are_counted_first_and_then_sent_again(
    target: LocalServer,  # noqa: F811
    handler: Register,
) -> None:
    handler(lambda job: None)
    jobs.submit_many([{"aggregation": "a", "handler": "work", "callback_url": target.url("/gone")}] * 3)
    run_worker()
    assert told("reschedule-callbacks", "--dry-run") == "3 dead callbacks would be sent again.\n"
    assert told("reschedule-callbacks", "--host", "other") == "0 of 0 dead callbacks are sent again.\n"
    target.routes["/gone"] = target.routes["/ok"]
    answer = json.loads(told("reschedule-callbacks", "--json", "--host", f"127.0.0.1:{target.port}"))
    assert answer == {"found": 3, "changed": 3, "dry_run": False}
    run_worker()
    assert len(inspect.callbacks("delivered").rows) == 3
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.changed) == ("retry", 3)


def test_one_dead_callback_is_told_in_the_singular(target: LocalServer, handler: Register) -> None:  # noqa: F811
    handler(lambda job: None)
    jobs.submit(aggregation="a", handler="work", callback_url=target.url("/gone"))
    run_worker()
    assert told("reschedule-callbacks", "--dry-run") == "1 dead callback would be sent again.\n"
    text = "1 of 1 dead callback is sent again, within 0 seconds.\n"
    assert told("reschedule-callbacks", "--rate", "1") == text


def test_dead_callbacks_are_sent_again_at_a_rate(
    target: LocalServer,  # noqa: F811
    handler: Register,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handler(lambda job: None)
    monkeypatch.setattr(command, "BATCH", 2)
    jobs.submit_many([{"aggregation": "a", "handler": "work", "callback_url": target.url("/gone")}] * 5)
    run_worker()
    text = "5 of 5 dead callbacks are sent again, within 40 seconds.\n"
    assert told("reschedule-callbacks", "--rate", "0.1") == text
    due = sorted(row.due_ms or 0 for row in inspect.callbacks("scheduled").rows)
    assert [round((each - due[0]) / 1000) for each in due] == [0, 10, 20, 30]
    for wrong in ("0", "-1", "x", "nan"):
        with pytest.raises(CommandError):
            told("reschedule-callbacks", "--rate", wrong)


@pytest.fixture
def stored(namespace: str, settings: Any, tmp_path: Path) -> Path:
    """The directory of the storage."""
    settings.MEDIA_ROOT = str(tmp_path)
    return tmp_path


def test_orphans_are_found_in_both_directions_and_repaired(stored: Path, handler: Register) -> None:
    assert told("orphans") == "No orphans were found.\n"
    registered = registry.handlers().get(("job", "download"))
    jobs.job_handler("download")(lambda job: {"path": f"shop/{file_name(job.id)}"})
    try:
        whole, lost, thrown = [jobs.submit(aggregation="a") for _ in range(3)]
        run_worker()
    finally:
        registry.unregister("job", "download")
        assert registered is None
    gone = new_id()
    names = [f"shop/{file_name(id)}" for id in (whole.id, thrown.id, gone)]
    for name in (*names, "abc/abcdef", f"xyz/{gone}", gone):
        (stored / name).parent.mkdir(parents=True, exist_ok=True)
        (stored / name).write_text("x")
    control.delete([thrown.id])
    found = io.StringIO()
    with pytest.raises(CommandError):
        call_command("jobs", "orphans", stdout=found)
    assert found.getvalue().splitlines() == [
        f"The file {names[2]} has no job.",
        f"The file shop/{file_name(lost.id)} of the job {lost.id} is gone.",
        "2 orphans were found.",
    ]
    assert len(told("orphans", "--repair", "--json").splitlines()) == 2
    kept = sorted(str(path.relative_to(stored)) for path in stored.rglob("*") if path.is_file())
    assert kept == sorted([*names[:2], "abc/abcdef", f"xyz/{gone}", gone])
    assert inspect.task(lost.id).state == "pending"
    assert [entry.verb for entry in AuditEntry.objects.order_by("pk")] == ["delete_file", "retry"]


def test_a_download_that_is_not_run_again_is_not_called_repaired(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is deleted after it was found."""
    lost = orphans.LostFile(new_id(), "default", "shop/a")
    monkeypatch.setattr(orphans, "jobs_without_file", lambda: iter([lost]))
    found = io.StringIO()
    with pytest.raises(CommandError, match="1 download was not run again"):
        call_command("jobs", "orphans", "--repair", stdout=found)
    assert found.getvalue().splitlines() == [
        f"The file shop/a of the job {lost.id} is gone.",
        "0 orphans were repaired.",
    ]
    found.truncate(0)
    with pytest.raises(CommandError, match="With --repair"):
        call_command("jobs", "orphans", stdout=found)
    assert found.getvalue().endswith("\n1 orphan was found.\n")
