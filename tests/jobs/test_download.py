"""Downloads: a file is stored as a whole or not at all, and each failure says if another attempt is of use."""

from __future__ import annotations

import gzip
import io
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from PIL import Image

from queueops.errors import BadOption
from queueops.kinds.jobs.files import file_store
from queueops.kinds.jobs.files.download import Downloaded, download
from queueops.kinds.jobs.files.download_options import Download
from queueops.kinds.jobs.files.file_store import file_name, partial_file, publish
from queueops.kinds.jobs.settings import JobSettings
from tests.jobs.servers import Exchange, LocalServer, Route, serving
from tests.support.for_each import for_each

TEXT = b"0123456789" * 1000


class Place:
    """A server, a storage and a directory for partial files."""

    def __init__(self, server: LocalServer, settings: JobSettings, home: Path) -> None:
        self.server, self.home = server, home
        self.settings = replace(settings, partial_directory=str(home / "partial"))
        self.storage = FileSystemStorage(home / "files")

    def get(self, path: str = "/file", id: str = "job-1", **wanted: Any) -> Downloaded:
        limits = {name: wanted.pop(name) for name in ("max_size", "request_headers") if name in wanted}
        asked = Download(id=id, url=self.server.url(path), **wanted)
        return download(asked, settings=replace(self.settings, **limits), storage=self.storage)

    def files(self) -> dict[str, bytes]:
        """All files of the storage."""
        root = self.home / "files"
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def partial(self) -> list[int]:
        """The sizes of all partial files."""
        return [path.stat().st_size for path in (self.home / "partial").glob("*.part")]


@pytest.fixture
def depot(local: JobSettings, tmp_path: Path) -> Iterator[Place]:
    with serving({"/file": says(TEXT)}) as server:
        yield Place(server, local, tmp_path)


def says(body: bytes, status: int = 200, **headers: str) -> Route:
    return lambda exchange: exchange.answer(status, body, **headers)


def why(outcome: Downloaded) -> tuple[str, bool]:
    assert outcome.failure is not None
    return outcome.failure.kind, outcome.failure.retriable


def test_a_file_is_stored_under_its_job(depot: Place) -> None:
    outcome = depot.get()
    assert outcome == Downloaded(status=200, path="026/job-1", size=len(TEXT), mime_type="text/plain")
    assert depot.files() == {"026/job-1": TEXT}
    assert depot.partial() == []
    assert (depot.home / "files/026/job-1").stat().st_mode & 0o777 == 0o644


def test_a_second_download_takes_the_place_of_the_first(depot: Place) -> None:
    depot.get()
    depot.server.routes["/file"] = says(b"new")
    assert depot.get().path == "026/job-1"
    assert depot.files() == {"026/job-1": b"new"}


def test_a_storage_that_is_no_directory_gets_the_file_in_one_call(depot: Place) -> None:
    storage = InMemoryStorage()
    for body in (TEXT, b"new"):
        depot.server.routes["/file"] = says(body)
        wanted = Download(id="job-1", url=depot.server.url("/file"), subpath="a/b")
        assert download(wanted, settings=depot.settings, storage=storage).path == "a/b/026/job-1"
        with storage.open("a/b/026/job-1") as file:
            assert file.read() == body


def test_headers_of_the_settings_are_sent_and_those_of_the_job_win(depot: Place) -> None:
    depot.get(request_headers={"User-Agent": "shop/1", "X-A": "common"}, headers={"x-a": "own"})
    sent = {name.lower(): value for name, value in depot.server.asked[0].headers.items()}
    assert (sent["user-agent"], sent["x-a"], sent["accept-encoding"]) == ("shop/1", "own", "identity")


@pytest.mark.parametrize(
    ("status", "retriable"),
    [(400, False), (401, False), (403, False), (404, False), (408, True), (410, False), (425, True), (429, True),
     (500, True), (503, True), (304, None), (204, None)],
)  # fmt: skip
def test_a_status_says_if_another_attempt_is_of_use(depot: Place, status: int, retriable: bool | None) -> None:
    depot.server.routes["/file"] = says(b"", status, Retry_After="7")
    outcome = depot.get()
    assert outcome.status == status
    if retriable is None:
        assert (outcome.failure, outcome.mime_type, depot.files()) == (None, "application/x-empty", {"026/job-1": b""})
    else:
        assert why(outcome) == ("status", retriable)
        assert outcome.failure is not None
        assert outcome.failure.retry_after == 7
        assert depot.files() == {}


def test_a_type_that_is_not_allowed_is_refused_and_not_stored(depot: Place) -> None:
    outcome = depot.get(mime_type="image/*")
    assert why(outcome) == ("mime", False)
    assert outcome.failure is not None
    assert outcome.failure.reason == "Expected mime-type to be (image/*), found (text/plain)."
    assert depot.files() == {}
    assert depot.partial() == []
    assert depot.get(mime_type="!image/*").failure is None


def test_a_short_file_has_a_type_too(depot: Place) -> None:
    depot.server.routes["/file"] = says(b"{}")
    assert depot.get(mime_type="application/json").mime_type == "application/json"
    assert why(depot.get(mime_type="image/*")) == ("mime", False)


def test_the_size_of_an_image_is_read(depot: Place) -> None:
    made = io.BytesIO()
    Image.new("RGB", (10, 20)).save(made, "PNG")
    depot.server.routes["/file"] = says(made.getvalue())
    assert depot.get(extract_image_size=True).image_size == "10x20"
    assert depot.get().image_size == ""
    depot.server.routes["/file"] = says(made.getvalue()[:20])
    assert why(depot.get(extract_image_size=True)) == ("image-size", False)


def endless(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()
    while not exchange.local.over.is_set():
        exchange.wfile.write(b"1000\r\n" + b"." * 4096 + b"\r\n")


def declared(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Length", str(10 * 1024**3))
    exchange.end_headers()
    exchange.wfile.write(b"." * 4096)
    exchange.local.over.wait()


@pytest.mark.parametrize("route", [endless, declared])
def test_a_body_of_10_gb_is_refused(depot: Place, route: Route) -> None:
    depot.server.routes["/file"] = route
    outcome = depot.get(max_size=100_000)
    assert why(outcome) == ("size", False)
    assert outcome.failure is not None
    assert outcome.failure.reason == "The file is larger than 100,000 bytes."
    assert depot.partial() == []


def bomb() -> bytes:
    engine = zlib.compressobj(wbits=31)
    return b"".join(engine.compress(bytes(1024**2)) for _ in range(200)) + engine.flush()


def test_a_gzip_bomb_meets_the_limit_of_size(depot: Place) -> None:
    depot.server.routes["/file"] = says(bomb(), Content_Encoding="gzip")
    assert why(depot.get(max_size=1024**2)) == ("size", False)
    depot.server.routes["/file"] = says(gzip.compress(bomb()), Content_Encoding="gzip, gzip")
    outcome = depot.get()
    assert why(outcome) == ("encoding", False)
    assert outcome.failure is not None
    assert outcome.failure.reason == "The encoding 'gzip, gzip' of the body is not supported."


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_body_is_unpacked_unless_the_job_asks_for_it(depot: Place, encoding: str) -> None:
    packed = gzip.compress(TEXT) if encoding == "gzip" else zlib.compress(TEXT)
    depot.server.routes["/file"] = says(packed, Content_Encoding=encoding)
    depot.get()
    assert depot.files() == {"026/job-1": TEXT}
    depot.get(headers={"Accept-Encoding": "gzip"})
    assert depot.files() == {"026/job-1": packed}


def dripping(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Length", "1000000")
    exchange.end_headers()
    while not exchange.local.over.wait(0.02):
        exchange.wfile.write(b".")


def test_a_body_that_drips_for_ever_ends_at_the_timeout(depot: Place) -> None:
    depot.server.routes["/file"] = dripping
    outcome = depot.get(timeout=0.3)
    assert why(outcome) == ("timeout", True)
    assert outcome.failure is not None
    assert outcome.failure.reason == "It took longer than 0.3 s."
    assert (outcome.status, depot.files()) == (200, {})


def test_a_redirect_to_this_machine_is_refused_with_the_reason(depot: Place) -> None:
    settings = replace(depot.settings, private_networks=())
    outcome = download(Download(id="job-1", url=depot.server.url("/file")), settings=settings, storage=depot.storage)
    assert why(outcome) == ("refused", False)
    depot.server.routes["/file"] = says(b"", 302, Location="http://169.254.169.254/latest/meta-data")
    outcome = depot.get()
    assert why(outcome) == ("refused", False)
    assert outcome.failure is not None
    assert "169.254.169.254 is link-local" in outcome.failure.reason


class Resumable:
    """A file that is sent in parts: the first answers break off at `breaks` bytes."""

    def __init__(self, body: bytes, breaks: list[int], validator: str = '"v1"') -> None:
        self.body, self.breaks, self.validator = body, breaks, validator
        self.ranges: list[str | None] = []

    def __call__(self, exchange: Exchange) -> None:
        asked = exchange.headers.get("Range")
        self.ranges.append(asked)
        continues = asked and exchange.headers["If-Range"] == self.validator
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked and continues else 0
        rest = self.body[begin:]
        exchange.send_response(206 if continues else 200)
        if continues:
            exchange.send_header("Content-Range", f"bytes {begin}-{len(self.body) - 1}/{len(self.body)}")
        exchange.send_header("ETag", self.validator)
        exchange.send_header("Content-Length", str(len(rest)))
        exchange.end_headers()
        stop = self.breaks.pop(0) if self.breaks else len(rest)
        exchange.wfile.write(rest[:stop])
        exchange.close_connection = True


def test_a_body_that_breaks_off_is_continued_where_it_was(depot: Place) -> None:
    depot.server.routes["/file"] = route = Resumable(TEXT, [3000, 2500])
    assert why(depot.get(mime_type="text/plain")) == ("body", True)
    assert depot.partial() == [3000]
    assert why(depot.get(mime_type="text/plain")) == ("body", True)
    outcome = depot.get(mime_type="text/plain")
    assert (outcome.failure, outcome.resumed_at, outcome.size) == (None, 5500, len(TEXT))
    assert route.ranges == [None, "bytes=3000-", "bytes=5500-"]
    assert depot.files() == {"026/job-1": TEXT}


def test_a_file_that_has_changed_is_read_from_the_beginning(depot: Place) -> None:
    depot.server.routes["/file"] = Resumable(TEXT, [3000])
    depot.get()
    depot.server.routes["/file"] = route = Resumable(b"other" * 3000, [], '"v2"')
    outcome = depot.get()
    assert (outcome.failure, outcome.resumed_at, route.ranges) == (None, 0, ["bytes=3000-"])
    assert depot.files() == {"026/job-1": b"other" * 3000}


@pytest.mark.parametrize(
    "headers", [{"ETag": 'W/"weak"'}, {}, {"ETag": '"v1"', "Content_Encoding": "gzip"}], ids=["weak", "none", "packed"]
)
def test_what_may_not_be_the_same_is_not_continued(depot: Place, headers: dict[str, str]) -> None:
    depot.server.routes["/file"] = says(b"." * 100, 200, Content_Length="200", Connection="close", **headers)
    assert depot.get().failure is not None
    depot.server.routes["/file"] = says(TEXT)
    assert depot.get().failure is None
    assert "Range" not in {name.title() for name in depot.server.asked[1].headers}


def test_a_range_that_the_server_does_not_have_is_dropped(depot: Place) -> None:
    depot.server.routes["/file"] = Resumable(TEXT, [3000])
    depot.get()

    def shrunk(exchange: Exchange) -> None:
        exchange.answer(416 if exchange.headers.get("Range") else 200, b"small")

    depot.server.routes["/file"] = shrunk
    assert depot.get().size == 5


def test_another_part_than_was_asked_for_is_not_taken(depot: Place) -> None:
    depot.server.routes["/file"] = Resumable(TEXT, [3000])
    depot.get()
    depot.server.routes["/file"] = says(b"x", 206, Content_Range="bytes 7-7/10000")
    assert why(depot.get()) == ("protocol", True)
    depot.server.routes["/file"] = says(TEXT)
    assert depot.get().failure is None
    assert depot.files() == {"026/job-1": TEXT}


def test_a_body_that_breaks_off_early_is_told_and_not_its_type(depot: Place) -> None:
    depot.server.routes["/file"] = says(b"." * 100, 200, Content_Length="200", Connection="close")
    assert why(depot.get(mime_type="image/*")) == ("body", True)


def test_an_attempt_that_has_read_nothing_leaves_no_partial_file(depot: Place) -> None:
    depot.server.routes["/file"] = says(b"", 503)
    assert why(depot.get()) == ("status", True)
    assert list((depot.home / "partial").glob("*")) == []
    depot.server.routes["/file"] = says(b"")
    assert (depot.get().path, list((depot.home / "partial").glob("*"))) == ("026/job-1", [])


@pytest.mark.parametrize(("size", "on_disk"), [(60_000, False), (200_000, True)])
def test_a_small_body_is_not_written_to_the_disk_before_it_is_published(depot: Place, size: int, on_disk: bool) -> None:
    depot.server.routes["/file"] = says(b"." * size)
    seen: list[list[int]] = []
    wanted = Download(id="job-1", url=depot.server.url("/file"))
    outcome = download(
        wanted, settings=depot.settings, storage=depot.storage, progress=lambda _: seen.append(depot.partial())
    )
    assert (outcome.failure, outcome.size, bool(seen[-1])) == (None, size, on_disk)
    assert (depot.files(), depot.partial()) == ({"026/job-1": b"." * size}, [])


def test_progress_is_told_and_may_end_the_attempt(depot: Place) -> None:
    told: list[int] = []
    wanted = Download(id="job-1", url=depot.server.url("/file"))
    download(wanted, settings=depot.settings, storage=depot.storage, progress=told.append)
    assert told[-1] == len(TEXT)

    def stop(size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(replace(wanted, id="job-2"), settings=depot.settings, storage=depot.storage, progress=stop)
    assert depot.files() == {"026/job-1": TEXT}
    assert download(replace(wanted, id="job-2"), settings=depot.settings, storage=depot.storage).failure is None
    assert depot.files() == {"026/job-1": TEXT, "0e7/job-2": TEXT}


def test_a_storage_that_refuses_is_a_failure_of_the_storage(depot: Place) -> None:
    (depot.home / "files").write_text("no directory")
    assert why(depot.get()) == ("storage", True)


@for_each(
    "subpath",
    ["..", "a/../b", "/etc", "a//b", "a/", "./a", "a\\b", "a\x00", "a\n", "C:", "x" * 101, "a/" * 250 + "a", 7],
)
def test_a_subpath_that_leaves_the_storage_is_refused(subpath: Any) -> None:
    with pytest.raises(BadOption, match="must be a relative path without"):
        file_name("job-1", subpath)


@for_each("id", ["../../etc/passwd", "..", "a/b/c", ".hidden", "ab", "x" * 101, "a:b+c"])
def test_an_id_that_is_no_plain_name_is_hashed(id: str) -> None:
    directory, name = file_name(id).split("/")
    assert (name[0], len(name), len(directory)) == ("=", 65, 3)


def test_files_lie_in_many_directories_whatever_their_ids_have_in_common() -> None:
    assert file_name("a1B2-x", "shops/7 é") == "shops/7 é/5e8/a1B2-x"
    assert len({file_name(f"01M85Z9N7K{number}").split("/")[0] for number in range(20_000)}) > 4000


def test_two_attempts_of_one_job_do_not_write_to_one_file(tmp_path: Path) -> None:
    home = tmp_path / "partial"
    storage = FileSystemStorage(tmp_path / "files")
    with partial_file("job-1", home) as first:
        first.file.write(b"first")
        with partial_file("job-1", home) as second:
            assert second.path != first.path
            second.file.write(b"second")
            publish(second, "a", storage)
        publish(first, "b", storage)
        with partial_file("job-1", home) as third:
            assert (third.path, third.size) == (first.path, 0)
    assert [(tmp_path / "files" / name).read_bytes() for name in "ab"] == [b"second", b"first"]


def test_a_directory_of_another_user_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("open", "link"):
        with pytest.raises(OSError, match="that only its owner can write to"), partial_file("job-1", tmp_path / name):
            pass


def test_partial_files_of_yesterday_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with partial_file("old", tmp_path / "partial") as old, partial_file("new", tmp_path / "partial") as new:
        os.utime(old.path, (0, time.time() - file_store.STALE - 60))
        monkeypatch.setattr(file_store, "_next_look", {})
        with partial_file("third", tmp_path / "partial"):
            assert (old.path.exists(), new.path.exists()) == (False, True)
