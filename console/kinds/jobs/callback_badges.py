"""Badges of callbacks: the state of a callback in its own word, with icon and colour of its record's state."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from console.ui.badges import icon
from console.ui.state_badges import look
from queueops.inspect import CALLBACK_STATES, CallbackRow, TaskDetail

register = template.Library()

LABELS = {
    "scheduled": _("scheduled"),
    "pending": _("pending"),
    "in_flight": _("in flight"),
    "backing_off": _("backing off"),
    "dead": _("dead"),
    "delivered": _("delivered"),
    "discarded": _("discarded"),
}
"""Labels of the words for states, in the order of the page."""
WORDS: dict[str, str] = {state: word for word, state in CALLBACK_STATES.items()}
MEANINGS = {
    "scheduled": _("is sent at a later time"),
    "pending": _("waits for a worker and for a slot of its host"),
    "in_flight": _("a worker sends it"),
    "backing_off": _("was not delivered; waits for its next attempt"),
    "dead": _("was not delivered, and is not tried again"),
    "delivered": _("its target has taken it"),
    "discarded": _("was given up by an operator"),
}


@register.simple_tag
def callback_state(row: CallbackRow | TaskDetail) -> SafeString:
    """The state of a callback, or of its record: icon, label and colour."""
    shown, word = look(row.state), WORDS.get(row.state, row.state)
    meaning = MEANINGS.get(word, shown.meaning)
    span = '<span class="state {}" title="{}">{}{}</span>'
    return format_html(span, shown.css_class, meaning, icon(shown.icon), LABELS.get(word, word))


def callbacks(number: int, shown: str) -> str:
    """So many callbacks, in words."""
    return ngettext("%(n)s callback", "%(n)s callbacks", number) % {"n": shown}
