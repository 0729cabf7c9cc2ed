"""Template tags for schedules: texts, icons and URLs."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.kinds.schedules import schedule_appearance
from console.ui.badges import condition, icon
from queueops.inspect import ScheduleRow

register = template.Library()
register.filter("schedule_url", schedule_appearance.address)
register.simple_tag(schedule_appearance.address, name="schedule_page")
register.filter("told_of", schedule_appearance.told_of)
register.filter("catch_up_label", schedule_appearance.catch_up)
register.filter("overlap_label", schedule_appearance.overlap)


@register.simple_tag
def schedule_condition(schedule: ScheduleRow) -> SafeString:
    """A schedule's condition: icon and label."""
    return condition(*schedule_appearance.condition(schedule))


@register.simple_tag
def schedule_source(source: str) -> SafeString:
    """A schedule's source: icon and label."""
    name, words = schedule_appearance.source(source)
    return format_html('<span class="source">{}{}</span>', icon(name), words)
