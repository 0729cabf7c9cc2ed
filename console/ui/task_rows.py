"""Rows of the table of tasks, as HTML. A page has 50 of them with ten cells each, so no template draws each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from console.ui import formatting, links, state_badges, times
from console.ui.badges import badge
from console.ui.columns import COLUMNS, ran_ms, waited_ms
from console.ui.live_list import Shown
from console.ui.markup import joined, markup
from console.ui.shortened import cut, short_error
from queueops.inspect import TaskRow, lane_label
from queueops.model.states import TIMED, State

Cell = Callable[[TaskRow, str], SafeString]
MOST_TAGS = 4


def task_rows(lines: Iterable[Shown], shown: str, *, selectable: bool, sees_arguments: bool) -> SafeString:
    """The rows with the columns that are named in `shown`, joined by commas."""
    labels = {name: str(column.label) for name, column in COLUMNS.items()}
    cells = [(CELLS[name], labels[name]) for name in COLUMNS if name in shown.split(",")]
    badges: dict[str, SafeString] = {}
    rows = []
    for line in lines:
        row = line.row
        if line.unknown or row is None:
            rows.append(_without_task(line))
            continue
        if row.state not in badges:
            badges[row.state] = badge(state_badges.look(row.state), state_badges.label(row.state), row.state)
        rows.append(
            markup(
                '\n    <tr id="t-{}" class="{}" data-row{}>\n      {}\n      {}\n      {}{}\n    </tr>',
                line.key,
                state_badges.css_class(row.state),
                markup(" data-gone") if line.moved else "",
                _tick(line.key, row) if selectable else "",
                _task(row, sees_arguments=sees_arguments),
                _state(row, badges[row.state], moved=line.moved),
                joined(markup("\n      {}", cell(row, label)) for cell, label in cells),
            )
        )
    return joined(rows)


def _without_task(line: Shown) -> SafeString:
    if line.unknown:
        return markup('<tr id="t-{}" data-kept></tr>', line.key)
    return markup('<tr id="t-{}" data-gone data-deleted="{}"></tr>', line.key, _("now deleted"))


def _tick(key: str, row: TaskRow) -> SafeString:
    return markup(
        '<td class="tick-cell"><input type="checkbox" class="form-check-input tick" name="task" value="{} {}"'
        ' id="b-{}" autocomplete="off" aria-label="{}"></td>',
        row.pool,
        row.id,
        key,
        _("Select %(name)s %(id)s") % {"name": row.name, "id": row.id},
    )


def _task(row: TaskRow, *, sees_arguments: bool) -> SafeString:
    tags = joined(markup('<span class="q-tag">{}</span>', cut(tag, 30)) for tag in row.tags[:MOST_TAGS])
    args = markup('<code class="args">{}</code> ', cut(row.args, 160)) if sees_arguments and row.args else ""
    why = ""
    if row.error:
        line = '<span class="under{}" data-line title="{}">{}</span>'
        told = _("Earlier attempt: %(error)s") if row.error_is_earlier else "%(error)s"
        error = told % {"error": cut(short_error(row.error), 160)}
        why = markup(line, "" if row.error_is_earlier else " bad", cut(row.error, 400), error)
    elif row.reason:
        why = markup('<span class="under" data-line>{}</span>', cut(row.reason, 160))
    return markup(
        '<th scope="row" class="task-cell"><a href="{}" data-open>{}</a> {}'
        ' <span class="under">{}<code class="id">{}</code></span> {}</th>',
        links.task_url(row.id, row.pool),
        cut(row.name or "?", 120),
        tags,
        args,
        cut(row.id, 60),
        why,
    )


def _state(row: TaskRow, badge: SafeString, *, moved: bool) -> SafeString:
    more = ""
    if row.total and row.state != State.SUCCEEDED:
        bar = ' <progress max="{}" value="{}" aria-label="{}"></progress>'
        more = markup(bar, row.total, row.progress or 0, _("Progress"))
    elif row.due_ms and row.state in TIMED:
        more = markup('<span class="under">{}</span>', times.ago(row.due_ms))
    now = markup("{} ", _("now")) if moved else ""
    return markup('<td class="state-cell" data-label="{}">{}{}{}</td>', _("State"), now, badge, more)


def _failed(row: TaskRow, label: str) -> SafeString:
    made = row.attempt if row.is_claimed else 0
    told = _("%(made)s of %(most)s") % {"made": made, "most": row.retries + 1} if made else formatting.NOTHING
    crashes = ""
    if row.crashes:
        title = _("starts that ended because the worker died")
        crashes = markup(' <span class="bad" title="{}">+{}</span>', title, row.crashes)
    unused = "" if made else " unused"
    return markup('<td class="n tries-cell{}" data-label="{}">{}{}</td>', unused, label, told, crashes)


def _lane(row: TaskRow, label: str) -> SafeString:
    return markup(
        '<td class="lane-cell{}" data-label="{}"><span class="lane" title="{}">{}</span>'
        '<span class="under">{}</span></td>',
        " lane-usual" if row.lane == "default" else "",
        label,
        row.lane,
        cut(lane_label(row.lane), 40),
        cut(row.pool, 40),
    )


def _worker(row: TaskRow, label: str) -> SafeString:
    if not row.worker:
        return markup('<td class="worker-cell" data-label="{}">{}</td>', label, formatting.NOTHING)
    link = '<td class="worker-cell" data-label="{}"><a href="{}">{}</a></td>'
    return markup(link, label, links.url("worker", id=row.worker), cut(row.worker, 40))


def _number(value: Callable[[TaskRow], object], css_class: str = "n more-cell") -> Cell:
    return lambda row, label: markup('<td class="{}" data-label="{}">{}</td>', css_class, label, value(row))


CELLS: dict[str, Cell] = {
    "failed": _failed,
    "lane": _lane,
    "worker": _worker,
    "pushed": _number(lambda row: times.ago(row.created_ms)),
    "waited": _number(lambda row: formatting.span(waited_ms(row))),
    "ran": _number(lambda row: formatting.span(ran_ms(row))),
    "since": _number(lambda row: times.ago(row.entered_ms), "n"),
}
"""The cell of each column, from a task and the label of the column."""
