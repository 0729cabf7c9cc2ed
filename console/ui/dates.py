"""Dates and times as readable text. English has ISO dates; each catalog says how its language writes them."""

from __future__ import annotations

from datetime import datetime

from django.utils.formats import date_format
from django.utils.translation import pgettext


def day(moment: datetime) -> str:
    """A date: 2026-11-29."""
    return moment.strftime(pgettext("date, for strftime", "%Y-%m-%d"))


def day_of_year(moment: datetime) -> str:
    """A date without its year: 11-29."""
    return moment.strftime(pgettext("day and month, for strftime", "%m-%d"))


def short_day(moment: datetime) -> str:
    """A date without its year, with the name of the month: Nov 29."""
    return date_format(moment, pgettext("day and short month, for Django's filter date", "M j"))


def minute_of_day(moment: datetime) -> str:
    """Hour and minute."""
    return f"{moment:%H:%M}"


def minute(moment: datetime) -> str:
    """A date with hour and minute."""
    return f"{day(moment)} {minute_of_day(moment)}"


def second(moment: datetime) -> str:
    """A date with the time to the second."""
    return f"{day(moment)} {moment:%H:%M:%S}"
