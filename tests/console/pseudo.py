"""A language for tests: every message in Hebrew letters, as long as it is, for what is written from right to left."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from tests.repository import catalogs

CODE = "he"
KEPT = re.compile(rf"({catalogs.PLACEHOLDER.pattern}|<[^>]+>|&\w+;)")
LETTERS = "אבגדהוזחטיכלמנסעפצקרשת"
DATES = re.compile(r"%[Ymd]|\b[MjY]\b")


def written(text: str) -> str:
    """The text in Hebrew letters, with its placeholders and tags."""
    if DATES.search(text):
        return text
    parts = KEPT.split(text)
    return "".join(part if at % 2 else "".join(map(_letter, part)) for at, part in enumerate(parts))


def speak(settings: Any, folder: Path) -> None:
    """Give the project this language."""
    german = catalogs.entries(catalogs.read(catalogs.catalogs()["de"])).values()
    catalog = Catalog(CODE)
    for each in german:
        texts = each.id if isinstance(each.id, tuple) else (each.id,)
        made = [written(text) for text in texts]
        catalog.add(
            each.id,
            (made * catalog.num_plurals)[: catalog.num_plurals] if len(made) > 1 else made[0],
            context=each.context,
        )
    place = folder / CODE / "LC_MESSAGES"
    place.mkdir(parents=True)
    with (place / "django.mo").open("wb") as file:
        write_mo(file, catalog)
    settings.LOCALE_PATHS = [folder]
    settings.LANGUAGES = [("en", "English"), (CODE, "Hebrew")]


def _letter(character: str) -> str:
    return LETTERS[ord(character.lower()) % len(LETTERS)] if character.isascii() and character.isalpha() else character
