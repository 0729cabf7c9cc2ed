"""The word counts of the demo: real files, some of which an operator has to mend."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from queueops import control, inspect
from queueops.inspect import ChunksView
from queueops.testing import run_worker
from queueops_demo import library
from queueops_demo.task_mix import ROUND_S, STRICT_AFTER_S, Rounds
from queueops_demo.tasks import words
from queueops_demo.tasks.words import StrictWordCount, WordCount


@pytest.fixture
def calm(namespace: str, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is held by a backup, no disk is far away, and the library is small."""
    monkeypatch.setattr(words, "BUSY", 0.0)
    monkeypatch.setattr(words, "SPEED", 1e12)
    monkeypatch.setattr(words, "shelf", lambda: tuple(library.modules_of("json")))


def chunks_of(task_id: str) -> ChunksView:
    view = inspect.chunks_of(task_id)
    assert view is not None
    return view


def test_there_are_thousands_of_pieces_and_they_are_whole_files() -> None:
    assert len(library.shelf()) > 500
    pieces = list(library.pieces("json/decoder.py"))
    lines = (library.ROOT / "json/decoder.py").read_text().count("\n") + 1
    assert pieces[0]["lines"][0] == 0
    assert pieces[-1]["lines"][1] == lines
    assert {piece["encoding"] for piece in pieces} == {"utf-8"}


def test_the_words_of_all_pieces_are_added_up(calm: None) -> None:
    handle = WordCount.push("the library", damaged=0)
    run_worker()
    found = handle.result(timeout=60)
    text = "".join((library.ROOT / path).read_text() for path in library.modules_of("json"))
    assert found["words"] == sum(word.isidentifier() for word in text.split())
    assert found["left out"] == 0
    task = inspect.task(handle.id)
    assert task is not None
    assert task.progress == task.total
    assert ["the", text.split().count("the")] in found["top"]


def test_the_strict_count_fails_until_its_chunk_is_mended(
    calm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "damaged.pyc"
    damaged.write_bytes(b"one \xa7 two\n")
    monkeypatch.setattr(words, "binaries", lambda: (str(damaged),))
    handle = StrictWordCount.push("json")
    run_worker()
    view = chunks_of(handle.id)
    assert (handle.state, view.counts["failed"]) == ("failed", 1)
    number = view.errors[0].number
    chunk = inspect.chunk(handle.id, number)
    assert chunk is not None
    assert chunk.error is not None
    assert chunk.error.type == "UnicodeDecodeError"
    page = inspect.chunks(handle.id, state="failed")
    assert page is not None
    data: Any = json.loads(chunk.data_json) | {"encoding": "latin-1"}
    assert control.edit_chunk(handle.id, number, data, retry=True).changed == 1
    run_worker()
    assert handle.state == "succeeded"


def test_a_busy_file_can_be_read_a_little_later(calm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "BUSY", 1.0)
    handle = WordCount.push("the library", damaged=0)
    run_worker()
    errored = chunks_of(handle.id).counts["errored"]
    assert errored == chunks_of(handle.id).total > 3
    monkeypatch.setattr(words, "BUSY", 0.0)
    assert control.retry_chunks(handle.id, state="errored").changed == errored
    run_worker()
    assert handle.state == "succeeded"


def test_pieces_that_are_skipped_or_dropped_are_left_out(calm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "BUSY", 1.0)
    handle = WordCount.push("the library", damaged=0)
    run_worker()
    pieces = chunks_of(handle.id).total
    assert control.skip_chunks(handle.id, [0]).changed == 1
    assert control.drop_chunks(handle.id, [1]).changed == 1
    monkeypatch.setattr(words, "BUSY", 0.0)
    assert control.retry_chunks(handle.id, state="errored").changed == pieces - 2
    run_worker()
    assert handle.result(timeout=60)["left out"] == 2


def test_counts_come_at_once_and_then_every_few_minutes(namespace: str) -> None:
    random.seed(1)
    rounds = Rounds()
    now = rounds._next[WordCount]
    for moment, count in ((0.0, 1), (1.0, 1), (STRICT_AFTER_S + 1, 2), (ROUND_S - 1, 2), (ROUND_S + 1, 3)):
        rounds.push_due(now + moment)
        assert inspect.tasks(inspect.TaskQuery(kind="mapreduce")).total == count
