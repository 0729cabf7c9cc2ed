"""The pieces of the demo, one by one: its logs, its pictures, its sample work."""

from __future__ import annotations

import os
import signal
import struct
import time
import zlib
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import psutil
import pytest

from queueops import inspect
from queueops.redis import embedded
from queueops_demo import library
from queueops_demo.instance import Instance
from queueops_demo.models import Reading
from queueops_demo.png import HEIGHT, WIDTH, Picture, draw
from queueops_demo.process import MAX_DEATHS, Drain, Process
from queueops_demo.rate import seconds
from queueops_demo.store import Store
from queueops_demo.task_mix import SHARES, TaskMix
from queueops_demo.tasks import failing, files, reading
from tests.support.for_each import for_each
from tests.support.waiting import wait_until


def test_a_log_does_not_grow_without_end(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    drain = Drain(os.fdopen(reader, "rb"), tmp_path / "part.log", limit=1000)
    drain.start()
    with os.fdopen(writer, "wb") as pipe:
        pipe.writelines(b"%05d\n" % number for number in range(1000))
    drain.join(60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.log", "part.log.1"]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())
    assert (tmp_path / "part.log").read_text().endswith("00999\n")


def test_a_part_that_dies_at_its_start_is_given_up_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queueops_demo.process.MAX_DELAY", 0.01)
    part = Process("sham", ["/bin/false"], os.environ, tmp_path / "sham.log")
    part.start()
    news: list[str] = []
    while not part.hopeless:
        news.append(wait_until(part.watch, say=lambda: news))
    assert news[0] == f"sham ended with 1; see {tmp_path / 'sham.log'}"
    assert (len(news), news.count("sham is started again")) == (2 * MAX_DEATHS - 1, MAX_DEATHS - 1)


LEAVES_A_CHILD = """
trap '' TERM
sleep 600 &
echo $! > "$0"
kill -9 $$
"""


def test_what_a_dead_process_left_behind_ends_with_its_part(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    part = Process("sham", ["/bin/sh", "-c", LEAVES_A_CHILD, str(told)], os.environ, tmp_path / "sham.log")
    part.start()
    wait_until(part.watch, say=lambda: part.running)
    child = psutil.Process(int(told.read_text()))
    assert child.is_running()  # it was asked to end, and did not
    part.kill()
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, say=child.status)


def test_of_a_dead_process_that_left_nothing_behind_no_number_is_kept(tmp_path: Path) -> None:
    part = Process("sham", ["/bin/false"], os.environ, tmp_path / "sham.log")
    part.start()
    wait_until(part.watch, say=lambda: part.running)
    assert part._orphaned == []  # it may be another process's by now


@for_each("text", ["0", "-1", "nan", "inf"])
def test_a_duration_of_the_demo_is_a_finite_number_above_0(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a number of seconds above 0, at most"):
        seconds(text)
    assert seconds("0.5") == 0.5


def test_a_store_that_died_is_started_again_and_told(empty_directory: Path, tmp_path: Path) -> None:
    store = Store(empty_directory, tmp_path / "store.log")
    assert store.watch() == ""
    pid = embedded.status(empty_directory).pid
    assert pid
    assert store.watch() == ""
    os.kill(pid, signal.SIGKILL)
    news = wait_until(store.watch, 60)
    assert news.startswith(f"the store (process {pid}) died, and is started again (process ")
    assert embedded.status(empty_directory).answers
    assert f"the store (process {pid}) died" in (tmp_path / "store.log").read_text()


def test_a_place_keeps_the_project_around_out_of_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUEOPS_URL", "redis://production/0")
    monkeypatch.setenv("QUEUEOPS_ENV", "production")
    monkeypatch.setenv("QUEUEOPS_HOSTS", "ops.example")
    instance = Instance(data=Path("/data"), host="::1", port=80)
    found = instance.environment()
    assert not {"QUEUEOPS_URL", "QUEUEOPS_ENV"} & set(found)
    assert found["QUEUEOPS_HOSTS"] == "[::1],localhost,127.0.0.1,ops.example"
    assert instance.url == "http://[::1]:80/ops/"
    assert Instance(data=Path("/data"), host="0.0.0.0", port=80).environment()["QUEUEOPS_HOSTS"] == "*"


def test_a_picture_is_a_png_of_half_the_size() -> None:
    small = draw("import os\n# a comment\n").half()
    png = small.png()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (WIDTH // 2, HEIGHT // 2)
    length = struct.unpack(">I", png[33:37])[0]
    assert len(zlib.decompress(png[41 : 41 + length])) == (1 + WIDTH // 2 * 3) * (HEIGHT // 2)
    assert Picture(2, 2, bytes([0, 0, 0, 4, 4, 4, 8, 8, 8, 12, 12, 12])).half().pixels == bytes([6, 6, 6])


def test_the_sample_work_is_real(db: None) -> None:
    counted = reading.count_words("json/decoder.py")
    text = (library.ROOT / "json/decoder.py").read_text()
    assert counted == {"lines": text.count("\n"), "words": len(text.split())}
    assert Reading.objects.get().words == counted["words"]
    assert reading.refresh_totals() == {"rows": 1, "words": counted["words"]}
    assert files.compress_file("json/decoder.py")["share"] < 0.5
    assert len(files.hash_file("json/decoder.py")) == 64
    with pytest.raises(UnicodeDecodeError):
        reading.count_words(library.any_binary())
    with pytest.raises(ZeroDivisionError):
        failing.share_out(3, 0)


def test_only_so_many_rows_are_kept(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queueops_demo.tasks.reading.KEPT_ROWS", 3)
    Reading.objects.bulk_create(Reading(path=str(number), lines=1, words=1) for number in range(5))
    assert reading.refresh_totals() == {"rows": 3, "words": 3}


def test_each_sort_of_sample_work_can_be_pushed_and_rough_ones_are_far_apart(namespace: str, settings: Any) -> None:
    for share in SHARES:
        share.push()
    mix = TaskMix()
    for _ in range(300):
        mix.push()
    killers = inspect.tasks(inspect.TaskQuery(name="demo.kill_own_worker")).rows
    assert len(killers) == 1
    assert time.monotonic() < mix._again[SHARES[-1]]
