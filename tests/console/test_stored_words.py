"""Labels of stored words: in English each is the stored word."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.utils.functional import Promise
from django.utils.translation import override

from console.ui import stored_words
from console.ui.kind_pages import worker_words

TABLES = {name: getattr(stored_words, name) for name in ("ATTEMPTS", "OUTCOMES", "WORKERS", "FACTS", "LINES", "ALERTS")}


@pytest.mark.parametrize("table", [*TABLES.values(), worker_words()], ids=[*TABLES, "worker_words"])
def test_a_label_is_the_word_in_english_and_has_a_german_one(table: Mapping[str, str | Promise]) -> None:
    assert table
    with override("en"):
        assert {word: str(label).replace("-", "_") for word, label in table.items()} == {word: word for word in table}
    with override("de"):
        assert [str(label) for label in table.values()] != list(table)
