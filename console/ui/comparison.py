"""Comparison of a figure with the one of yesterday: an arrow, the change and the earlier figure."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

SAME = 0.05
"""Changes by less than this share are no news."""
MANY = 9.95
"""A change by more than this is told as a multiple."""


def compared(now: float | None, was: float | None, told: str, worse: str = "") -> SafeString:
    """The earlier figure in words, with the change before it if that is news.

    ``worse``: "up" if a higher figure is bad; without it, a change has no colour.
    """
    before = _("%(figure)s yesterday") % {"figure": told}
    if now is None or not was or abs(now - was) < was * SAME:
        return format_html('<small class="figure-more">{}</small>', before)
    up = now > was
    colour = "" if not worse else "change-bad" if up == (worse == "up") else "change-good"
    return format_html(
        '<small class="figure-more"><b class="{}"><span aria-hidden="true">{}</span>'
        '<span class="visually-hidden">{}</span>{}</b> {}</small>',
        colour,
        "▲" if up else "▼",
        _("higher by") if up else _("lower by"),
        f" {now / was:.0f}×" if now / was > MANY else f" {abs(now - was) / was * 100:.0f}%",
        before,
    )
