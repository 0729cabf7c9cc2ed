"""Label placement: puts each rate on its arrow, clear of other labels and of boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from console.diagram.path import Arrow, Point
from console.diagram.route import Rectangle

HIGH = 17
PER_SIGN, MORE = 6.6, 8.0  # px: width of a character, and space beside the text

Wanted = tuple[str, Arrow]


def place(wanted: Sequence[Wanted], boxes: Iterable[Rectangle], width: float) -> list[Point | None]:
    """The centre of each label, in order of priority; None if there is no free place."""
    taken, found = list(boxes), []
    for text, arrow in wanted:
        spot = next(_free(text, arrow, taken, width), None)
        found.append(spot)
        if spot is not None:
            taken.append(around(text, spot))
    return found


def around(text: str, point: Point) -> Rectangle:
    """The rectangle of a text with its centre at a point."""
    return Rectangle.around(point, (round(len(text) * PER_SIGN + MORE), HIGH))


def _free(text: str, arrow: Arrow, taken: list[Rectangle], width: float) -> Iterator[Point]:
    for point in _outwards(arrow):
        label = around(text, point)
        if label.left >= 0 and label.right <= width and not any(label.meets(other) for other in taken):
            yield round(point[0], 1), round(point[1], 1)


def _outwards(arrow: Arrow) -> Iterator[Point]:
    """The points of the arrow, sorted by distance from the label's preferred position."""
    best = round(arrow.label * (len(arrow.points) - 1))
    order = sorted(range(len(arrow.points)), key=lambda i: abs(i - best))
    return (arrow.points[i] for i in order)
