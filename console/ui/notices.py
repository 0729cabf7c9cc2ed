"""Notices: Django's messages of an action, each bound to the store in which it was performed."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib import messages
from django.http import HttpRequest

from queueops import conf

_OURS = "queueops@"


class Notice(NamedTuple):
    """A message as a page shows it; `undo`: the audit entry that it can take back, or nothing."""

    level_tag: str
    text: str
    undo: str = ""


def notice(request: HttpRequest, level: int, text: object, *, undo: int | None = None) -> None:
    """Show a message on the next page of the current store; with a button that undoes this audit entry."""
    messages.add_message(request, level, str(text), extra_tags=f"{_OURS}{conf.store_name()}/{undo or ''}")


def taken(request: HttpRequest) -> list[Notice]:
    """The notices for a page of the current store, and messages of the project. Those of other stores are kept."""
    shown = []
    for each in messages.get_messages(request):
        tags = each.extra_tags or ""
        store, _, undo = tags.removeprefix(_OURS).partition("/") if tags.startswith(_OURS) else (None, "", "")
        if store in (None, conf.store_name()):
            shown.append(Notice(each.level_tag, str(each.message), undo))
        else:
            messages.add_message(request, each.level, each.message, extra_tags=tags)
    return shown
