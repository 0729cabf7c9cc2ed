from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from django.template import Context, Template
from django.utils import translation
from django.utils.html import format_html

from queueops.model.redact import DEFAULT, Concealer
from queueops.model.sentences import Figure, Moment, Sentence, encodable, join, masked, say, say_n, translated
from tests.support.catalogs import german

CATALOG = {
    "Pool %(pool)s: %(tasks)s.": "%(tasks)s im Pool %(pool)s.",
    "%(n)s task waits": "%(n)s Task wartet",
    "%(n)s tasks wait": "%(n)s Tasks warten",
    "%(share)s %% of the disk": "%(share)s %% der Platte",
    "It failed: %(error)s": "Es schlug fehl: %(error)s",
    "Wrong: %(value)s.": "Falsch: %(other)s.",
    "Half: %(value)s.": "Halb: %(value.",
}


@pytest.fixture
def in_german() -> Iterator[None]:
    with german(lambda message: CATALOG.get(message, message)):
        yield


def waiting(count: int, pool: str = "mail") -> Sentence:
    return say("Pool %(pool)s: %(tasks)s.", pool=pool, tasks=say_n("%(n)s task waits", "%(n)s tasks wait", count))


@pytest.mark.parametrize(("count", "words"), [(1, "1 task waits"), (0, "0 tasks wait"), (12_345, "12,345 tasks wait")])
def test_a_sentence_is_its_english_text(count: int, words: str) -> None:
    assert waiting(count) == f"Pool mail: {words}."
    assert translated(waiting(count)) == f"Pool mail: {words}."


@pytest.mark.usefixtures("in_german")
@pytest.mark.parametrize(("count", "words"), [(1, "1 Task wartet"), (12_345, "12.345 Tasks warten")])
def test_a_reader_gets_the_pattern_of_the_language_with_its_values_and_numbers(count: int, words: str) -> None:
    assert translated(waiting(count)) == f"{words} im Pool mail."


@pytest.mark.usefixtures("in_german")
def test_everything_but_html_has_the_english_text() -> None:
    text = waiting(2)
    assert f"{text}" == str(text) == text == "Pool mail: 2 tasks wait."
    assert json.loads(json.dumps(text)) == text
    assert type(str(text)) is type(text[:4]) is str
    assert text.upper() == "POOL MAIL: 2 TASKS WAIT."


@pytest.mark.usefixtures("in_german")
def test_html_has_the_text_of_the_language_with_escaped_values() -> None:
    text, shown = waiting(1, "<b>&"), "1 Task wartet im Pool &lt;b&gt;&amp;."
    assert Template("{{ text }}").render(Context({"text": text})) == shown
    assert format_html("<i>{}</i>", text) == f"<i>{shown}</i>"


@pytest.mark.usefixtures("in_german")
def test_sentences_join_without_empty_ones() -> None:
    text = join(waiting(1), "", "100% data", say("%(share)s %% of the disk", share=Figure("1.5")))
    assert text == "Pool mail: 1 task waits. 100% data 1.5 % of the disk"
    assert translated(text) == "1 Task wartet im Pool mail. 100% data 1,5 % der Platte"
    assert join("a", "b", by=" % ") == "a % b"
    assert join() == ""


@pytest.mark.usefixtures("in_german")
def test_a_pattern_without_a_translation_and_a_text_are_shown_as_they_are() -> None:
    assert translated(say("Unknown: %(value)s.", value=3)) == "Unknown: 3."
    assert translated("1,5") == "1,5"
    assert translated("") == ""


@pytest.mark.usefixtures("in_german")
@pytest.mark.parametrize("pattern", ["Wrong: %(value)s.", "Half: %(value)s."])
def test_a_translation_that_does_not_fit_its_values_leaves_english(pattern: str) -> None:
    assert translated(say(pattern, value="x")) == pattern % {"value": "x"}


def test_a_project_without_translations_keeps_english_numbers(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "_trans", type(translation._trans)())  # it keeps what the setting was at first
    settings.USE_I18N, settings.LANGUAGE_CODE = False, "de"
    assert translated(waiting(12_345)) == "Pool mail: 12,345 tasks wait."


@pytest.mark.usefixtures("in_german")
def test_a_secret_is_masked_in_each_language() -> None:
    text = masked(say("It failed: %(error)s", error="redis://u:hunter2@host, token=abc"), DEFAULT.text)
    assert text == "It failed: redis://u:***@host, token=[redacted]"
    assert translated(text) == "Es schlug fehl: redis://u:***@host, token=[redacted]"
    nested = masked(join(waiting(1), say("It failed: %(error)s", error="pwd=x")), DEFAULT.text)
    assert translated(nested) == "1 Task wartet im Pool mail. Es schlug fehl: pwd=[redacted]"


@pytest.mark.usefixtures("in_german")
def test_a_secret_that_only_the_whole_text_shows_leaves_masked_english() -> None:
    text = masked(say("password=%(value)s", value="hunter2"), DEFAULT.text)
    assert (text, type(text)) == ("password=[redacted]", str)
    assert translated(masked(waiting(1), Concealer(()).words_of_task)) == "[hidden]"


def test_a_text_without_secrets_stays_the_same_object() -> None:
    text = waiting(1)
    assert masked(text, DEFAULT.text) is text
    assert masked("a=b", DEFAULT.text) == "a=b"


@pytest.mark.usefixtures("in_german")
def test_a_copy_is_translated_too() -> None:
    assert translated(copy.deepcopy(waiting(2))) == "2 Tasks warten im Pool mail."


def test_msgspec_encodes_the_english_text_by_a_hook() -> None:
    data = {"text": waiting(1), "span": Figure("4.2 s")}
    english = {"text": "Pool mail: 1 task waits.", "span": "4.2 s"}
    assert msgspec.json.decode(msgspec.json.encode(data, enc_hook=encodable)) == english
    assert msgspec.to_builtins(data, enc_hook=encodable) == english
    with pytest.raises(TypeError, match="type object"):
        msgspec.json.encode(object(), enc_hook=encodable)


def test_english_is_the_same_where_it_is_the_active_language() -> None:
    with translation.override("en"):
        assert translated(Figure("1,234.5/s")) == "1,234.5/s"


def test_a_moment_has_the_date_of_the_language() -> None:
    moment = copy.copy(Moment(datetime(2026, 11, 29, 15, 25, 43, tzinfo=UTC)))
    assert (str(moment), translated(moment)) == ("2026-11-29 15:25:43Z", "2026-11-29 15:25:43Z")
    with translation.override("de"):
        assert translated(moment) == translated(say("%(at)s", at=moment)) == "29.11.2026 15:25:43 UTC"
