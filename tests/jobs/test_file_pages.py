"""The page of files and `manage.py jobs files`: stored files, the queue, orphans, and who may act on them."""

from __future__ import annotations

import json
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from console.models import AuditEntry
from queueops import conf, control, inspect
from queueops.kinds.jobs.file_calls import QueuedFile, Settled
from queueops.kinds.jobs.files.file_list import OF_PROJECT
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_role
from queueops.testing import run_worker
from tests.console.conftest import administrator, client_of, collected, operator, viewer  # noqa: F401  fixtures
from tests.jobs.test_file_deletion import Files, files  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(files: Files) -> Files:  # noqa: F811
    """Files that are kept for an hour."""
    files.set(FILE_RETENTION=3600)
    return files


def test_the_page_shows_stored_files_with_their_jobs(files: Files, viewer: Client) -> None:  # noqa: F811
    job = files.download()
    page = viewer.get("/ops/files/").content.decode()
    assert files.path(job) in page
    assert f"/ops/tasks/{job.id}/delivery/" in page
    assert "Delete now" not in page
    assert "Keep" not in page


def test_the_queue_and_its_failures_have_pages(waiting: Files, operator: Client) -> None:  # noqa: F811
    job = waiting.download()
    queue = operator.get("/ops/files/?show=queue").content.decode()
    assert waiting.path(job) in queue
    assert "its retention is over" in queue
    assert waiting.path(job) not in operator.get("/ops/files/?show=failed").content.decode()
    assert operator.get("/ops/files/_rows?show=queue").status_code == 200


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("show=qeue", "there is no list 'qeue' of files; did you mean 'queue'?"),
        ("show=x", "there is no list 'x' of files; known are: failed, orphans, queue"),
        ("after=x", "The filter is not valid"),
    ],
)
def test_a_wrong_filter_of_files_is_said(files: Files, viewer: Client, wrong: str, said: str) -> None:  # noqa: F811
    files.download()
    answer = viewer.get(f"/ops/files/?{wrong}")
    page = unescape(answer.content.decode())
    assert (answer.status_code, said in page, "Without filter" in page) == (400, True, True)
    assert "No file matches the filter." in page
    assert viewer.get(f"/ops/files/_rows?{wrong}").status_code == 200


def test_an_operator_keeps_a_file_and_may_not_delete_it(waiting: Files, operator: Client) -> None:  # noqa: F811
    job = waiting.download()
    path = waiting.path(job)
    sent = {"pool": "default", "path": path}
    assert operator.post("/ops/files/_delete", sent | {"confirmed": "1"}).status_code == 403
    operator.post("/ops/files/_keep", sent)
    assert inspect.file_deletions().rows == ()
    entry = AuditEntry.objects.get(verb="keep_file")
    assert (entry.target, entry.outcome) == (f"default/{path}", "done")
    operator.post("/ops/files/_keep", sent)
    assert AuditEntry.objects.filter(verb="keep_file", outcome="refused").count() == 1


def test_an_administrator_deletes_a_file_after_a_question(files: Files, administrator: Client) -> None:  # noqa: F811
    job = files.download(id="own:id/of=ours", options={"subpath": "my files"})
    path = files.path(job)
    sent = {"pool": "default", "path": path, "job": job.id}
    question = administrator.post("/ops/files/_delete", sent).content.decode()
    assert path in question
    assert files.exists(path)
    administrator.post("/ops/files/_delete", sent | {"confirmed": "1", "typed": "1", "reason": "too large"})
    run_worker()
    assert not files.exists(path)
    assert AuditEntry.objects.get(verb="delete_file").reason == "too large"
    assert "deleted" in administrator.get("/ops/files/").content.decode()


def test_a_form_without_a_token_against_forgery_is_refused(files: Files, administrator: Client) -> None:  # noqa: F811
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = administrator.cookies
    assert strict.post("/ops/files/_keep", {"pool": "default", "path": "abc/abcd"}).status_code == 403


@pytest.mark.parametrize(
    "sent",
    [{}, {"path": ""}, {"path": "a\nb"}, {"path": "x" * 1001}, {"path": "a", "pool": "}"}, {"path": "a", "job": "#"}],
)
def test_a_form_that_names_no_file_is_refused(files: Files, administrator: Client, sent: dict[str, str]) -> None:  # noqa: F811
    answer = administrator.post("/ops/files/_keep", {"pool": "default"} | sent)
    assert answer.status_code == 400


def test_a_file_without_a_job_is_shown_and_deleted(files: Files, administrator: Client) -> None:  # noqa: F811
    id = "01J0000000000000000000000A"
    (files.directory / "01J").mkdir(parents=True)
    (files.directory / "01J" / id).write_text("x")
    assert f"01J/{id}" in administrator.get("/ops/files/?show=orphans").content.decode()
    sent = {"pool": "default", "path": f"01J/{id}", "job": "", "confirmed": "1", "typed": "1", "reason": "old"}
    administrator.post("/ops/files/_delete", sent)
    run_worker()
    run_worker()
    assert not files.exists(f"01J/{id}")


def test_a_file_of_the_own_store_is_no_orphan_of_another(files: Files, settings: Any) -> None:  # noqa: F811
    path = files.path(files.download())
    other = {"NAMESPACE": f"{settings.QUEUEOPS['NAMESPACE']}-eu"}
    settings.QUEUEOPS = {**settings.QUEUEOPS, "STORES": {"eu": other}}
    with conf.in_store("eu"):
        found = inspect.orphan_files()
        assert (found.paths, found.fault) == ((), OF_PROJECT)
        assert not control.delete_file(path)
        assert inspect.file_deletions().rows == ()


def lines(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("jobs", "files", *arguments, stdout=out)
    return out.getvalue().splitlines()


def test_the_command_lists_files_and_acts_on_them(waiting: Files) -> None:
    job = waiting.download()
    path = waiting.path(job)
    (stored,) = (json.loads(line) for line in lines("--json"))
    assert (stored["path"], stored["job"], stored["size"]) == (path, job.id, 7)
    (queued,) = (json.loads(line) for line in lines("--queue", "--json"))
    assert (queued["path"], queued["why"]) == (path, "retention")
    assert lines("--failed") == []
    assert lines("--keep", path) == [f"{path}: kept"]
    assert lines("--queue") == []
    assert lines("--delete", path) == [f"{path}: to be deleted"]
    run_worker()
    assert not waiting.exists(path)
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", "outcome"))
    assert verbs == [("keep_file", "done"), ("delete_file", "done")]
    with pytest.raises(CommandError, match="1 file was not changed"):
        lines("--delete", "important/file")
    with pytest.raises(CommandError, match="2 files were not changed"):
        lines("--delete", "important/file", "important/other")


def test_errors_of_the_storage_are_shown_with_masked_secrets(files: Files, viewer: Client) -> None:  # noqa: F811
    calls = get_role(JobCalls)
    calls.queue_files("default", [QueuedFile("abc/abcd", "abcd", "ended")])
    file = calls.next_file("default")
    assert file is not None
    calls.next_file("default", Settled(file, "failed", 60_000, "OSError: https://u:pass-x@s3.example/ password=pass-x"))
    page = viewer.get("/ops/files/?show=failed").content.decode()
    assert "OSError" in page
    assert "pass-x" not in page
