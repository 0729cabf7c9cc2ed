"""Template tags of the console: states, times, durations, numbers, icons, URLs, JSON."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Any

from django import template
from django.forms.boundfield import BoundField
from django.template import Context, defaulttags
from django.template.loader import get_template
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from console.actions.catalog import label, on_all
from console.actions.remedies import alarm_remedy, remedy
from console.audit.log import told
from console.diagram.lane_rows import empty_in, lane_rows
from console.diagram.machine_svg import machine_svg
from console.ui import (
    break_points,
    dates,
    entry_links,
    error_names,
    filters,
    formatting,
    json_text,
    kept_parts,
    linked_ids,
    links,
    live_list,
    shortened,
    state_badges,
    stored_words,
    times,
    traceback,
)
from console.ui.badges import badge, condition, icon
from console.ui.columns import ran_ms as run_time_ms
from console.ui.columns import waited_ms
from console.ui.forms import DELAYS
from console.ui.kind_pages import PartPages, Piece, parts, pieces_at
from console.ui.links import url
from console.ui.markup import escaped, markup
from console.ui.narrowed import Narrowed
from console.ui.static_files import sprite
from console.ui.task_rows import task_rows
from queueops.inspect import (
    Alarm,
    Attempt,
    ErrorRow,
    Failure,
    Finding,
    LaneRow,
    Moment,
    NameKey,
    Part,
    PoolView,
    TaskDetail,
    TaskQuery,
    TaskRow,
    lane_label,
)
from queueops.inspect.alarm import manage
from queueops.inspect.filter_text import condition_text
from queueops.model.states import State, table

register = template.Library()

WORKER_ICONS = {"live": "activity", "quiet": "volume-off", "late": "alert-triangle", "stopping": "power"} | {
    "silent": "hourglass",
    "hung": "alert-triangle",
    "frozen": "player-pause",
    "dead": "alert-triangle",
}

register.simple_tag(links.task_url)
register.simple_tag(label, name="verb_label")
register.filter("on_all", on_all)
register.simple_tag(icon)
register.simple_tag(manage)
register.simple_tag(task_rows)
register.simple_tag(filters.facet_values)
register.simple_tag(machine_svg)
register.simple_tag(empty_in)
register.simple_tag(lane_rows)
register.simple_tag(times.ago)
register.simple_tag(times.since)
register.simple_tag(times.exact)
register.simple_tag(times.exact_second)
register.simple_tag(kept_parts.kept)
register.tag("translate", kept_parts.kept_text)
register.filter("linked", linked_ids.linked)
register.filter("breakable", break_points.breakable)
register.filter("as_query", urlencode)
register.filter("alarm_url", links.alarm_url)
register.filter("told", told)
register.filter("target_url", entry_links.target_url)
register.filter("target_name", entry_links.target_name)
register.filter("lane_label", lane_label)
register.filter("run_time_ms", run_time_ms)
register.filter("waited_ms", waited_ms)
register.filter("count", formatting.count)
register.filter("short", formatting.short)
register.filter("rate", formatting.rate)
register.filter("percent", formatting.percent)
register.filter("share", formatting.share)
register.filter("span", formatting.span)
register.filter("seconds", formatting.seconds)
register.filter("about", formatting.about)
register.filter("about_ms", formatting.about_ms)
register.filter("size", formatting.size)
register.filter("retry_policy", formatting.retry_policy)
register.filter("cut", shortened.cut)
register.filter("last_name", shortened.last_name)
register.filter("short_error", shortened.short_error)
register.filter("to_minute", dates.minute)
register.filter("to_second", dates.second)
register.filter("arguments", json_text.shown)
register.filter("coloured", json_text.coloured)
register.filter("frames", traceback.grouped)
register.filter("state_class", state_badges.css_class)
register.filter("state_label", state_badges.label)
register.filter("attempt_label", stored_words.attempt)
register.filter("outcome_label", stored_words.outcome)
register.filter("fact_label", stored_words.fact)
register.filter("alert_label", stored_words.alert)
register.filter("line_label", stored_words.line)
register.filter("short_key", live_list.short)


class KeptURL(defaulttags.URLNode):
    """A URL of the console, made once and not for each page and row. All others are made as Django makes them."""

    def render(self, context: Context) -> str:
        """The URL, escaped."""
        name = self.view_name.resolve(context)
        if self.args or self.asvar or not name.startswith("console:"):
            return str(super().render(context))
        given = {key: value.resolve(context) for key, value in self.kwargs.items()}
        return escaped(links.full_name_url(name, **given))


@register.tag(name="url")
def kept_url(parser: Any, token: Any) -> KeptURL:
    """Django's tag `url`."""
    node = defaulttags.url(parser, token)
    return KeptURL(node.view_name, node.args, node.kwargs, node.asvar)


@register.simple_tag
def state(name: str) -> SafeString:
    """A state: icon, label and colour."""
    return badge(state_badges.look(name), state_badges.label(name), name)


@register.simple_tag
def state_icon(name: str) -> SafeString:
    """A state's icon alone, next to a label."""
    return icon(state_badges.look(name).icon)


@register.simple_tag
def state_use(name: str) -> SafeString:
    """A state's icon inside another drawing."""
    return markup('<use href="{}#{}"></use>', sprite(), state_badges.look(name).icon)


@register.simple_tag
def worker_state(name: str) -> SafeString:
    """A worker's condition: icon and label."""
    known = name if name in WORKER_ICONS else "unknown"
    return condition(WORKER_ICONS.get(name, "help-circle"), stored_words.worker(name), known)


@register.filter
def in_zone(moment: datetime) -> datetime:
    """A database time in the user's zone; without USE_TZ it is naive, in the project's zone."""
    aware = timezone.make_aware(moment, timezone.get_default_timezone()) if timezone.is_naive(moment) else moment
    return timezone.localtime(aware)


@register.filter
def url_of(task: TaskRow | TaskDetail) -> str:
    """The URL of this task's page."""
    return links.task_url(task.id, task.pool)


@register.simple_tag
def tab_url(task: TaskDetail, tab: str) -> str:
    """The URL of one of a task's tabs."""
    return links.tab_url(task.id, task.pool, tab)


@register.simple_tag
def facet_url(query: TaskQuery, facet: str, value: str) -> str:
    """The URL of the list with one facet changed."""
    return filters.address(query, **{facet: value})


@register.simple_tag
def key_url(key: NameKey, name: str) -> str:
    """The URL of the list with the waiting tasks of a key; `*` is that of all tasks of a name."""
    text = "" if key.key == "*" else condition_text("key", ":", key.key)
    return filters.address(TaskQuery(name=name, pool=key.pool, state="pending", q=text))


@register.simple_tag
def sort_head(
    rows: Narrowed[Any], column: str, label: str, *, falls_first: bool = False, is_number: bool = False
) -> SafeString:
    """The head of a column by which a list can be sorted; with `falls_first` the highest number comes first."""
    numbers = "n" if falls_first or is_number else ""
    order = {column: "ascending", f"-{column}": "descending"}.get(rows.sort, "")
    sorts = markup(' aria-sort="{}"', order) if order else ""
    link = rows.sorted_by(column, falls_first=falls_first)
    return markup('<th scope="col" class="{}"{}><a href="{}">{}</a></th>', numbers, sorts, link, label)


@register.simple_tag
def action_url(verb: str) -> str:
    """The URL for the form with the selected rows."""
    return url(f"tasks-{verb}")


@register.filter
def error_url(error: ErrorRow | Failure) -> str:
    """The URL of an error's page."""
    return url("error", fingerprint=error.fingerprint) if error.fingerprint else ""


@register.simple_tag
def lane_url(lane: LaneRow, name: str = "lane") -> str:
    """The URL of a lane's page, or of one of its actions."""
    return links.url(name, pool=lane.pool, lane=lane.lane)


@register.simple_tag
def pool_url(pool: str) -> str:
    """The URL of a pool's page."""
    return links.url("pool", pool=pool)


@register.simple_tag
def worker_url(id: str, name: str = "worker") -> str:
    """The URL of a worker's page, or of one of its actions."""
    return links.url(name, id=id)


@register.filter
def joined(first: str, second: str) -> str:
    """Two names, joined with a space."""
    return f"{first} {second}"


@register.filter
def error_name(fingerprint: str) -> str:
    """The type of an error, with its fingerprint."""
    return error_names.error_name(fingerprint)


@register.filter
def running(pool: PoolView) -> int:
    """The number of tasks, and of parts of records, that workers hold."""
    return _leased(pool) + sum(each.active(pool) for each in parts())


@register.filter
def running_told(pool: PoolView) -> str:
    """What this number counts, if these are not only tasks."""
    return _told(_leased(pool), [(each, each.active(pool)) for each in parts()])


@register.filter
def waiting_told(pool: PoolView) -> str:
    """What the number of what waits counts, if these are not only tasks."""
    return _told(pool.states.get(State.PENDING, 0), [(each, each.waiting(pool)) for each in parts()])


def _leased(pool: PoolView) -> int:
    return sum(pool.states.get(state, 0) for state in table().leased)


def _told(tasks: int, others: list[tuple[PartPages, int]]) -> str:
    told = [each.number(number) for each, number in others if number]
    return ", ".join((gettext("%(n)s tasks") % {"n": formatting.count(tasks)}, *told)) if told else ""


@register.filter
def ran_ms(run: Attempt | TaskDetail | Part) -> int:
    """The duration of a run, as far as it is known; from the first start of a task that starts several times."""
    begun = getattr(run, "first_begun_ms", None) or run.begun_ms
    return max(0, (run.ended_ms or 0) - (begun or 0))


@register.filter
def goes_on(row: TaskRow) -> bool:
    """Whether the task runs, or waits for its parts or chunks."""
    return row.state in table().under_way


@register.filter
def with_durations(moments: tuple[Moment, ...]) -> list[tuple[Moment, int | None]]:
    """Each moment with the time until the next one; None for the last, and before one whose time is not known."""
    return [
        *((moment, then.t - moment.t if then.t else None) for moment, then in pairwise(moments)),
        *((last, None) for last in moments[-1:]),
    ]


@register.filter
def unlocalized(number: Any) -> str:
    """A number for a program, without local separators."""
    return f"{number or 0}"


@register.simple_tag
def delays() -> tuple[tuple[int, str | Promise], ...]:
    """The delays of a postpone: seconds and label."""
    return DELAYS


@register.simple_tag
def field_in(field: BoundField, suffix: str) -> SafeString:
    """A form's field with an id of its own: a page may hold several forms."""
    style = "form-select" if hasattr(field.field, "choices") else "form-control"
    return field.as_widget(attrs={"id": f"{field.id_for_label}-{suffix}", "class": style, "autocomplete": "off"})


@register.simple_tag(takes_context=True)
def mend(context: Context, finding: Finding, task: TaskDetail) -> dict[str, str] | None:
    """The one-click repair of a finding, for users with the permission: the form's address and label."""
    return remedy(finding, task, context["may"])


@register.simple_tag(takes_context=True)
def alarm_mend(context: Context, alarm: Alarm) -> dict[str, str] | None:
    """The one-click repair of an alarm, for users with the permission: the form's address and label."""
    return alarm_remedy(alarm, context["may"])


@register.simple_tag(takes_context=True)
def pieces(context: Context, place: str, about: Any = None) -> SafeString:
    """The parts that kinds add at this place, about what stands there."""
    return format_html_join("", "{}", ((_rendered(context, piece),) for piece in pieces_at(place, about)))


def _rendered(context: Context, piece: Piece) -> SafeString:
    """A part of a page, with what the page has."""
    compiled: Any = get_template(piece.template)
    with context.push(piece=piece.context):
        found: SafeString = compiled.template.render(context)
    return found


@register.simple_tag
def lane_limits(lane: Any) -> str:
    """The limit of a lane, and its rate and weight if they are set."""
    told = [gettext("%(n)s at once") % {"n": formatting.count(lane.limit)} if lane.limit else gettext("no limit")]
    if lane.rate:
        told.append(gettext("%(n)s starts/s") % {"n": formatting.rate(lane.rate)})
    if lane.weight != 1:
        told.append(gettext("weight %(n)s") % {"n": lane.weight})
    return ", ".join(told)
