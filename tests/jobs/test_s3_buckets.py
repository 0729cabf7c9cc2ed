"""Downloads into buckets of S3: stored, told, deleted and found again on a server that speaks S3."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from queueops import control, inspect, jobs
from queueops.errors import BadOption
from queueops.errors.job_network import BucketUnknown
from queueops.kinds.jobs import checks
from queueops.kinds.jobs.files import s3_buckets
from queueops.kinds.jobs.files.download_url import download_url
from queueops.kinds.jobs.files.file_store import delete_file, file_name
from queueops.kinds.jobs.files.orphans import files_without_job, jobs_without_file
from queueops.kinds.jobs.settings import read_settings
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from queueops.testing import run_worker
from tests.console.conftest import administrator, client_of, collected  # noqa: F401  fixtures
from tests.jobs import s3_server
from tests.jobs.api_client import GOOD, post
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import LocalServer, serving
from tests.jobs.test_classic import GOOD as CLASSIC
from tests.jobs.test_classic import classic, send  # noqa: F401  a fixture
from tests.support.for_each import for_each

BUCKET, REGION = "shop-files", "eu-central-1"
TO_BUCKET = {"s3_bucket": BUCKET, "s3_region": REGION}
KEYS = {"access_key": "key", "secret_key": "secret", "addressing_style": "path"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server.serving_s3() as url:
        yield url


class Buckets:
    """The bucket of a test, and a server of files that takes callbacks, too."""

    def __init__(self, url: str, files: LocalServer, settings: Any, partial: str) -> None:
        self.client, self.files, self._url, self._settings = s3_server.client_of(url), files, url, settings
        self._partial = partial

    def set(self, buckets: Any = None, options: Any = None, **own: Any) -> None:
        """The settings of the project. Without `options` those of the server hold."""
        allowed = {"S3_BUCKETS": {BUCKET: REGION} if buckets is None else buckets, "PARTIAL_DIRECTORY": self._partial}
        self._settings.QUEUEOPS = self._settings.QUEUEOPS | {"JOBS": LOCAL | allowed | own}
        backend = "storages.backends.s3.S3Storage"
        entry = {"BACKEND": backend, "OPTIONS": KEYS | {"endpoint_url": self._url} | (options or {})}
        self._settings.STORAGES = {**self._settings.STORAGES, "s3": entry}

    def download(self, **more: Any) -> TaskHandle[Any]:
        usual = {"url": self.files.url("/a.txt"), "callback_url": self.files.url("/told"), "options": TO_BUCKET}
        job = jobs.submit(aggregation="a", **usual | more)  # type: ignore[typeddict-item]
        run_worker()
        return job

    def told(self) -> dict[str, Any]:
        (asked,) = [asked for asked in self.files.asked if asked.path == "/told"]
        found: dict[str, Any] = json.loads(asked.body)
        return found

    def names(self) -> list[str]:
        return [each["Key"] for each in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


@pytest.fixture
def buckets(server: str, namespace: str, settings: Any, tmp_path: Path) -> Iterator[Buckets]:
    settings.MEDIA_ROOT = str(tmp_path / "media")
    settings.STORAGES = dict(settings.STORAGES)
    routes = {
        "/a.txt": lambda exchange: exchange.answer(200, b"content"),
        "/told": lambda exchange: exchange.answer(200),
    }
    with serving(routes) as files:
        found = Buckets(server, files, settings, str(tmp_path / "partial"))
        found.client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        found.set()
        yield found
        for name in found.names():
            found.client.delete_object(Bucket=BUCKET, Key=name)
        found.client.delete_bucket(Bucket=BUCKET)
        found.client.close()
        s3_buckets.forget()


def test_a_file_goes_to_the_bucket_of_its_job_and_not_to_the_default_storage(buckets: Buckets, tmp_path: Path) -> None:
    job = buckets.download(options=TO_BUCKET | {"subpath": "a/b"}, extra='{"order": "7", "size": 2.9, "paid": true}')
    name = f"a/b/{file_name(job.id)}"
    assert job.result(timeout=1)["path"] == f"s3://{BUCKET}/{name}"
    stored = buckets.client.get_object(Bucket=BUCKET, Key=name)
    assert stored["Body"].read() == b"content"
    assert stored["Metadata"] == {"order": "7", "size": "2"}
    assert not (tmp_path / "media").exists()
    assert list((tmp_path / "partial").glob("*")) == []


def test_jobs_without_a_bucket_and_with_one_go_their_ways(buckets: Buckets, tmp_path: Path) -> None:
    plain = buckets.download(options={}, callback_url="")
    job = buckets.download(callback_url="", extra="")
    assert buckets.names() == [file_name(job.id)]
    assert (tmp_path / "media" / file_name(plain.id)).read_bytes() == b"content"
    assert "Metadata" not in buckets.client.head_object(Bucket=BUCKET, Key=buckets.names()[0])["Metadata"]


def test_the_callback_tells_a_signed_url_of_the_region_made_when_it_is_sent(buckets: Buckets) -> None:
    buckets.set(options={"signature_version": "s3v4", "querystring_expire": 77}, DOWNLOAD_URL="https://files.example")
    job = buckets.download()
    url = buckets.told()["download_url"]
    assert urlsplit(url).path == f"/{BUCKET}/{file_name(job.id)}"
    query = parse_qs(urlsplit(url).query)
    assert query["X-Amz-Expires"] == ["77"]
    assert f"/{REGION}/s3/" in query["X-Amz-Credential"][0]
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.read() == b"content"
    shown = inspect.job_story(inspect.task(job.id)).outcome
    assert shown.path == job.result(timeout=1)["path"]
    assert query["X-Amz-Signature"][0] not in shown.url


def test_the_callback_tells_a_public_url_if_the_storage_signs_none(buckets: Buckets) -> None:
    buckets.set(options={"querystring_auth": False, "default_acl": "public-read"})
    buckets.download()
    url = buckets.told()["download_url"]
    assert urlsplit(url).query == ""
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.read() == b"content"


def test_a_file_in_a_bucket_is_deleted_with_the_record_of_its_job(buckets: Buckets) -> None:
    job = buckets.download()
    broker = get_broker()
    control.delete([job.id])
    broker.client.zadd(broker.keys("default").agenda, {f"~trash:{job.id}": 1}, xx=True)
    run_worker()  # it ends the record
    run_worker()
    assert buckets.names() == []


def test_a_file_in_a_bucket_is_deleted_after_its_retention_and_by_an_operator(buckets: Buckets) -> None:
    first, second = buckets.download(callback_url=""), buckets.download(callback_url="")
    assert control.delete_file(first.result(timeout=1)["path"], job=first.id)
    run_worker()
    assert buckets.names() == [file_name(second.id)]
    buckets.set(FILE_RETENTION=0)
    control.retry([second.id])
    run_worker()
    assert buckets.names() == []


def test_a_deletion_that_a_bucket_refuses_is_repeated(buckets: Buckets) -> None:
    job = buckets.download()
    path = job.result(timeout=1)["path"]
    buckets.set(buckets={})
    control.delete_file(path, job=job.id)
    run_worker()
    (row,) = inspect.file_deletions(failed=True).rows
    assert (row.path, row.tries) == (path, 1)
    assert row.error.startswith(f"BucketUnknown: The bucket {BUCKET} of S3 cannot be used here.")
    assert len(buckets.names()) == 1
    buckets.set()
    control.delete_file(path)
    run_worker()
    assert buckets.names() == []


@pytest.mark.django_db
def test_orphans_in_buckets_are_found_and_repaired(buckets: Buckets) -> None:
    lost, kept = buckets.download(callback_url=""), buckets.download(callback_url="")
    buckets.client.delete_object(Bucket=BUCKET, Key=file_name(lost.id))
    stray = "x/01M/01M85Z9N7K3D5W1QFTGY2H4JRE"
    for name in (stray, "other/file.txt"):
        buckets.client.put_object(Bucket=BUCKET, Key=name, Body=b"old")
    assert [each.path for each in jobs_without_file()] == [lost.result(timeout=1)["path"]]
    assert inspect.orphan_files().paths == (f"s3://{BUCKET}/{stray}",)
    call_command("jobs", "orphans", "--repair", stdout=StringIO())
    run_worker()
    assert set(buckets.names()) == {"other/file.txt", *(file_name(each.id) for each in (lost, kept))}


def test_a_bucket_that_the_settings_no_longer_name_has_no_lost_files(buckets: Buckets) -> None:
    job = buckets.download()
    buckets.client.delete_object(Bucket=BUCKET, Key=file_name(job.id))
    buckets.set(buckets={})
    assert list(jobs_without_file()) == []
    assert download_url(job.result(timeout=1)["path"]) == ""
    with pytest.raises(BucketUnknown, match=r"Name it in QUEUEOPS\['JOBS'\]\['S3_BUCKETS'\]"):
        delete_file(job.result(timeout=1)["path"])


@pytest.mark.django_db
def test_a_bucket_that_cannot_be_read_is_named(buckets: Buckets, administrator: Client) -> None:  # noqa: F811
    buckets.set(buckets={"not-there": REGION})
    said = "The bucket not-there of S3 cannot be read: NoSuchBucket: "
    assert inspect.orphan_files().fault.startswith(said)
    assert said in administrator.get("/ops/files/?show=orphans").content.decode()
    with pytest.raises(CommandError, match=said):
        call_command("jobs", "orphans", stdout=StringIO())


def test_a_download_that_a_bucket_refuses_is_tried_again(buckets: Buckets) -> None:
    buckets.set(buckets={"not-there": REGION})
    job = buckets.download(options={"s3_bucket": "not-there", "s3_region": REGION})
    assert job.state == "restart"
    found = inspect.task(job.id)
    assert found is not None
    assert found.error is not None
    assert "The download failed (storage). The file cannot be stored: " in found.error.message


WRONG = [
    ({"s3_bucket": BUCKET}, "s3_region is '', but it must be given: s3_bucket and s3_region belong together"),
    ({"s3_region": REGION}, "s3_bucket is '', but it must be given: s3_bucket and s3_region belong together"),
    ({"s3_bucket": 7, "s3_region": REGION}, "s3_bucket is 7, but it must be a text"),
    ({"s3_bucket": "other", "s3_region": REGION}, "must be a bucket of the setting QUEUEOPS['JOBS']['S3_BUCKETS']"),
    ({"s3_bucket": BUCKET, "s3_region": "r"}, f"must be '{REGION}', the region of the bucket {BUCKET}"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_a_wrong_bucket_is_refused_when_the_job_is_handed_in(
    buckets: Buckets, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadOption) as caught:
        buckets.download(options=options)
    assert said in str(caught.value)
    assert inspect.jobs().rows == ()


def test_no_bucket_is_allowed_without_the_setting(buckets: Buckets) -> None:
    buckets.set(buckets={})
    with pytest.raises(BadOption, match="must be a bucket of the setting"):
        buckets.download()


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("order 7", "a JSON object"),
        ("[1]", "a JSON object"),
        ('{"a b": "c"}', "names of letters, digits, - and _"),
        ('{"name": "Zoë"}', "ASCII texts; name is another one"),
        ('{"name": "a\\nb"}', "ASCII texts; name is another one"),
        (json.dumps({"a": "x" * 3000}), "at most 2,048 bytes"),
    ],
)
def test_an_extra_that_is_no_metadata_is_refused(buckets: Buckets, extra: str, said: str) -> None:
    with pytest.raises(BadOption) as caught:
        buckets.download(extra=extra)
    assert said in str(caught.value)
    assert caught.value.name == "extra"


def test_a_missing_package_is_named(buckets: Buckets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_buckets, "_is_installed", lambda name: name != "boto3")
    with pytest.raises(BadOption, match=r"left out, as packages are missing \(boto3\): pip install 'queueops\[s3\]'"):
        buckets.download()
    (found,) = checks.check_packages()
    assert (found.id, found.hint) == ("queueops.E007", "Write: pip install 'queueops[s3]'")
    assert found.msg == "Buckets of S3 need packages that are not installed: boto3."


def test_the_api_takes_a_bucket_and_names_a_wrong_one(buckets: Buckets, api: Client) -> None:
    buckets.set()
    status, made = post(api, GOOD | TO_BUCKET)
    assert status == 201
    found = inspect.task(made["id"])
    assert found is not None
    assert f'"s3_bucket": "{BUCKET}"' in found.args_json
    status, problem = post(api, {"jobs": [GOOD, GOOD | TO_BUCKET | {"s3_region": "r"}]}, "jobs/bulk")
    assert (status, problem["errors"][0]["field"]) == (422, "jobs.1.s3_region")
    status, problem = post(api, GOOD | {"handler": "resize", "s3_bucket": BUCKET})
    assert status == 422
    assert {each["field"] for each in problem["errors"]} >= {"s3_bucket"}


def test_the_classic_routes_take_a_bucket_also_without_a_callback(buckets: Buckets, classic: Client) -> None:  # noqa: F811
    buckets.set(CLASSIC_OPEN=True)
    body = {name: value for name, value in CLASSIC.items() if name != "callback_url"}
    assert send(classic, body | TO_BUCKET)[0] == 201
    assert send(classic, CLASSIC | TO_BUCKET)[0] == 201
    assert send(classic, body)[0] == 400
    status, text = send(classic, CLASSIC | TO_BUCKET | {"extra": "none"})
    assert (status, "The option extra is 'none'" in text) == (400, True)


@for_each("given", [{"Shop": REGION}, {"a": REGION}, {BUCKET: ""}, {BUCKET: "EU west"}, [BUCKET]])
def test_a_wrong_setting_is_refused(given: Any) -> None:
    from queueops.conf.readers import Unfit

    with pytest.raises(Unfit):
        read_settings({"S3_BUCKETS": given})


def test_a_search_for_orphans_looks_at_the_default_storage_and_at_buckets(buckets: Buckets, tmp_path: Path) -> None:
    id = "01M85Z9N7K3D5W1QFTGY2H4JRE"
    (tmp_path / "media" / file_name(id)).parent.mkdir(parents=True)
    (tmp_path / "media" / file_name(id)).touch()
    buckets.client.put_object(Bucket=BUCKET, Key=file_name(id), Body=b"")
    assert list(files_without_job()) == [file_name(id), f"s3://{BUCKET}/{file_name(id)}"]
