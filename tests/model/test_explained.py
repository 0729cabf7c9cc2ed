from __future__ import annotations

import pytest
from django.utils.translation import override

from queueops.errors import BadSetting, BrokerUnavailable, FilterError, QueueOpsError, UnknownTask
from queueops.errors.known_words import advice
from queueops.errors.refusals import NO_PASSWORD, StoreRefuses
from queueops.inspect import TaskQuery
from queueops.inspect.filter_text import parsed
from queueops.model.explained import advised, explained, patterns, sentence_of
from queueops.model.sentences import translated
from tests.support.catalogs import german
from tests.support.for_each import for_each

CATALOG = {
    "The filter is not valid: %(reason)s": "Der Filter ist ungültig: %(reason)s",
    "at character %(position)s: %(reason)s": "ab Zeichen %(position)s: %(reason)s",
    "this ( has no ) behind it. Add the ).": "dieser ( fehlt die ). Ergänzen Sie die ).",
    "there is no state %(state)s%(advice)s": "es gibt keinen Zustand %(state)s%(advice)s",
    "; did you mean %(name)s?": "; meinten Sie %(name)s?",
}


def in_german(error: QueueOpsError) -> str:
    with german(lambda message: CATALOG.get(message, message)):
        return explained(error)


def test_a_wrong_filter_is_explained_in_the_language_of_the_reader() -> None:
    with pytest.raises(FilterError) as found:
        parsed("(state:failed")
    assert str(found.value) == "The filter is not valid: at character 1: this ( has no ) behind it. Add the )."
    assert in_german(found.value) == "Der Filter ist ungültig: ab Zeichen 1: dieser ( fehlt die ). Ergänzen Sie die )."


def test_advice_that_is_a_question_ends_the_message_in_each_language() -> None:
    with pytest.raises(FilterError) as found:
        TaskQuery(state="faled").checked()
    assert str(found.value) == "The filter is not valid: there is no state 'faled'; did you mean 'failed'?"
    assert in_german(found.value) == "Der Filter ist ungültig: es gibt keinen Zustand 'faled'; meinten Sie 'failed'?"


def test_advice_inside_an_error_is_in_the_language_of_the_reader() -> None:
    unknown = UnknownTask(name="shop.chrage", advice=advice("shop.chrage", ["shop.charge"]))
    refused = StoreRefuses(url="redis://h", attempts=1, reason="NOAUTH", advice=NO_PASSWORD)
    foreign = StoreRefuses(url="redis://h", attempts=1, reason="NOAUTH", advice="Ask ada")
    with override("de"):
        assert "meinten Sie 'shop.charge'?" in explained(unknown)
        assert "Geben Sie Benutzer und Passwort in der URL" in explained(refused)
        assert "Geben Sie Benutzer und Passwort in der URL" in translated(sentence_of(refused))
        assert "Ask ada" in explained(foreign)
    for error in (unknown, refused, foreign):
        assert sentence_of(error) == explained(error) == str(error)


@for_each(
    "error",
    [
        BadSetting(place="A", value="{x} %", expected="1"),
        BrokerUnavailable(url="redis://h", attempts=1200, reason="away"),
        QueueOpsError("a text of its own"),
        FilterError(),
        ValueError("of a project"),
    ],
)
def test_without_a_translation_the_message_is_the_english_one(error: BaseException) -> None:
    assert explained(error) == str(error)


@for_each("word", ["faled", "zzz", ""])
@for_each("known", [("failed", "Ready"), ()])
def test_both_forms_of_the_advice_about_a_word_are_the_same(word: str, known: tuple[str, ...]) -> None:
    assert advised(word, known) == advice(word, known)


def test_catalogs_get_the_pattern_of_each_error() -> None:
    found = patterns()
    assert "The setting %(place)s is %(value)s, but it must be %(expected)s." in found
    assert "The URL %(url)s of the store is not valid: %(reason)s." in found
    assert "Redis at %(url)s refuses this client: %(reason)s. %(advice)s." in found  # of a module of its own
    assert "The filter is not valid: %(reason)s" in found  # of the package itself
    assert any(text.startswith("There is no open alert or rule %(name)s.") for text in found)  # beside its functions
