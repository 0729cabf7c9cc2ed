"""The storage of downloads is checked: by `manage.py check` without writing, by a worker at its start with a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.core.management import CommandError, call_command

from queueops.errors.job_network import StorageNotReady
from queueops.jobs import job_handler
from queueops.kinds.jobs import start
from queueops.kinds.jobs.checks import check_storage
from queueops.tasks import registry
from queueops.worker import WorkerOptions
from tests.support.webserver import ROOT

PUBLIC = {"DOWNLOAD_URL": "https://files.example/jobs"}


@pytest.fixture
def media(namespace: str, settings: Any, tmp_path: Path) -> Path:
    """A project with jobs and a directory for their files."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": PUBLIC}
    settings.MEDIA_ROOT = str(tmp_path / "media")
    return tmp_path / "media"


class Forgetful(FileSystemStorage):
    """A storage that loses what it was given."""

    def _save(self, name: str, content: Any) -> str:
        return super()._save(name, ContentFile(b""))


def ids() -> list[str]:
    return [message.id or "" for message in check_storage()]


def test_a_storage_below_a_directory_with_a_public_url_is_well(media: Path) -> None:
    assert ids() == []
    assert not media.exists()


def test_a_project_without_jobs_is_not_checked(settings: Any) -> None:
    settings.MEDIA_ROOT = ""
    assert ids() == []


def test_files_in_the_working_directory_are_an_error(media: Path, settings: Any) -> None:
    settings.MEDIA_ROOT = ""
    (found,) = check_storage()
    assert found.id == "queueops.E008"
    assert "working directory" in found.msg
    assert "MEDIA_ROOT" in (found.hint or "")
    assert "If no job is a download, put 'queueops.E008' into SILENCED_SYSTEM_CHECKS." in (found.hint or "")


@pytest.mark.parametrize(("media_url", "wrong"), [("", True), ("media/", True), ("https://files.example/", False)])
def test_a_download_url_without_a_host_is_a_warning(media: Path, settings: Any, media_url: str, wrong: bool) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {}}
    settings.MEDIA_URL = media_url
    assert ids() == (["queueops.W005"] if wrong else [])


@pytest.mark.parametrize("root", ["", "media"])
def test_a_project_with_networks_for_webhooks_alone_reads_what_to_silence(
    media: Path, settings: Any, root: str
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"PRIVATE_NETWORKS": ["10.0.0.0/8"]}}
    settings.MEDIA_ROOT, settings.MEDIA_URL = root and str(media), "media/"
    (found,) = check_storage()
    silenced = f"If no job is a download, put '{found.id}' into SILENCED_SYSTEM_CHECKS."
    webhooks = "PRIVATE_NETWORKS and PORTS are for webhooks of alerts, too, which store no file."
    assert (found.hint or "").endswith(f"{silenced} {webhooks}")


def test_a_project_with_downloads_of_its_own_needs_no_storage(media: Path, settings: Any) -> None:
    settings.MEDIA_ROOT = ""
    job_handler("download")(lambda job: None)
    try:
        assert ids() == []
    finally:
        registry.unregister("job", "download")


def test_a_worker_writes_reads_and_deletes_a_file_at_its_start(media: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = FileSystemStorage.delete
    monkeypatch.setattr(FileSystemStorage, "delete", lambda self, name: seen.append(name) or real(self, name))
    start.prepare(WorkerOptions())
    assert len(seen) == 1
    assert list(media.iterdir()) == []


@pytest.mark.parametrize("lanes", [(), ("aggr:*",), ("*",), ("a*", "to:*")])
def test_a_worker_of_downloads_does_not_start_without_its_storage(
    media: Path, lanes: tuple[str, ...], tmp_path: Path
) -> None:
    media.write_text("a file where the directory should be")
    with pytest.raises(StorageNotReady, match=r"QUEUEOPS\['JOBS'\]\['CHECK_STORAGE'\]") as refused:
        start.prepare(WorkerOptions(lanes=lanes))
    assert "FileSystemStorage" in str(refused.value)


def test_a_worker_that_runs_no_download_starts_without_it(media: Path, settings: Any) -> None:
    media.write_text("a file where the directory should be")
    start.prepare(WorkerOptions(lanes=("to:*", "mail")))
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": PUBLIC | {"CHECK_STORAGE": False}}
    start.prepare(WorkerOptions())


def test_a_storage_that_gives_back_something_else_is_refused(media: Path, settings: Any) -> None:
    settings.STORAGES = settings.STORAGES | {"default": {"BACKEND": f"{__name__}.Forgetful"}}
    with pytest.raises(StorageNotReady, match="other content than was written"):
        start.prepare(WorkerOptions())


def test_a_partial_directory_that_cannot_be_used_is_refused(media: Path, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    own = PUBLIC | {"PARTIAL_DIRECTORY": str(tmp_path / "file" / "below")}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    with pytest.raises(StorageNotReady, match="PARTIAL_DIRECTORY"):
        start.prepare(WorkerOptions())


def test_the_command_says_why_the_worker_does_not_start(media: Path) -> None:
    media.write_text("a file where the directory should be")
    with pytest.raises(CommandError, match="The storage of downloads cannot be used"):
        call_command("runworker", burst=True)


def test_the_stand_alone_project_keeps_files_below_its_data(tmp_path: Path) -> None:
    code = (
        "import django, json; django.setup(); from django.conf import settings as s;"
        "from django.core.files.storage import default_storage as d;"
        "print(json.dumps([str(s.MEDIA_ROOT), d.url('abc/abcd')]))"
    )
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "console.project.settings",
        "QUEUEOPS_DATA": str(tmp_path / "data"),
        "QUEUEOPS_FILES_URL": "https://files.example/jobs/",
    }
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [str(tmp_path / "data" / "files"), "https://files.example/jobs/abc/abcd"]
