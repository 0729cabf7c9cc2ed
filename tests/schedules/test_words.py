"""Cron expressions in words: the usual ones as sentences, and none without text."""

from __future__ import annotations

import random
from itertools import product

import pytest
from django.utils import translation

from queueops.errors import BadSchedule
from queueops.model.sentences import translated
from queueops.schedules.cron import Timetable
from queueops.schedules.words import in_words
from tests.inspecting.test_queue_command import queue, queue_json
from tests.schedules.conftest import Clock
from tests.support.catalogs import german

SENTENCES = {
    "0 3 * * *": "At 03:00",
    "30 0 3 * * *": "At 03:00:30",
    "*/5 9-17 * * 1-5": "Every 5 minutes, between 09:00 and 17:59, Monday through Friday",
    "0 0 * * mon": "At 00:00, only on Monday",
    "0 0 LW * *": "At 00:00, on the last weekday of the month",
    "@hourly": "Every hour",
    "@every 10s": "Every 10 seconds",
    "@every 1h30m": "Every 1 hour 30 minutes",
    "@every  1D": "Every day",
}
AS_WRITTEN = ("0 0 */2 * 1", "0 0 * * FRI#L", "0 0 10-L * *", "nonsense", "")
FIELDS = (
    ("*", "0", "*/15", "5-59/20", "1,2,30", "0-10"),
    ("*", "3", "*/2", "9-17", "22-2", "8-18/2"),
    ("*", "1", "L", "LW", "*/2", "1-7", "10-20/3"),
    ("*", "2", "JAN", "*/3", "JAN-MAR,DEC"),
    ("*", "1-5", "0", "7", "sun", "MON#2", "5L", "1#1", "FRI#L", "MON-FRI,SUN", "*/2"),
)


def test_usual_expressions_are_sentences_and_the_others_stay_as_they_are() -> None:
    assert {line: in_words(line) for line in SENTENCES} == SENTENCES
    assert {line: in_words(line) for line in AS_WRITTEN} == {line: line for line in AS_WRITTEN}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 3 * * 1-5", "Um 03:00, Montag bis Freitag"),
        ("@every 1h30m", "Alle 1 Stunde 30 Minuten"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_page_has_the_words_in_the_language_of_the_reader(line: str, words: str) -> None:
    catalog = {"Every %(time)s": "Alle %(time)s", "%(number)s hour": "%(number)s Stunde"}
    catalog |= {"%(number)s minutes": "%(number)s Minuten", "Monday": "Montag", "Friday": "Freitag"}
    with german(lambda message: catalog.get(message, message)):
        assert translated(in_words(line)) == words
    with translation.override("en-gb"):
        assert translated(in_words(line)) == in_words(line)


def test_each_accepted_expression_has_a_text_and_most_have_a_sentence() -> None:
    told = list[bool]()
    for fields in random.Random(15).sample(list(product(*FIELDS)), 1_000):
        line = " ".join(fields)
        try:
            Timetable(line, "UTC")
        except BadSchedule:
            continue
        words = in_words(line)
        assert words == line or words[0].isupper()
        told.append(words != line)
    assert sum(told) > len(told) / 2


@pytest.mark.django_db
def test_the_command_line_has_the_words_beside_the_expression(clock: Clock) -> None:
    clock.define("nightly", "0 3 * * *")
    assert "At 03:00" in queue("schedules")
    assert "At 03:00" in queue("schedule", "nightly")
    assert queue_json("schedules")[0]["words"] == "At 03:00"
