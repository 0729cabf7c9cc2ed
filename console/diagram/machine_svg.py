"""Drawings of the state machine as SVG. Two of them have some fifty shapes, so no template draws each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from console.diagram.machine import Box, Picture, Way
from console.ui.formatting import count, rate, short
from console.ui.links import url
from console.ui.markup import joined, markup
from console.ui.state_badges import css_class, label, look
from console.ui.static_files import sprite

HEAD = (
    '<svg class="machine machine-{name}" viewBox="0 {top} {width} {height}" role="group" aria-label="{label}">\n'
    '  <defs><marker id="{key}-{name}" viewBox="0 0 8 8" refX="6.5" refY="4" markerWidth="8" markerHeight="8"'
    ' markerUnits="userSpaceOnUse" orient="auto"><path d="M0.5 0.5 7 4 0.5 7.5Z"/></marker></defs>'
)
BOX = (
    '\n<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="9"/>'
    '<svg x="{left}" y="{top}" width="{width}" height="{height}"><svg class="box-icon" x="{icon_x}" y="{icon_y}"'
    ' width="16" height="16"><use href="{icon}"></use></svg><text class="box-name" x="{name_x}" y="{name_y}"{squeezed}>'
    "{name}</text>"
)


class Spots(NamedTuple):
    """Where icon, label and number of a box are, and the height of the word "stuck"."""

    icon: tuple[float, float]
    label: tuple[float, float]
    number: tuple[float, float]
    stuck_y: float


WIDE, NARROW = Spots((11, 10), (30, 22.5), (12, 48), 47), Spots((6, 7), (7, 41), (28, 21.5), 20.5)


def machine_svg(pictures: Iterable[Picture], *, title: str, key: str, of_task: bool = False) -> SafeString:
    """The drawings, with counts and rates; `of_task`: the path of one task, with how often it was in each state."""
    return joined(_drawing(picture, title, key, of_task=of_task) for picture in pictures)


def _drawing(picture: Picture, title: str, key: str, *, of_task: bool) -> SafeString:
    head = markup(
        HEAD, name=picture.name, key=key, top=picture.top, width=picture.width, height=picture.height, label=title
    )
    names = {box.state: box.label for box in picture.boxes} | {"": "·"}
    ends = {way: f"{names[way.source]} → {names[way.target]}" for way in picture.ways}
    ways = joined(_way(way, ends[way], f"url(#{key}-{picture.name})", of_task=of_task) for way in picture.ways)
    box_of, spots = _box_of_task if of_task else _box, WIDE if picture.is_wide else NARROW
    boxes = joined(box_of(box, spots) for box in picture.boxes)
    rates = joined(_rate(way, ends[way]) for way in picture.ways if way.spot and not of_task)
    return joined((markup("\n"), head, ways, boxes, rates, markup("\n</svg>\n"), _others(picture)))


def _others(picture: Picture) -> SafeString:
    """The transitions that are not drawn, as a list; also those of states of kinds, which have no box."""
    if not picture.others:
        return markup("")
    line = "<li>{} <b>{}/s</b></li>"
    told = {state: label(state) for way in picture.others for state in way[:2]} | {"": ""}  # a push; the retention ends
    ends = ((f"{told[source]} → {told[target]}".strip(), each) for source, target, each in picture.others)
    lines = joined(markup(line, words, rate(each)) for words, each in ends)
    return markup('<ul class="machine-others" aria-label="{}">{}</ul>\n', _("Other transitions"), lines)


def _way(way: Way, ends: str, marker: str, *, of_task: bool) -> SafeString:
    told = f": {rate(way.rate)}/s" if way.rate and not of_task else ""
    path = '\n<path class="way way-{}" d="{}" marker-end="{}"><title>{}{}</title></path>'
    drawn = markup(path, way.look, way.d, marker, ends, told)
    return drawn + markup('<path class="flow flow-{}" d="{}"/>', way.weight, way.d) if way.weight else drawn


def _rate(way: Way, ends: str) -> SafeString:
    x, y = way.spot or (0, 0)
    text = '\n<text class="way-rate{}" x="{}" y="{}"><title>{}</title>{}/s</text>'
    return markup(text, "" if way.weight else " way-rare", x, y, ends, rate(way.rate))


def _box(box: Box, spots: Spots) -> SafeString:
    """A state, with the number of its tasks and a link to them."""
    stuck, told = "", ""
    inner = markup('<text class="box-count" x="{}" y="{}">{}</text>', *spots.number, short(box.count))
    if box.stuck and box.count:
        word = _("stuck")
        stuck, told = markup("<title>{}</title>", box.stuck), markup(". {}: {}", word, box.stuck)
        inner += markup('<text class="box-word-stuck" x="{}" y="{}">{}</text>', box.width - 8, spots.stuck_y, word)
    return markup(
        '\n<a class="box {}{}" href="{}?state={}" aria-label="{}: {}{}">{}{}</a>',
        css_class(box.state),
        " box-empty" if not box.count else " box-stuck" if box.stuck else "",
        url("tasks"),
        box.state,
        box.label,
        count(box.count),
        told,
        stuck,
        _drawn(box, spots, inner),
    )


def _box_of_task(box: Box, spots: Spots) -> SafeString:
    """A state in the path of one task."""
    inner = markup("")
    if box.count:
        word, times = _("here") if box.here else "✓", f" × {box.count}" if box.count > 1 else ""
        inner = markup('<text class="box-count" x="{}" y="{}">{}{}</text>', *spots.number, word, times)
    more = (" box-here" if box.here else "") + ("" if box.count else " box-empty")
    return markup('\n<g class="box {}{}">{}</g>', css_class(box.state), more, _drawn(box, spots, inner))


def _drawn(box: Box, spots: Spots, inner: SafeString) -> SafeString:
    place, icon = (box.left, box.top, box.width, box.height), f"{sprite()}#{look(box.state).icon}"
    return _frame(*place, spots, icon, box.label, box.squeezed) + inner + markup("</svg>")


@lru_cache(maxsize=512)
def _frame(
    left: float, top: float, width: int, height: int, spots: Spots, icon: str, name: str, squeezed: int
) -> SafeString:
    """The beginning of a box; it is the same each second, other than what is in the box."""
    return markup(
        BOX,
        left=left,
        top=top,
        width=width,
        height=height,
        icon_x=spots.icon[0],
        icon_y=spots.icon[1],
        icon=icon,
        name_x=spots.label[0],
        name_y=spots.label[1],
        squeezed=markup(' textLength="{}" lengthAdjust="spacingAndGlyphs"', squeezed) if squeezed else "",
        name=name,
    )
