"""Cron expression in words: "At 03:00, Monday through Friday" for `0 3 * * 1-5`. An unusual one stays as it is."""

from __future__ import annotations

import calendar
import re
from functools import lru_cache
from pathlib import Path

import cron_descriptor
from cron_descriptor import ExpressionDescriptor, Options
from cron_descriptor.Exception import FormatException, MissingFieldException, WrongArgumentException
from django.utils.translation import gettext

from queueops.model.sentences import Sentence, Translatable, join, language, say, say_n
from queueops.schedules.cron import EVERY, NICKNAMES, PART

UNCLEAR = re.compile(r"  |\bL\b|\bW\b|[#*?]")
"""Signs of an expression that the descriptor did not understand in full."""
ENGLISH = "en_US"
LOCALES = {ENGLISH} | {each.stem for each in (Path(cron_descriptor.__file__).parent / "locale").glob("*.mo")}
"""The languages of the descriptor."""
NAMES = re.compile(rf"\b(?:{'|'.join((*calendar.day_name, *calendar.month_name[1:]))})\b")
"""The descriptor has these in the language of the process. Django knows them in each language."""


class CronWords(Translatable):
    """An expression in English words. The descriptor has words of its own in other languages."""

    __slots__ = ("cron",)
    cron: str

    def translated(self) -> str:
        """The words in the active language; in English if the descriptor does not have it."""
        locale = _locale(language())
        words = "" if locale == ENGLISH else _described(self.cron, locale)
        return NAMES.sub(lambda found: gettext(found[0]), words) or str(self)


@lru_cache(maxsize=1024)
def in_words(line: str) -> str:
    """The sentence of an expression; the expression itself if there is none."""
    tidy = " ".join(line.split()).lower()
    if match := EVERY.fullmatch(tidy):
        parts = [(int(number), unit) for number, unit in PART.findall(match[1])]
        if len(parts) == 1 and parts[0][0] == 1:
            return EACH[parts[0][1]]
        return say("Every %(time)s", time=join(*(_counted(*part) for part in parts)))
    cron = NICKNAMES.get(tidy, tidy.upper())
    words = "" if _is_both_days(cron) else _described(cron, ENGLISH)
    if not words or UNCLEAR.search(words):
        return line
    found = CronWords(words)
    found.cron = cron
    return found


EACH = {
    "s": say("Every second"),
    "m": say("Every minute"),
    "h": say("Every hour"),
    "d": say("Every day"),
}


def _counted(number: int, unit: str) -> Sentence:
    shown = str(number)
    match unit:
        case "s":
            return say_n("%(number)s second", "%(number)s seconds", number, number=shown)
        case "m":
            return say_n("%(number)s minute", "%(number)s minutes", number, number=shown)
        case "h":
            return say_n("%(number)s hour", "%(number)s hours", number, number=shown)
    return say_n("%(number)s day", "%(number)s days", number, number=shown)


@lru_cache(maxsize=1024)
def _described(cron: str, locale: str) -> str:
    """The words of the descriptor; empty for what it does not understand."""
    try:
        options = Options(use_24hour_time_format=True, locale_code=locale)
        return str(ExpressionDescriptor(cron, options).get_description())
    except (FormatException, MissingFieldException, WrongArgumentException, LookupError, ValueError, TypeError):
        return ""


def _locale(name: str) -> str:
    """The locale of the descriptor for a language such as `de` or `zh-hant`: that of its country, else its first."""
    word, _, country = name.partition("-")
    exact = f"{word}_{country.upper()}"
    found = sorted(each for each in LOCALES if each.startswith(f"{word}_"))
    return exact if exact in found else next(iter(found), ENGLISH)


def _is_both_days(cron: str) -> bool:
    """Whether a day must match in the month and in the week: the descriptor says "or" then."""
    *_, day, _month, weekday = cron.split() if len(cron.split()) in (5, 6) else ("", "*", "*", "*")
    return "*" not in (day, weekday) and (day.startswith("*") or weekday.startswith("*"))
