"""A file that is told as stored is one representation that the server has sent in full, whatever the server says."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, get_args

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queueops.kinds.jobs.files.download import Downloaded, download
from queueops.kinds.jobs.files.download_options import Download
from queueops.kinds.jobs.files.file_store import partial_file, publish
from queueops.kinds.jobs.settings import JobSettings
from tests.jobs.lying_server import Lie, LyingServer, Validator, version
from tests.jobs.servers import LocalServer, serving

SIZES = [10, 3_000, 70_000, 200_000]
numbers = count(1)


class Desk:
    """Downloads from a lying server."""

    def __init__(self, local: LocalServer, settings: JobSettings) -> None:
        self.local, self.settings = local, settings
        self.storage = InMemoryStorage()

    def serve(self, validator: Validator, size: int, *lies: Lie) -> tuple[LyingServer, Download]:
        """Serve a file, and give the download of it."""
        path = f"/{next(numbers)}"
        server = LyingServer(validator, size, list(lies))
        self.local.routes[path] = server
        return server, Download(id=f"job{path.replace('/', '-')}", url=self.local.url(path))

    def get(self, wanted: Download) -> Downloaded:
        return download(wanted, settings=self.settings, storage=self.storage)

    def stored(self, outcome: Downloaded) -> bytes:
        with self.storage.open(outcome.path) as file:
            content: bytes = file.read()
        return content

    def after(self, size: int, *lies: Lie, validator: Validator = "strong") -> tuple[LyingServer, Downloaded]:
        """The outcome of an attempt that continues one that was cut off after half of the file."""
        server, wanted = self.serve(validator, size, Lie(sent=0.5), *lies)
        assert self.get(wanted).failure is not None
        outcome = self.get(wanted)
        if outcome.failure is None:
            assert self.stored(outcome) == server.whole(server.version)
        return server, outcome


@pytest.fixture
def desk(local: JobSettings, tmp_path: Path) -> Iterator[Desk]:
    with serving({}) as server:
        yield Desk(server, replace(local, partial_directory=str(tmp_path / "partial")))


def test_a_part_that_is_shorter_than_asked_is_continued_in_the_same_attempt(desk: Desk) -> None:
    server, outcome = desk.after(200_000, Lie(most=30_000), Lie(most=30_000))
    assert (outcome.failure, outcome.size, len(server.ranges)) == (None, 200_000, 4)
    assert 0 < outcome.resumed_at < 100_000
    assert [each is None for each in server.ranges] == [True, False, False, False]


def test_parts_are_continued_also_when_the_whole_was_asked_for(desk: Desk) -> None:
    server, wanted = desk.serve("strong", 10_000, Lie(is_part=True, most=3_000), Lie(most=3_000))
    outcome = desk.get(wanted)
    assert (outcome.failure, outcome.resumed_at, desk.stored(outcome)) == (None, 0, server.whole(0))
    assert server.ranges == [None, "bytes=3000-", "bytes=6000-"]


LIES: dict[str, Any] = {
    "another version, and no heed of If-Range": Lie(version=1, heeds_if_range=False),
    "no validator": Lie(has_validator=False),
    "a larger file": Lie(total=100_000),
    "a smaller file": Lie(total=-1),
    "an earlier begin": Lie(shift=-1),
    "a later begin": Lie(shift=1),
    "no range": Lie(has_content_range=False),
    "several ranges": Lie(is_multipart=True),
    "a packed part": Lie(packed_part=True),
    "less than its range": Lie(excess=-1, frame="chunks"),
    "more than its range": Lie(excess=1, frame="chunks"),
    "another length than its range": Lie(excess=-1),
    "no such range": Lie(status=416),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_part_that_does_not_belong_to_the_beginning_lets_the_attempt_begin_anew(desk: Desk, lie: Lie) -> None:
    server, outcome = desk.after(10_000, lie)
    assert (outcome.failure, outcome.resumed_at) == (None, 0)
    assert [each is None for each in server.ranges] == [True, False, True]


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_an_attempt_begins_anew_once(desk: Desk, lie: Lie) -> None:
    half = Lie(is_part=True, most=5_000, version=lie.version)
    again = lie if lie.heeds_if_range else replace(lie, version=1 - lie.version)
    server, outcome = desk.after(10_000, lie, half, again)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.retriable) == ("protocol", True)
    assert outcome.failure.reason.startswith("The answer ")
    assert len(server.ranges) == 4


@pytest.mark.parametrize(
    "lie",
    [Lie(), Lie(any_total=True), Lie(frame="chunks"), Lie(frame="end"), Lie(as_whole=True)],
    ids=["length", "any total", "chunks", "end", "told as the whole"],
)
def test_a_part_that_belongs_to_the_beginning_continues_it(desk: Desk, lie: Lie) -> None:
    server, outcome = desk.after(10_000, lie)
    assert outcome.failure is None
    assert outcome.resumed_at > 0
    assert len(server.ranges) == 2


@pytest.mark.parametrize(("validator", "continues"), [("changed", True), ("changed now", False), ("weak", False)])
def test_a_time_continues_a_file_only_if_no_other_version_can_have_it(
    desk: Desk, validator: Validator, continues: bool
) -> None:
    server, outcome = desk.after(10_000, validator=validator)
    assert (outcome.failure, server.ranges[1] is not None) == (None, continues)


def test_a_redirect_to_another_file_is_not_continued(desk: Desk) -> None:
    first, _ = desk.serve("strong", 10_000, Lie(sent=0.5))
    second, _ = desk.serve("strong", 10_000, Lie(version=1))
    one, two = list(desk.local.routes)[-2:]
    ways = iter([f"{one}?sign=1", f"{two}?sign=2", f"{two}?sign=3"])
    desk.local.routes["/way"] = lambda exchange: exchange.answer(302, Location=next(ways))
    second.validator = first.validator = "strong"
    second.whole = lambda number: first.whole(1)  # type: ignore[method-assign]
    second._validators = lambda number: first._validators(0)  # type: ignore[method-assign]
    wanted = Download(id="job-way", url=desk.local.url("/way"))
    assert desk.get(wanted).failure is not None
    outcome = desk.get(wanted)
    assert (outcome.failure, outcome.resumed_at, desk.stored(outcome)) == (None, 0, first.whole(1))


TEXT = b"0123456789" * 1000
MEMBER = gzip.compress(TEXT, mtime=0)
WRONG = MEMBER[:-8] + bytes(4) + MEMBER[-4:]


def packed(desk: Desk, body: bytes) -> Downloaded:
    """The outcome of a download whose body is told to be gzip."""
    desk.local.routes["/packed"] = lambda exchange: exchange.answer(200, body, Content_Encoding="gzip")
    return desk.get(Download(id="packed", url=desk.local.url("/packed")))


@pytest.mark.parametrize("body", [b"no gzip", WRONG, MEMBER + WRONG])
def test_a_body_that_is_not_what_its_encoding_says_is_refused(desk: Desk, body: bytes) -> None:
    failure = packed(desk, body).failure
    assert failure is not None
    assert (failure.kind, failure.retriable) == ("encoding", False)


@pytest.mark.parametrize("body", [MEMBER[:-10], MEMBER[:-1], MEMBER + MEMBER[:7], MEMBER + MEMBER[:1], b""])
def test_a_body_that_ends_within_its_packed_data_ended_too_early(desk: Desk, body: bytes) -> None:
    failure = packed(desk, body).failure
    assert failure is not None
    assert (failure.kind, failure.retriable) == ("body", True)


@pytest.mark.parametrize(
    "end", [b"", bytes(700), b"more"], ids=["members", "members and zeros", "members and what is none"]
)
def test_all_members_of_a_packed_body_are_unpacked(desk: Desk, end: bytes) -> None:
    large = os.urandom(700_000)
    outcome = packed(desk, MEMBER + gzip.compress(b"") + gzip.compress(large) + MEMBER + end)
    assert outcome.failure is None
    assert desk.stored(outcome) == TEXT + large + TEXT


def digest(name: str, content: bytes) -> str:
    return base64.b64encode(hashlib.new(name, content).digest()).decode()


TOLD = {
    "Content-MD5": "{md5}",
    "Digest": "sha-256={sha256},unixsum=7",
    "Repr-Digest": "sha-512=:{sha512}:",
    "Content-Digest": "sha-256=:{sha256}:",
}


@pytest.mark.parametrize("header", TOLD)
def test_a_file_with_another_checksum_than_its_server_says_is_not_stored(desk: Desk, header: str) -> None:
    for content, kind in ((version(0, 9), None), (version(1, 9), "body")):
        told = TOLD[header].format(**{name: digest(name, version(0, 9)) for name in ("md5", "sha256", "sha512")})
        headers = {header.replace("-", "_"): told}
        desk.local.routes["/told"] = lambda exchange, body=content, more=headers: exchange.answer(200, body, **more)
        outcome = desk.get(Download(id=f"told-{kind}", url=desk.local.url("/told")))
        assert (outcome.failure and outcome.failure.kind) == kind
        assert outcome.failure is None or outcome.failure.retriable


def test_a_checksum_of_the_whole_holds_for_a_file_that_is_continued(desk: Desk) -> None:
    for number, kind in ((0, None), (1, "body")):
        server, wanted = desk.serve("strong", 10_000, Lie(sent=0.5))
        told = f"sha-256=:{digest('sha256', version(number, 10_000))}:"
        server.more = {"Repr-Digest": told, "Content-Digest": told}  # the latter one is of the part, and not looked at
        assert desk.get(wanted).failure is not None
        outcome = desk.get(wanted)
        assert ((outcome.failure and outcome.failure.kind), len(server.ranges)) == (kind, 2)
        server.more = {}
        assert (desk.get(wanted).failure, server.ranges[2]) == (None, None)


@pytest.mark.parametrize("told", ["sha-256=no base64", "sha-256=" + "ab" * 32, "crc32c=AAAAAA==", "sha-256=!"])
def test_a_checksum_that_cannot_be_read_is_not_looked_at(desk: Desk, told: str) -> None:
    desk.local.routes["/told"] = lambda exchange: exchange.answer(200, b"here", Digest=told, Content_MD5="ab" * 16)
    assert desk.get(Download(id="told", url=desk.local.url("/told"))).failure is None


lies = st.builds(
    Lie,
    version=st.sampled_from([0, 0, 0, 1]),
    status=st.sampled_from([0] * 20 + [416, 503]),
    heeds_range=st.sampled_from([True] * 5 + [False]),
    heeds_if_range=st.booleans(),
    has_validator=st.sampled_from([True] * 9 + [False]),
    has_content_range=st.sampled_from([True] * 9 + [False]),
    is_multipart=st.sampled_from([False] * 9 + [True]),
    is_part=st.booleans(),
    as_whole=st.sampled_from([False] * 5 + [True]),
    most=st.sampled_from([1, 7, 1_000, 65_536, 1_000_000]),
    shift=st.sampled_from([0] * 9 + [-1, 1, 500]),
    total=st.sampled_from([0] * 9 + [-1, 1, 500]),
    any_total=st.sampled_from([False] * 9 + [True]),
    excess=st.sampled_from([0] * 9 + [-1, 1, 50]),
    frame=st.sampled_from(["length", "chunks", "padded chunks"]),
    length=st.sampled_from([0] * 9 + [1, 10_000]),
    packed=st.sampled_from([0, 0, 1, 2, 5]),
    packed_twice=st.sampled_from([False] * 19 + [True]),
    packed_part=st.sampled_from([False] * 9 + [True]),
    informs=st.sampled_from([False] * 5 + [True]),
    sent=st.one_of(st.just(1.0), st.floats(0, 1)),
).filter(lambda lie: not lie.as_whole or lie.has_content_range)


@given(
    validator=st.sampled_from(get_args(Validator)),
    size=st.sampled_from(SIZES),
    lies=st.lists(lies, min_size=1, max_size=6),
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_server_answers_a_stored_file_is_one_of_its_versions_in_full(
    desk: Desk, validator: Validator, size: int, lies: list[Lie]
) -> None:
    server, wanted = desk.serve(validator, size, *lies)
    for _ in range(len(lies) + 2):
        outcome = desk.get(wanted)
        if outcome.failure is None:
            assert desk.stored(outcome) in (server.whole(0), server.whole(1))
            return
        assert outcome.path == ""
        if not outcome.failure.retriable:
            assert outcome.failure.kind in ("encoding", "status")
            return
    raise AssertionError("An honest server was not believed.")


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, synced, fsync = tmp_path / "files" / "a", [], os.fsync

    def watched(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, target.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    with partial_file("job-1", tmp_path / "partial") as part:
        part.file.write(b"whole")
        publish(part, "a", FileSystemStorage(tmp_path / "files"))
    assert (target.stat().st_ino, False) in synced
