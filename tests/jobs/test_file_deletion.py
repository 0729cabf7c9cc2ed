"""Files of downloads are deleted with the record of their job, or after a setting, and a failure is repeated."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.test import Client

from queueops import control, inspect, jobs
from queueops.kinds.jobs.file_calls import QueuedFile
from queueops.kinds.jobs.files import file_deletion, orphans
from queueops.kinds.jobs.files.download_url import download_url
from queueops.kinds.jobs.files.file_store import file_name
from queueops.kinds.jobs.store import JobCalls
from queueops.redis.broker import get_broker, get_role
from queueops.redis.keys import Keys
from queueops.results.handle import TaskHandle
from queueops.testing import run_worker
from tests.jobs.api_client import GOOD, post
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import LocalServer, serving

HOUR = 3_600_000


class Files:
    """A server of files, the directory of the storage, and what a test does with both."""

    def __init__(self, server: LocalServer, directory: Path, settings: Any) -> None:
        self.server, self.directory, self._settings = server, directory, settings
        self.broker: Any = get_broker()
        self.keys: Keys = self.broker.keys("default")

    def set(self, **own: Any) -> None:
        self._settings.QUEUEOPS = self._settings.QUEUEOPS | {"JOBS": LOCAL | own}

    def download(self, path: str = "/a.txt", **more: Any) -> TaskHandle[Any]:
        job = jobs.submit(aggregation="a", url=self.server.url(path), **more)
        run_worker()
        assert inspect.task(job.id).state == "succeeded"
        return job

    def path(self, job: TaskHandle[Any]) -> str:
        found = json.loads(self.broker.client.hget(self.keys.task(job.id), "re") or b"{}")
        return str(found.get("path") or "")

    def exists(self, path: str) -> bool:
        return bool(path) and (self.directory / path).exists()

    def expire(self, *members: str) -> None:
        """What is on the agenda is due now; a worker acts on it."""
        self.broker.client.zadd(self.keys.agenda, dict.fromkeys(members, 1), xx=True)

    def make_due(self) -> None:
        """Every file in the queue is due now."""
        for path in self.broker.client.zrange(self.keys.files, 0, -1):
            self.broker.client.zadd(self.keys.files, {path: 1})
        self.broker.client.zadd(self.keys.agenda, {"~files:": 1})

    def queued(self) -> dict[str, dict[str, Any]]:
        """The notes of the files in the queue."""
        found = self.broker.client.hgetall(f"{self.keys.prefix}:files:notes")
        return {name.decode(): json.loads(note) for name, note in found.items() if name != b"!"}


@pytest.fixture
def files(namespace: str, settings: Any, tmp_path: Path) -> Iterator[Files]:
    settings.MEDIA_ROOT = str(tmp_path / "media")
    routes = {
        "/a.txt": lambda exchange: exchange.answer(200, b"content"),
        "/gone": lambda exchange: exchange.answer(404),
    }
    with serving(routes) as server:
        found = Files(server, tmp_path / "media", settings)
        found.set(PARTIAL_DIRECTORY=str(tmp_path / "partial"))
        yield found


def expired(files: Files, job: TaskHandle[Any]) -> None:
    files.expire(job.id)


def thrown_away(files: Files, job: TaskHandle[Any]) -> None:
    control.delete([job.id])
    files.expire(f"~trash:{job.id}")


@pytest.mark.parametrize("end", [expired, thrown_away])
@pytest.mark.parametrize("id", [None, "key-order.7", "own:id/of=ours"])
def test_a_file_is_deleted_when_the_record_of_its_job_ends(
    files: Files, end: Callable[[Files, TaskHandle[Any]], None], id: str | None
) -> None:
    job = files.download(id=id, options={"subpath": "shop"})
    path = files.path(job)
    assert files.exists(path)
    end(files, job)
    run_worker()
    run_worker()
    assert not files.exists(path)
    assert files.queued() == {}
    assert inspect.task("delete-files").state == "succeeded"


def test_a_job_that_is_restored_from_the_trash_keeps_its_file(files: Files) -> None:
    job = files.download()
    path = files.path(job)
    control.delete([job.id])
    run_worker()
    assert files.queued() == {}
    control.restore([job.id])
    run_worker()
    assert (files.path(job), files.exists(path)) == (path, True)
    files.expire(job.id)
    run_worker()
    run_worker()
    assert not files.exists(path)


def test_a_file_is_deleted_after_its_retention_and_the_record_says_so(files: Files) -> None:
    files.set(FILE_RETENTION=3600)
    job = files.download()
    path = files.path(job)
    ((queued, due),) = files.broker.client.zrange(files.keys.files, 0, -1, withscores=True)
    assert (queued.decode(), files.queued()[path]["why"]) == (path, "retention")
    assert HOUR - 60_000 < due - inspect.task(job.id).ended_ms <= HOUR
    assert files.exists(path)
    files.make_due()
    run_worker()
    assert not files.exists(path)
    assert (inspect.task(job.id).state, files.queued()) == ("succeeded", {})
    assert int(files.broker.client.hget(files.keys.task(job.id), "fx")) > 0


def test_a_job_that_runs_again_takes_its_file_out_of_the_queue(files: Files) -> None:
    files.set(FILE_RETENTION=3600)
    job = files.download()
    control.retry([job.id])
    assert files.queued() == {}
    run_worker()
    assert list(files.queued()) == [files.path(job)]


def test_the_file_of_an_earlier_run_is_deleted_with_a_job_that_failed_later(files: Files) -> None:
    job = files.download(retries=0)
    path = files.path(job)
    files.server.routes["/a.txt"] = lambda exchange: exchange.answer(404)
    control.retry([job.id])
    run_worker()
    assert (inspect.task(job.id).state, files.exists(path)) == ("failed", True)
    files.expire(job.id)
    run_worker()
    run_worker()
    assert not files.exists(path)


def test_a_new_job_with_the_same_id_keeps_the_file(files: Files) -> None:
    job = files.download(id="order-7")
    path = files.path(job)
    files.broker.client.zadd(files.keys.files, {path: 1})  # as if its deletion was still to come
    get_role(JobCalls).queue_files("default", [QueuedFile(path, job.id, "ended")])
    files.make_due()
    run_worker()
    assert (files.exists(path), files.queued()) == (True, {})


def test_a_deletion_that_fails_is_repeated(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    job = files.download()
    path = files.path(job)
    files.expire(job.id)
    with monkeypatch.context() as broken:
        broken.setattr(FileSystemStorage, "delete", lambda self, name: (_ for _ in ()).throw(OSError("no rights")))
        run_worker()
        run_worker()
    note = files.queued()[path]
    assert (note["tries"], note["error"]) == (1, "OSError: no rights")
    (alarm,) = [alarm for alarm in inspect.snapshot().alarms if path in alarm.text]
    assert alarm.text == f"Pool default: the file {path} cannot be deleted (attempt 1): OSError: no rights"
    assert alarm.command == "manage.py jobs files --failed --pool default"
    due = files.broker.client.zscore(files.keys.files, path)
    assert due > inspect.task("delete-files").ended_ms + 50_000
    files.make_due()
    run_worker()
    assert (files.exists(path), files.queued()) == (False, {})
    assert path not in str(inspect.snapshot().alarms)


def test_a_name_that_is_not_one_of_the_job_is_left_alone(files: Files) -> None:
    other = files.directory / "important" / "file"
    other.parent.mkdir(parents=True)
    other.write_text("of the project")
    get_role(JobCalls).queue_files("default", [QueuedFile("important/file", "01J0000000000000000000000A", "ended")])
    run_worker()
    run_worker()
    assert (other.exists(), files.queued()) == (True, {})


def test_a_turn_ends_and_the_next_one_goes_on(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [files.download() for _ in range(3)]
    paths = [files.path(job) for job in made]
    monkeypatch.setattr(file_deletion, "TURN_S", -1.0)
    files.expire(*(job.id for job in made))
    run_worker()
    run_worker()
    assert sum(map(files.exists, paths)) == 2
    monkeypatch.setattr(file_deletion, "TURN_S", 60.0)
    control.run_now(["delete-files"])
    run_worker()
    assert not any(map(files.exists, paths))


def test_the_queue_is_bounded_and_counts_what_did_not_fit(files: Files) -> None:
    files.broker.client.execute_command(
        "ZADD", files.keys.files, *[part for n in range(1000) for part in (9e12, f"x{n}")]
    )
    for start in range(1000, 200_000, 20_000):
        flat = [part for n in range(start, min(start + 20_000, 200_000)) for part in (9e12, f"x{n}")]
        files.broker.client.execute_command("ZADD", files.keys.files, *flat)
    get_role(JobCalls).queue_files("default", [QueuedFile("abc/abcd", "abcd", "ended")])
    assert files.broker.client.zcard(files.keys.files) == 200_000
    assert files.broker.client.hget(f"{files.keys.prefix}:files:notes", "") == b"1"


def test_the_consistency_check_has_nothing_to_say(files: Files) -> None:
    files.set(FILE_RETENTION=3600)
    files.download()
    assert inspect.fsck("default").faults == ()


def test_an_operator_keeps_a_file_or_deletes_it_now(files: Files) -> None:
    files.set(FILE_RETENTION=3600)
    kept, deleted = files.download(), files.download()
    assert control.keep_file(files.path(kept))
    assert not control.keep_file(files.path(kept))
    assert control.delete_file(files.path(deleted))
    run_worker()
    assert (files.exists(files.path(kept)), files.exists(files.path(deleted))) == (True, False)
    assert control.delete_file(files.path(kept))
    run_worker()
    assert not files.exists(files.path(kept))
    rows = {row.job: row for row in inspect.stored_files().rows}
    assert {row.size for row in rows.values()} == {7}
    assert all(row.deleted_ms for row in rows.values())


def test_an_operator_deletes_the_file_of_a_job_with_another_id(files: Files) -> None:
    job = files.download(id="own:id/of=ours")
    path = files.path(job)
    assert not control.delete_file(path)  # its name is a digest
    assert control.delete_file(path, job=job.id)
    run_worker()
    assert not files.exists(path)


def test_the_file_of_a_job_with_an_idempotency_key_can_be_an_orphan(files: Files, api: Client) -> None:
    id = post(api, GOOD | {"delay": 3600}, Idempotency_Key="order 7")[1]["id"]
    path = file_name(id)
    (files.directory / path).parent.mkdir(parents=True)
    (files.directory / path).write_text("x")
    assert inspect.orphan_files().paths == ()
    control.cancel([id])
    control.delete([id])
    assert inspect.orphan_files().paths == (), "the trash has its job"
    files.broker.client.delete(files.keys.trash(id))
    assert inspect.orphan_files().paths == (path,)


def test_an_orphan_is_deleted_and_no_other_file_of_the_project(files: Files) -> None:
    id = "01J0000000000000000000000A"
    for name in (f"01J/{id}", "important/file"):
        (files.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (files.directory / name).write_text("x")
    assert inspect.orphan_files().paths == (f"01J/{id}",)
    assert not control.delete_file("important/file")
    assert control.delete_file(f"01J/{id}")
    run_worker()
    run_worker()
    assert (files.exists(f"01J/{id}"), files.exists("important/file")) == (False, True)


@pytest.mark.parametrize("own_id", ["", "order-7", "own:id/of=ours"])
def test_a_file_that_a_killed_worker_was_publishing_is_an_orphan_after_an_hour(files: Files, own_id: str) -> None:
    job = files.download(**({"id": own_id} if own_id else {}))
    stored = files.path(job)
    directory, _, name = stored.rpartition("/")
    path = f"{directory}/.{name}.4711-123.tmp"
    (files.directory / path).write_text("half")
    assert (inspect.orphan_files().paths, control.delete_file(path)) == ((), False), "it may be published yet"
    hour_ago = time.time() - 3601
    os.utime(files.directory / path, (hour_ago, hour_ago))
    assert inspect.orphan_files().paths == tuple(orphans.files_without_job()) == (path,)
    assert control.delete_file(path)
    run_worker()
    assert (files.exists(path), files.exists(stored)) == (False, True)
    (row,) = inspect.stored_files().rows
    assert row.deleted_ms is None


def test_a_file_that_an_earlier_version_stored_is_served_counted_and_deleted(files: Files) -> None:
    job = files.download()
    path = files.path(job)
    old = f"{job.id[:3]}/{job.id}"
    assert path != old
    (files.directory / old).parent.mkdir()
    (files.directory / path).rename(files.directory / old)
    key, found = files.keys.task(job.id), files.broker.client.hget(files.keys.task(job.id), "re")
    files.broker.client.hset(key, "re", found.replace(path.encode(), old.encode()))
    (row,) = inspect.stored_files().rows
    assert (row.path, download_url(old)[-len(old) :]) == (old, old)
    assert list(orphans.files_without_job()) == list(orphans.jobs_without_file()) == []
    assert control.delete_file(old)
    run_worker()
    assert not files.exists(old)


def test_a_file_that_was_deleted_is_not_downloaded_again_as_an_orphan(files: Files) -> None:
    job = files.download()
    control.delete_file(files.path(job))
    run_worker()
    assert list(orphans.jobs_without_file()) == []


def test_the_queue_is_listed_in_the_order_in_which_files_are_due(files: Files) -> None:
    calls = get_role(JobCalls)
    calls.queue_files("default", [QueuedFile(f"abc/abc{n}", f"abc{n}", "ended", 1000 * (9 - n)) for n in range(5)])
    calls.queue_files("other", [QueuedFile("abc/abc9", "abc9", "retention", 6500)])
    found, after = [], ""
    while True:
        page = inspect.file_deletions(after=after, limit=2)
        found += [(row.pool, row.job, row.why) for row in page.rows]
        assert after or (page.total, page.dropped) == (6, 0)
        if not (after := page.next):
            break
    ended = [("default", f"abc{n}", "ended") for n in (4, 3, 2, 1, 0)]
    assert found == [*ended[:2], ("other", "abc9", "retention"), *ended[2:]]
    assert inspect.file_deletions(failed=True).rows == ()
