"""Stored sentences: texts of the engine as they were stored, in the reader's language; others stay as they are."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from django.utils.translation import override

from queueops.kinds.jobs.callbacks import delivery
from queueops.model import kinds
from queueops.model.explained import patterns
from queueops.model.redact import Redactor
from queueops.model.sentences import Figure, Moment, join, masked, say, say_n, translated
from queueops.model.stored_sentences import (
    DEEPEST,
    LONGEST,
    MOST_PACKED,
    PATTERNS,
    PLACEHOLDER,
    TYPED,
    Stored,
    message,
    packed,
    unpacked,
)

ULID = "01KB6T6Q2V9X4W8Z5Y3R1P7N0M"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def in_german() -> Iterator[None]:
    with override("de"):
        yield


@pytest.mark.usefixtures("in_german")
def test_a_text_of_the_engine_is_translated_with_its_values_and_no_other_is() -> None:
    told = {
        "expired: it had not begun in time": "abgelaufen: Er hatte nicht rechtzeitig begonnen",
        "lost its worker 3 times: its worker process died: signal 9": "hat 3 Mal seinen Worker verloren:"
        " sein Worker-Prozess ist gestorben: Signal 9",
        f"its child {ULID} failed: chunk 4 failed: its record is lost": f"sein Teil {ULID} ist fehlgeschlagen:"
        " Chunk 4 ist fehlgeschlagen: sein Datensatz ist verloren",
        "retry is not possible while it is locked": "„Erneut versuchen“ ist im Zustand „läuft“ nicht möglich",
        "The task did not stop within 2.5 s, so its process was killed.": "Der Task hielt nicht innerhalb von 2,5 s an,"
        " daher wurde sein Prozess beendet.",
        "queueops.errors.tasks.Cancelled": "queueops.errors.tasks.Cancelled",
        "ValueError: its record is lost": "ValueError: its record is lost",
        "chunk four failed": "chunk four failed",
        "it is broken": "it is broken",
        "": "",
    }
    assert {text: Stored(text).translated() for text in told} == told
    assert [str(Stored(text)) for text in told] == list(told)


@pytest.mark.usefixtures("in_german")
def test_the_message_of_an_error_is_known_by_its_class() -> None:
    failed = "queueops.errors.job_network.DownloadFailed"
    text = "The download failed (status). The answer has the status 503."
    assert translated(message(failed, text)).endswith("Die Antwort hat den Status 503.")
    assert translated(message(failed, f"HTTP 503: {text}")).startswith("HTTP 503: ")
    assert translated(message("HardTimeout", "The task did not stop within 1.0 s, so its process was killed.")) == (
        "Der Task hielt nicht innerhalb von 1,0 s an, daher wurde sein Prozess beendet."
    )
    assert translated(Stored(f"{failed}: {text}")).startswith(f"{failed}: Der Download")
    refused = "The url http://a/ is refused: a is link-local, and not in a network of QUEUEOPS["
    cut = translated(message(failed, f"The download failed (refused). {refused}"))  # a title has 200 characters
    assert cut.endswith(" wird abgelehnt: a ist link-local und in keinem Netz von QUEUEOPS[.")
    text = "The callback was not delivered. The answer has the status 410. this shop is closed"
    assert translated(message(f"{delivery.__name__}.NotDelivered", text)).endswith(
        "Die Antwort hat den Status 410. this shop is closed"
    )
    assert type(message("shop.errors.DownloadFailed", text)) is str
    assert translated(message(failed, "Its author has another text.")) == "Its author has another text."


@pytest.mark.usefixtures("in_german")
def test_what_an_operator_may_have_typed_is_translated_as_a_whole_sentence_alone() -> None:
    typed = ("dropped by accident", "it was discarded", "deploy-42 failed: no disk", "signal 9", "restarted itself")
    assert [Stored(text, TYPED).translated() for text in typed] == list(typed)
    ours = ("cancelled by an operator", "expired: it had not begun in time", f"{ULID} failed: its end was lost")
    assert not {Stored(text, TYPED).translated() for text in ours} & {*ours}


@pytest.mark.usefixtures("in_german")
def test_a_masked_value_stays_masked() -> None:
    hide = Redactor(("token",)).text
    told = masked(Stored("its worker process died: token=hunter2"), hide)
    assert (str(told), translated(told)) == (
        "its worker process died: token=[redacted]",
        "sein Worker-Prozess ist gestorben: token=[redacted]",
    )


def test_english_readers_copies_and_programs_have_the_stored_text() -> None:
    stored = copy.deepcopy(Stored("its record is lost", TYPED))
    assert (stored.translated(), json.dumps(stored), stored.origin) == (
        "its record is lost",
        '"its record is lost"',
        TYPED,
    )


def test_a_packed_sentence_is_the_same_in_each_language() -> None:
    told = join(
        say("Lane %(lane)s of pool %(pool)s is paused; %(tasks)s.", lane="a", pool="b", tasks=waiting(12_345)),
        say("The last one: %(error)s", error=Stored("its record is lost")),
        Figure("2.5/s"),
        Moment(datetime(2026, 11, 20, 12, 37, 9, tzinfo=UTC)),
        "a%(b",
    )
    read = unpacked(packed(told), str(told))
    assert str(read) == str(told)
    with override("de"):
        assert translated(read) == translated(told) != str(told)
        assert "12.345 Tasks" in translated(read)
        assert "sein Datensatz ist verloren 2,5/s 20.11.2026" in translated(read)
        assert translated(unpacked(packed(told), str(told)[:30])) == translated(told)  # the text was cut
    assert packed("a text") == packed(say("%(long)s", long="x" * MOST_PACKED)) == ""


def test_what_is_not_the_sentence_of_its_text_is_not_shown() -> None:
    good: list[Any] = ["say", "Pool %(pool)s waits", {"pool": "a"}, "", 0]
    text = "Pool a waits"
    assert str(unpacked(json.dumps(good), text)) == text
    wrong = (
        *("", "{", "[]", '"Pool a waits!', "[" * 3000, '["say"]', '["moment", 1e99]', json.dumps(["say", *good[2:]])),
        json.dumps([*good[:2], {"pool": "b"}, "", 0]),  # of another text
        json.dumps(["say", "%(pool)999999999s", {"pool": "a"}, "", 0]),
        json.dumps(["say", "%(lane)s", {"pool": "a"}, "", 0]),
        json.dumps(good) + " " * MOST_PACKED,
    )
    assert [type(unpacked(data, text)) for data in wrong] == [str] * len(wrong)
    assert {unpacked(data, text) for data in wrong} == {text}


def test_each_pattern_is_what_the_sources_write() -> None:
    """Texts of Lua and of f-strings are in pieces: the longest piece of each pattern stands there."""
    files = [path for path in (ROOT / "queueops").rglob("*") if path.suffix in (".lua", ".py")]
    sources = [re.sub(r"""['"]\s*\n?\s*(?:\.\. )?f?['"]""", "", path.read_text()) for path in files]
    written = "\n".join(
        re.sub(r"marked\([^)]*(?:\([^)]*\)[^)]*)*\)", "", text) if "marked(" in text else text for text in sources
    )
    patterns = chain(PATTERNS, *(details.stored for details in kinds.roles("details")))
    pieces = {text: max(re.split(PLACEHOLDER, text)[::2], key=len) for text in patterns}
    assert [text for text, piece in pieces.items() if piece.strip(" :") not in written] == []


@pytest.mark.usefixtures("in_german")
def test_a_hostile_text_is_compared_with_all_patterns_in_a_short_time() -> None:
    """The time of a process, with a wide limit: some of these texts took minutes."""
    told = [*PATTERNS, *patterns(), *chain(*(details.stored for details in kinds.roles("details")))]
    began = time.process_time()
    for begin, *inner in (re.split(PLACEHOLDER, text)[::2] for text in told):
        unit = "".join(f"x{each}" for each in inner[:-1])
        Stored((begin + unit * (LONGEST // (len(unit) or 1)))[: LONGEST - 1] + "\0").translated()
    answer = "The callback was not delivered. " + "The answer has the status 410. " * 120
    assert type(message(f"{delivery.__name__}.NotDelivered", answer)) is Stored
    assert translated(message(f"{delivery.__name__}.NotDelivered", answer)) != answer
    assert time.process_time() - began < 30


@pytest.mark.usefixtures("in_german")
def test_texts_one_in_another_are_translated_to_a_depth() -> None:
    told = Stored("chunk 4 failed: " * 200 + "its record is lost").translated()
    assert (told.count("Chunk 4 ist fehlgeschlagen: "), told.count("chunk 4 failed: ")) == (DEEPEST + 1, 199 - DEEPEST)


def waiting(count: int) -> str:
    return say_n("%(n)s task waits", "%(n)s tasks wait", count)
